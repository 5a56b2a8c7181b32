"""ParallelTaskExecutor and DistributedTrainingPipeline keep their promises, with real workers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import torch
from schooling import WORDS, Answering, Deciding, low_bytes, tasks, tiny_policy

from aworld import Agent, DistributedExecutor, RunConfig, Task, Trajectory, open_run
from aworld.errors import ConfigError, TrainingError
from aworld.policies import open_policy
from aworld.train import DistributedTrainingPipeline, ExperienceBuffer, ParallelTaskExecutor
from aworld.train.checkpoints import checkpoints


def pipeline(policy=None, workers=1, dataset=tasks, **settings):
    usual = {
        "agent": Answering,
        "reward": low_bytes,
        "reply_tokens": 6,
        "samples": 4,
        "tasks_per_step": 4,
        "learning_rate": 3e-2,
        "seed": 7,
    }
    return DistributedTrainingPipeline(
        policy or tiny_policy(), workers, dataset, **(usual | settings)
    )


def playing(executor, policy=None, loader=tasks, **settings):
    usual = {"agent": Answering, "reward": low_bytes, "reply_tokens": 6}
    return ParallelTaskExecutor(policy or tiny_policy(), executor, loader, **(usual | settings))


@pytest.fixture(scope="module")
def executor():
    with DistributedExecutor(1) as one:
        yield one


@contextmanager
def nothing_left_behind():
    """No process and no thread."""

    def there():
        threads = {one for one in threading.enumerate() if one.name.startswith("aworld")}
        return {one.pid for one in psutil.Process().children(recursive=True)} | threads

    before = there()
    yield
    assert there() <= before


# -- ParallelTaskExecutor --------------------------------------------------------------------------


def test_tasks_are_played_in_workers_each_once_in_their_order(executor):
    policy = tiny_policy()
    with playing(executor, policy) as player:
        found = player.distribute_tasks(tasks())
        again = player.distribute_tasks()  # those of the loader
    assert [one.task_id for one in found] == WORDS == [one.task_id for one in again]
    assert all(isinstance(one, Trajectory) and one.status == "success" for one in found)
    assert player.trajectories == again
    for one in found:
        call = one.steps[0]["model_call"]
        assert len(call["completion_ids"]) == len(call["logprobs"]) > 0
        assert one.reward == low_bytes(None, one)
        assert one.token_count > 0
    buffer = ExperienceBuffer()  # each time is another sample of the same question
    buffer.add_batch(found)
    buffer.add_batch(again)
    groups = buffer.complete_groups(2)
    assert [len(group) for group in groups] == [2] * 8
    said = [tokens_of(found), tokens_of(again)]
    assert said[0] != said[1]
    with playing(executor, policy) as player:  # the same luck for who begins anew
        third = player.distribute_tasks(tasks())
    assert tokens_of(third) == said[0]


def tokens_of(trajectories):
    return [one.steps[0]["model_call"]["completion_ids"] for one in trajectories]


class Slow(Answering):
    async def async_policy(self, observation, info=None, **more):
        await super().async_policy(observation, info, **more)
        await asyncio.sleep(60)


def test_one_task_is_stopped_at_its_timeout_with_what_it_did(executor):
    with playing(executor, agent=Slow) as player:
        began = time.monotonic()
        found = player.execute_single_task(Task("one"), timeout=1.0)
    assert time.monotonic() - began < 10
    assert (found.status, found.success, found.reward) == ("timeout", False, None)
    assert len(found.steps) == 1
    assert found.metadata["error"]["message"] == "still running after 1 s"


def double(number: int) -> int:
    return 2 * number


def test_without_an_agent_there_is_one_with_the_tools(executor):
    task = Task("4", tools=["double"])
    with playing(executor, agent=None, tools=[double], loader=[task]) as player:
        found = player.execute_single_task(task, max_steps=1)
        assert found.status in ("success", "truncated")
        assert found.steps[0]["model_call"]["tools"][0]["function"]["name"] == "double"
        with pytest.raises(ConfigError, match="did you mean 'double'"):
            player.distribute_tasks([Task("4", tools=["doubel"])])


class Dying(Answering):
    """Takes its worker down: the first time, or always."""

    def __init__(self, model, folder, always=False):
        super().__init__(model)
        self.folder, self.always = folder, always

    async def async_policy(self, observation, info=None, **more):
        mark = Path(self.folder) / "died"
        if observation.content == "three" and (self.always or not mark.exists()):
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().async_policy(observation, info, **more)


def test_a_task_that_kills_its_worker_fails_alone(tmp_path):
    conf = RunConfig(max_attempts=1)
    with (
        DistributedExecutor(1, run_conf=conf) as executor,
        playing(executor, agent=lambda model: Dying(model, tmp_path, always=True)) as player,
    ):
        found = player.distribute_tasks(tasks()[:4])
    assert [one.task_id for one in found] == WORDS[:4]
    ends = {one.task_id: one.status for one in found}
    assert ends.pop("three") == "crashed"
    assert set(ends.values()) == {"success"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agent_model": 3}, "agent_model must be a Policy"),
        ({"distributed_executor": 4}, "must be a DistributedExecutor or a RemoteNodeExecutor"),
        ({"reward": "exact_mtach"}, "did you mean 'exact_match'"),
        ({"reward": 3}, "reward must be a function or a name"),
        ({"tools": [double], "agent": Answering}, "leave out tools, or the agent"),
    ],
)
def test_what_cannot_be_played_is_refused_at_once(executor, wrong, said):
    given = {"agent_model": tiny_policy(), "distributed_executor": executor, "task_loader": tasks}
    with pytest.raises(ConfigError, match=said):
        ParallelTaskExecutor(**(given | wrong))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "there are no tasks"),
        ([Task("a", id="x"), Task("b", id="x")], "two tasks have the id 'x', at 0 and 1"),
        (["a question"], r"tasks\[0\] is a str"),
        (7, "tasks must be a list of tasks"),
        ("no/such/file.jsonl", "no/such/file.jsonl"),
    ],
)
def test_tasks_that_are_none_are_refused(executor, given, said):
    with playing(executor) as player, pytest.raises(ConfigError, match=said):
        player.distribute_tasks(given)


# -- DistributedTrainingPipeline -------------------------------------------------------------------


def test_epochs_make_what_is_rewarded_likelier():
    with nothing_left_behind(), pipeline(samples=8, updates_per_batch=4) as school:
        epochs = [school.train_epoch() for _ in range(4)]
        assert len(school.experience_buffer) == 0  # all was learned from
    assert epochs[0]["reward"] < 0.4
    assert epochs[-1]["reward"] > 0.7
    for number, one in enumerate(epochs, 1):
        assert (one["trajectories"], one["completed"]) == (64, 1.0)
        assert (one["steps"], one["version"]) == (2 * number, 8 * number)
        assert 0 < one["avg_tokens"] <= 6
        assert one["seconds"] >= one["rollout_seconds"] + one["train_seconds"] > 0
        assert isinstance(one["loss"], float)
    assert epochs[-1]["success_rate"] > epochs[0]["success_rate"]


def test_an_epoch_has_as_many_tasks_as_it_is_told_each_in_turn(tmp_path):
    with pipeline(run_dir=tmp_path, tasks_per_step=2) as school:
        counts = [school.train_epoch(count)["trajectories"] for count in (3, 5, 1)]
    assert counts == [12, 20, 4]
    with open_run(tmp_path) as run:
        asked = [task.input for _, task in run.tasks()]
        assert run.counts() == {"success": 36}
        assert run.status == "complete"
    assert sorted(asked[:8]) == sorted(WORDS)  # none twice before all had their turn
    saved = open_policy(checkpoints(tmp_path)[-1] / "policy")
    same = zip(saved.parameters(), school.policy.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in same)
    with pytest.raises(ConfigError, match="holds a training already"):
        pipeline(run_dir=tmp_path)


def said_of_epochs(caplog):
    return [message for message in caplog.messages if "tasks_per_epoch" in message]


def test_more_tasks_than_there_are_is_said_before_anything_starts(tmp_path, caplog):
    (tmp_path / "mine.txt").write_text("so nothing can start here")
    with (
        nothing_left_behind(),
        pipeline(run_dir=tmp_path) as school,
        pytest.raises(ConfigError, match="holds other things"),
    ):
        school.train_epoch(9)
    (said,) = said_of_epochs(caplog)
    assert "tasks_per_epoch=9, but there are fewer tasks (8)" in said
    assert "more epochs, or give more tasks" in said


def test_an_epoch_has_no_more_tasks_than_there_are_and_says_so_once(caplog):
    with pipeline(samples=2) as school:
        told = []
        for count in (8, 9, 1000):
            assert school.train_epoch(count)["trajectories"] == 16
            told.append(len(said_of_epochs(caplog)))
    assert told == [0, 1, 1]


def test_a_killed_worker_loses_no_trajectory(tmp_path):
    with pipeline(agent=lambda model: Dying(model, tmp_path), workers=2) as school:
        found = school.train_epoch()
    assert (tmp_path / "died").exists()
    assert (found["trajectories"], found["completed"]) == (32, 1.0)


SEED = """
import sys
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from aworld import Task
from aworld.train import DistributedTrainingPipeline
from schooling import tiny_policy

task_dataset = [
    Task(task_id=str(n), instruction=str(n), tools=[], ground_truth=str(n)) for n in range(2)
]
agent_model = tiny_policy()
pipeline = DistributedTrainingPipeline(agent_model, 2, task_dataset)
for epoch in range(2):
    print(pipeline.train_epoch(tasks_per_epoch=1000))
"""


def test_the_seeds_own_lines_run_as_a_script_and_leave_nothing_behind():
    """No guard around __main__, no agent, no reward, and nobody closes it."""
    script = SEED.format(tests=str(Path(__file__).parent))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    first, second = (eval(line) for line in done.stdout.splitlines())
    assert first["trajectories"] == second["trajectories"] == 16
    assert {"success_rate", "avg_tokens", "loss", "reward"} <= first.keys()
    assert "Traceback" not in done.stderr
    alive = [one.info["cmdline"] for one in psutil.process_iter(["cmdline"])]
    assert not [one for one in alive if one and script in one]


def test_after_an_epoch_that_went_wrong_all_is_ended_and_said():
    school = pipeline(reward=lambda task, trajectory: None)
    with (
        nothing_left_behind(),
        pytest.raises(TrainingError, match="the reward is None for all 16"),
    ):
        school.train_epoch()
    with pytest.raises(ConfigError, match="the pipeline was closed"):
        school.train_epoch()


def test_by_default_the_right_answer_is_rewarded_and_else_any():
    from aworld.train.task_call import right_or_done

    def scored(truth, answer, status="success"):
        found = Trajectory(
            "t", "a", final_result=answer, success=status == "success", status=status
        )
        return right_or_done(Task("q", ground_truth=truth), found)

    assert [scored("4", "4"), scored("4", "5"), scored("4", None, "failed")] == [1.0, 0.0, None]
    assert [scored(None, "4"), scored(None, None, "failed")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"policy": 3}, "agent_model must be a Policy"),
        ({"workers": -1}, "num_workers must be a whole number"),
        ({"workers": 2, "run_conf": RunConfig(worker_num=3)}, "contradict each other"),
        ({"run_conf": {"worker_num": 3}}, "run_conf must be a RunConfig"),
        ({"dataset": []}, "there are no tasks"),
        ({"dataset": lambda: 3}, "tasks must be a list"),
        ({"algorithm": "grpoo"}, "did you mean 'grpo'"),
        ({"lerning_rate": 0.1}, "did you mean 'learning_rate'"),
        ({"steps": 10}, "steps is a setting of aworld.train.train"),
        ({"tools": [double]}, "leave out tools, or the agent"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_starts(wrong, said):
    with nothing_left_behind(), pytest.raises(ConfigError, match=said):
        pipeline(**wrong)


def test_tasks_with_agents_of_their_own():
    from aworld.models.scripted import ScriptedModel

    def own(name):
        return Agent(name, model=ScriptedModel(["never"]), max_steps=1)

    mixed = [Task("a", own("one")), Task("b", own("two"))]
    with pytest.raises(ConfigError, match="different agents"):
        pipeline(dataset=mixed, agent=None)
    agent = own("both")
    with pipeline(dataset=[Task("a", agent), Task("b", agent)], agent=None, reward=None) as school:
        assert school.train_epoch()["trajectories"] == 8


def test_epochs_have_to_have_tasks():
    with pipeline() as school, pytest.raises(ConfigError, match="tasks_per_epoch"):
        school.train_epoch(0)


def test_tasks_of_an_environment_are_played_there(executor):
    game = "env:schooling:LowGame?size=4"
    settings = {"agent": Deciding, "reward": "environment_return"}
    with playing(executor, loader=game, **settings) as one:
        played = one.distribute_tasks()
    assert [len(trajectory.steps) for trajectory in played] == [2] * 4
    with pipeline(dataset=game, **settings) as line:
        told = line.train_epoch()
    assert (told["trajectories"], told["completed"]) == (16, 1.0)
    with pipeline(dataset=game, agent=None, reward="environment_return") as line:
        assert line.train_epoch()["trajectories"] == 16  # by an agent that is ready
