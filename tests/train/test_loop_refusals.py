"""What a training cannot learn from, or be told, ends in a clear line."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
from schooling import Answering, go, low_bytes, school, tasks, tiny_policy

from aworld import Agent, RunConfig, Task
from aworld.errors import ConfigError, TrainingError
from aworld.train import ALGORITHMS, WarmUp, train
from aworld.train.algorithms.settings import GroupSettings
from aworld.train.beginnings import facts_of
from aworld.train.checkpoints import checkpoints
from aworld.train.parts import open_journals


def test_a_reward_that_is_none_for_all_ends_in_a_line(tmp_path):
    with pytest.raises(TrainingError, match="step 1: the reward is None for all 16") as error:
        go(tmp_path, lambda task, trajectory: None)
    assert "last checkpoint is" in str(error.value)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000000"]


def test_a_demonstration_that_is_longer_than_the_context_is_refused(tmp_path):
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a" * 300}]
    with pytest.raises(ConfigError, match=r"demonstration 0 has 30. tokens: the context of 'byte'"):
        go(tmp_path, warm_up=WarmUp(steps=2), demonstrations=[{"messages": said}])


def test_of_rollouts_that_were_cut_the_error_of_the_reward_is_quoted_all_the_same(tmp_path):
    def broken(task, trajectory):
        raise KeyError("no such column")

    with pytest.raises(TrainingError, match=r"of the reward, KeyError: .*no such column"):
        go(tmp_path, broken, agent=Agent("plain", max_steps=1))


def test_a_reward_that_raises_is_quoted(tmp_path):
    def broken(task, trajectory):
        raise KeyError("no such column")

    with pytest.raises(TrainingError, match="no such column"):
        go(tmp_path, broken)


def test_tasks_that_teach_nothing_for_many_steps_end_in_a_line(tmp_path):
    with pytest.raises(TrainingError, match=r"2 steps in a row taught nothing.*all rewards of its"):
        go(tmp_path, lambda task, trajectory: 0.0, steps=9, patience=2)


def test_a_folder_that_holds_a_training_is_not_written_over(tmp_path):
    go(tmp_path, steps=1)
    with pytest.raises(ConfigError, match="holds a training already"):
        go(tmp_path, steps=1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"algorithm": "grop"}, "no algorithm named"),
        ({"settings": {"clip": 1}}, "no GrpoSettings setting named 'clip'"),
        ({"run_dir": ""}, "run_dir is missing"),
        ({"leraning_rate": 1}, "did you mean 'learning_rate'"),
        ({"schedule": "cosin"}, "schedule"),
        ({"engine": {"worker_nm": 1}}, "did you mean 'worker_num'"),
        ({"engine": RunConfig(samples=2)}, "engine.samples cannot be set"),
        ({"warm_up": {"stepz": 1}}, "did you mean 'steps'"),
        ({"refills": 1, "algorithm": "ppo"}, "refills"),
        ({"temperature": 1e300}, "temperature must be a number .* at most 100"),
        ({"samples": 1}, "compares the samples of a task: samples=2"),
        ({"engine": {"max_tokens": 100}}, "engine.max_tokens cannot be set"),
        ({"trackers": ["tensorbord"]}, "did you mean 'tensorboard'"),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(tmp_path, settings, said):
    with pytest.raises(ConfigError, match=said):
        school(tmp_path, **settings)


def test_a_recipe_of_ones_own_is_told_by_its_name(tmp_path):
    class Own(GroupSettings):
        pass

    recipe = ALGORITHMS["grpo"]._replace(settings=Own)
    with pytest.raises(ConfigError, match=r"^Own compares the samples of a task"):
        school(tmp_path, algorithm=recipe, samples=1)
    with ExitStack() as stack:
        facts = facts_of(school(tmp_path, algorithm=recipe), tasks(), low_bytes)
        open_journals(stack, tmp_path, facts)
    assert json.loads((tmp_path / "train.json").read_text())["algorithm"] == "Own"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tasks": []}, "no tasks"),
        ({"tasks": 3}, "tasks must be a list of tasks or the path of one, got 3"),
        ({"tasks": ["q"]}, r"tasks\[0\] is a str"),
        (
            {"tasks": [Task("a", id="x"), Task("b", id="x")]},
            "two tasks have the id 'x', at 0 and 1",
        ),
        ({"reward": None}, "needs a reward"),
        ({"reward": "exact_match", "tasks": [Task("a")]}, "no task has one: set Task.ground_truth"),
        (
            {"reward": "exact_match", "held_out": [Task("a")]},
            "no task has one: set Task.ground_truth",
        ),
        ({"agent": 3}, "agent must be an Agent"),
        ({"agent": lambda model: None}, "gave what is no agent"),
        ({"config": school("nowhere", reply_tokens=64)}, "a context of 64 tokens"),
        ({"policy": object()}, "policy must be a Policy"),
        ({"demonstrations": [{"messages": []}]}, "warm_up.steps is 0"),
        ({"worked_examples": [{"role": "user", "content": "q"}]}, "warm_up.steps is 0"),
    ],
)
def test_what_cannot_be_trained_with_is_refused_before_anything_starts(tmp_path, arguments, said):
    usual = {
        "agent": Answering,
        "tasks": tasks(),
        "reward": low_bytes,
        "config": school(tmp_path),
        "policy": tiny_policy(),
    }
    with pytest.raises(ConfigError, match=said):
        train(**(usual | arguments))
    assert not (tmp_path / "run.db").exists()
