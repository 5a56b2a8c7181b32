"""Samples of a task, and rewards that are given where the rollout was made."""

from __future__ import annotations

import asyncio
import os

import pytest

from aworld import ConfigError, RunConfig, Runners, Task
from aworld.core.context import current_task
from aworld.models.scripted import ScriptedModel
from aworld.rewards import exact_match, failures_as, judge, weighted


async def seed_of(value):
    return current_task().seed


async def echo(value):
    if value == "raise":
        raise ValueError("no")
    if value == "wait":
        await asyncio.sleep(60)
    if value == "die":
        os._exit(3)
    return value


def run(tasks, **settings):
    return Runners.sync_run_task(tasks, RunConfig(worker_num=1, **settings))


def test_every_task_is_run_as_a_group_of_samples():
    responses = run([Task(1, seed_of, id="a"), Task(2, seed_of, id="b")], samples=3, seed=1)
    assert list(responses) == ["a#0", "a#1", "a#2", "b#0", "b#1", "b#2"]
    assert [r.group_id for r in responses.values()] == ["a"] * 3 + ["b"] * 3
    assert [r.sample_index for r in responses.values()] == [0, 1, 2] * 2
    assert len({r.answer for r in responses.values()}) == 6  # each has a seed of its own
    for response in responses.values():
        assert response.trajectory.task_id == response.group_id
        assert response.trajectory.metadata["group_id"] == response.group_id
        assert response.trajectory.metadata["sample_index"] == response.sample_index


def test_the_first_sample_is_what_a_task_without_samples_would_be():
    task = Task(1, seed_of, id="a")
    alone = run(task, seed=1)["a"].answer
    assert run(task, seed=1, samples=2)["a#0"].answer == alone


def test_one_sample_keeps_the_name_of_its_task():
    (response,) = run(Task(1, echo, id="a")).values()
    assert (response.id, response.group_id, response.sample_index) == ("a", "a", 0)


def test_samples_are_no_sequence():
    with pytest.raises(ConfigError, match="sequence_dependent"):
        RunConfig(samples=2, sequence_dependent=True)


@pytest.mark.parametrize("engine_settings", [{}, {"reuse_process": True}], ids=["worker", "here"])
def test_a_reward_is_given_where_the_rollout_was_made(engine_settings):
    tasks = [Task(n, echo, id=f"t{n}", ground_truth=n % 2) for n in range(3)]
    responses = run(tasks, reward=exact_match, **engine_settings)
    assert [r.reward for r in responses.values()] == [1.0, 1.0, 0.0]
    assert [r.trajectory.reward for r in responses.values()] == [1.0, 1.0, 0.0]


def test_a_reward_can_be_given_by_its_name_and_options():
    assert run(Task(1.05, echo, ground_truth=1), reward="numeric_match").popitem()[1].reward == 0.0
    with pytest.raises(ConfigError, match="did you mean 'exact_match'"):
        run(Task(1, echo), reward="exact_mach")


def test_the_ground_truth_is_not_shown_to_the_agent():
    async def spy(observation, info):
        return repr((observation, info))

    class Spy:
        name = "spy"

        async def async_policy(self, observation, info=None, **kwargs):
            from aworld import ActionModel

            return [ActionModel(policy_info=repr((observation, info)))]

    response = run(Task("q", Spy(), id="t", ground_truth="secret"), reward=exact_match)["t"]
    assert response.success
    assert "secret" not in response.answer


def test_a_reward_that_raises_is_not_known_and_says_why():
    def broken(task, trajectory):
        raise KeyError("lost")

    response = run(Task(1, echo, id="t", ground_truth=1), reward=broken)["t"]
    assert response.success
    assert response.reward is None
    assert "lost" in response.trajectory.metadata["scored"]["error"]["message"]


def test_parts_of_a_reward_are_kept_beside_it():
    async def half(task, trajectory):
        return 0.5

    reward = weighted(right=(1.0, exact_match), style=(2.0, half))
    response = run(Task(1, echo, id="t", ground_truth=1), reward=reward)["t"]
    assert response.reward == 2.0
    assert response.trajectory.metadata["scored"]["parts"] == {"right": 1.0, "style": 0.5}


def test_a_reward_has_what_is_left_of_the_tasks_time():
    async def slow(task, trajectory):
        await asyncio.sleep(60)

    response = run(Task(1, echo, id="t"), reward=slow, timeout=1.5)["t"]
    assert response.success
    assert response.reward is None
    assert response.trajectory.metadata["scored"]["error"]["kind"] == "Timeout"


@pytest.mark.parametrize(
    ("value", "status"), [("raise", "failed"), ("wait", "timeout"), ("die", "crashed")]
)
def test_a_failure_has_no_reward_unless_it_is_given_one(value, status):
    task = Task(value, echo, id="t", ground_truth="x")
    settings = {"timeout": 1.0, "max_attempts": 1}
    response = run(task, reward=exact_match, **settings)["t"]
    assert (response.status, response.reward) == (status, None)
    response = run(task, reward=failures_as(-1.0, exact_match), **settings)["t"]
    assert (response.status, response.reward) == (status, -1.0)


def test_what_a_judge_spends_is_spent_by_the_run():
    model = ScriptedModel(['{"reason": "fine", "score": 0.75}'])
    response = run(Task("q", echo, id="t"), reward=judge(model))["t"]
    assert response.reward == 0.75
    assert response.trajectory.metadata["scored"]["reason"] == "fine"
    assert response.usage["model_calls"] == 1


def test_a_reward_that_cannot_travel_is_refused_before_anything_runs(tmp_path):
    lock = __import__("threading").Lock()

    def holding(task, trajectory):
        return float(lock.locked())

    with pytest.raises(ConfigError, match="reward"):
        run(Task(1, echo), reward=holding, run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()
