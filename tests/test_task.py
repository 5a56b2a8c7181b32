"""Tasks and responses: both seeds' names, and data that tells the truth."""

from __future__ import annotations

import pickle

import pytest

from aworld import ActionModel, ConfigError, ErrorInfo, Observation, Task, TaskResponse, Trajectory


def test_both_spellings_name_the_same():
    first = Task(input="why?", id="a")
    second = Task(instruction="why?", task_id="a")
    assert (first.input, first.id) == (first.instruction, first.task_id) == ("why?", "a")
    assert first == second


@pytest.mark.parametrize(
    "settings", [{"id": "a", "task_id": "b"}, {"input": "a", "instruction": "b"}]
)
def test_two_names_for_one_thing_are_refused(settings):
    with pytest.raises(ConfigError, match="name the same thing"):
        Task(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"id": ""}, "non-empty str"),
        ({"id": 7}, "non-empty str, got 7"),
        ({"id": "\ud800"}, "no valid text"),
        ({"timeout": 0}, "positive number"),
        ({"timeout": -1.5}, "positive number"),
        ({"tools": "search"}, "list of names"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Task(input=1, **settings)


def test_tasks_without_an_id_get_one_each():
    assert len({Task(input=1).id for _ in range(100)}) == 100


def test_to_prompt_names_the_tools():
    assert Task(input="add 1 and 2").to_prompt() == "Instruction: add 1 and 2"
    prompt = Task(input="add 1 and 2", tools=["calculator", "search"]).to_prompt()
    assert prompt == "Instruction: add 1 and 2\nAvailable tools: calculator, search"


def test_an_action_needs_its_policy_info_only():
    assert ActionModel(policy_info="x").policy_info == "x"
    assert Observation("x").content == "x"


def test_a_response_says_in_one_line_what_went_wrong():
    assert TaskResponse("a", answer=0).success
    assert TaskResponse("a").msg == ""
    failed = TaskResponse("a", status="failed", error=ErrorInfo("ValueError", "no"))
    assert not failed.success
    assert failed.msg == "ValueError: no"


def test_responses_and_trajectories_survive_pickling_whole():
    trajectory = Trajectory(
        "t", "agent", [{"step": 0, "reward": None}], "x", True, 0.5, 3, 1.5, "success", {"seed": 1}
    )
    response = TaskResponse(
        "t", {"x": [1]}, "failed", ErrorInfo("E", "m", "tb"), 1.0, {"tokens": 1}, trajectory, 2
    )
    assert pickle.loads(pickle.dumps(response)) == response
    assert Trajectory.from_dict(trajectory.to_dict()) == trajectory
