"""Tasks that are made on demand: puzzles of reasoning-gym, and episodes of environments."""

from __future__ import annotations

import json
import sys

import pytest

from aworld import ConfigError, EchoAgent, RunConfig, Runners
from aworld.rewards import environment_return, reasoning_gym_score
from aworld.sources import load_tasks

QUICK = RunConfig(worker_num=1, seed=5)


def test_puzzles_are_the_same_each_time():
    tasks = list(load_tasks("rg:chain_sum?size=20&seed=1&min_terms=2&max_terms=3"))
    again = list(load_tasks("rg:chain_sum?size=20&seed=1&min_terms=2&max_terms=3"))
    assert len(tasks) == 20
    assert [(t.input, t.ground_truth) for t in tasks] == [(t.input, t.ground_truth) for t in again]
    first, other = (list(load_tasks(f"rg:chain_sum?{q}", limit=3)) for q in ("size=3", "seed=7"))
    assert (len(first), len(other)) == (3, 3)
    assert [task.input for task in first] != [task.input for task in other]


def test_puzzles_are_run_and_scored_as_their_package_does():
    agent = EchoAgent()
    tasks = list(load_tasks("rg:leg_counting?size=4", agent))
    responses = Runners.sync_run_task(tasks, QUICK)
    for task in tasks:
        trajectory = responses[task.id].trajectory
        assert trajectory is not None
        score = reasoning_gym_score(task, trajectory)
        assert score is not None
        assert score < 1.0
        trajectory.final_result = f"Let me see. <answer>{task.ground_truth}</answer>"
        assert reasoning_gym_score(task, trajectory) == 1.0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "rg:chain_summ",
            "no dataset of reasoning-gym named 'chain_summ'; did you mean 'chain_sum'",
        ),
        ("rg:chain_sum?min_term=2", "chain_sum: no setting named 'min_term'; did you mean"),
        ("rg:chain_sum?min_terms=5&max_terms=2", "chain_sum: not a config of it"),
        ("rg:chain_sum?size=0", "size must be a whole number of at least 1"),
        ("rg:composite", "composite: not a config of it: Must specify at least one dataset"),
    ],
)
def test_puzzles_that_there_are_not_are_refused(source, message):
    with pytest.raises(ConfigError, match=message):
        load_tasks(source)


def halving(messages):
    """Finds the number; it sees all that was said before."""
    low, high = 0, 99
    for asked, told in zip(messages[1::2], messages[2::2], strict=True):
        guess = int(asked["content"])
        low, high = (guess + 1, high) if "higher" in told["content"] else (low, guess - 1)
    return str((low + high) // 2)


def test_an_environment_of_ones_own_is_played():
    tasks = list(load_tasks("env:text_games:Guessing?size=3&seed=10&most=99&max_turns=8", halving))
    assert [task.input for task in tasks] == [{"seed": 10}, {"seed": 11}, {"seed": 12}]
    assert len({id(task.agent) for task in tasks}) == 1
    responses = Runners.sync_run_task(tasks, QUICK)
    for task in tasks:
        response = responses[task.id]
        assert response.answer["terminated"], response.msg
        turns = response.answer["turns"]
        assert environment_return(task, response.trajectory) == pytest.approx(1.1 - 0.1 * turns)


def right_or_down(messages):
    return ["1", "1", "2", "2", "1", "2"][len(messages) // 2]


def test_an_environment_that_gymnasium_knows_is_played():
    source = "gym:FrozenLake-v1?size=2&seed=1&is_slippery=False&render_mode=ansi"
    (response, other) = Runners.sync_run_task(load_tasks(source, right_or_down), QUICK).values()
    assert response.answer == {"reward": 1.0, "turns": 6, "terminated": True, "truncated": False}
    assert other.answer == response.answer
    first = response.trajectory.steps[0]
    assert "[S]FFF" in first["observation"][0]["content"]  # where it stands
    assert "a whole number from 0 to 3" in first["observation"][0]["content"]
    json.dumps(response.trajectory.steps)
    (task,) = load_tasks(source, right_or_down, limit=1)
    assert task.metadata == {"environment": "FrozenLake-v1"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gym:FrozenLak-v1", "'gym:FrozenLak-v1' cannot be made: .*FrozenLak"),
        ("gym:FrozenLake-v1?slippery=true", "cannot be made: .*slippery"),
        ("env:text_games:Guessing?least=2", "cannot be called: got an unexpected keyword"),
        ("env:text_games:Guessin", "has no 'Guessin'"),
        ("env:FrozenLake-v1", "write 'env:module:function', or 'gym:FrozenLake-v1'"),
        ("env:text_games:Guessing?size=none", "size must be a whole number"),
        ("env:text_games:Guessing?seed=-1", "seed must be a whole number of at least 0"),
        ("env:text_games:Guessing?max_turns=0", "max_turns must be a whole number"),
        ("env:text_games:__name__", "cannot be called: 'text_games' is not a callable object"),
    ],
)
def test_environments_that_cannot_be_are_refused(source, message):
    with pytest.raises(ConfigError, match=message):
        load_tasks(source, halving)


def test_somebody_has_to_play():
    with pytest.raises(ConfigError, match="who plays"):
        load_tasks("env:text_games:Guessing")


def test_options_of_files_are_not_for_what_is_generated():
    with pytest.raises(ConfigError, match="has no fields: leave it out"):
        load_tasks("rg:chain_sum", fields={"input": "question"})
    with pytest.raises(ConfigError, match="has no split: leave it out"):
        load_tasks("gym:FrozenLake-v1", halving, split="test")


@pytest.mark.parametrize(
    ("source", "package"), [("rg:chain_sum", "reasoning_gym"), ("gym:X", "gymnasium")]
)
def test_without_the_package_it_says_what_to_install(monkeypatch, source, package):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"needs?: pip install 'aworld\[gym\]'"):
        load_tasks(source, halving)


def test_made_tasks_have_the_same_ids_each_time_so_that_runs_can_be_compared():
    ids = [task.id for task in load_tasks("rg:chain_sum?size=2&seed=7")]
    assert ids == ["chain_sum-7-0", "chain_sum-7-1"]
    ids = [task.id for task in load_tasks("gym:FrozenLake-v1?size=2&seed=3", EchoAgent())]
    assert ids == ["FrozenLake-v1-3", "FrozenLake-v1-4"]
