"""What a training leaves behind is enough to go on as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from schooling import Answering, Told, low_bytes, school, tasks, tiny_policy

from aworld import open_run
from aworld.errors import ConfigError, StoreError
from aworld.policies import open_policy
from aworld.store.lock import RunLock
from aworld.train import train
from aworld.train.checkpoints import checkpoints
from aworld.train.journal import read_journal

SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from schooling import Answering, low_bytes, school, tasks, tiny_policy
from aworld.train import train
train(Answering, tasks(), low_bytes, school({folder!r}, **{settings!r}), policy=tiny_policy())
"""

STEPS = {"steps": 6, "checkpoint_every": 2, "updates_per_batch": 2, "learning_rate": 1e-2}


def go(folder, told=None, resume=False, **settings):
    config = school(folder, **(STEPS | settings))
    policy = tiny_policy()
    trackers = [] if told is None else [told]
    result = train(
        Answering, tasks(), low_bytes, config, policy=policy, trackers=trackers, resume=resume
    )
    return result, torch.cat([one.detach().flatten() for one in policy.parameters()])


def losses(folder):
    lines = read_journal(Path(folder) / "metrics.jsonl")
    return [(line["step"], line["loss"], line["reward"]) for line in lines if "loss" in line]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """What comes of six steps that nothing stops."""
    folder = tmp_path_factory.mktemp("straight")
    _, weights = go(folder)
    return losses(folder), weights


def same_curve(found, wanted):
    assert [step for step, *_ in found] == [step for step, *_ in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-5)


class StopError(BaseException):
    """As Ctrl-C: what a tracker raises otherwise does not stop a training."""


@pytest.mark.parametrize("stopped_after", [2, 3])
def test_a_resumed_training_goes_on_as_if_it_had_never_stopped(tmp_path, straight, stopped_after):
    def stop(step, figures):
        if step == stopped_after + 1:
            raise StopError

    with pytest.raises(StopError):
        go(tmp_path, Told(stop))
    told = Told()
    result, weights = go(tmp_path, told, resume=True)
    assert result.steps == 6
    assert [step for step, _ in told.lines] == [3, 4, 5, 6]  # from the checkpoint at 2 on
    same_curve(losses(tmp_path), straight[0])
    assert torch.allclose(weights, straight[1], atol=1e-5)
    with open_run(tmp_path) as run:  # nothing ran twice
        assert run.counts() == {"success": 6 * 4 * 4}
        assert {row.round for row in run.results()} == {0}
        assert run.status == "complete"
    verdicts = list(read_journal(tmp_path / "verdicts.jsonl"))
    assert len(verdicts) == 6 * 4 * 4


def test_a_killed_trainer_resumes(tmp_path, straight):
    script = SCRIPT.format(tests=str(Path(__file__).parent), folder=str(tmp_path), settings=STEPS)
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as process:
        metrics = tmp_path / "metrics.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if metrics.exists() and '"step": 3' in metrics.read_text():
                break
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert [path.name for path in checkpoints(tmp_path)][-1] in ("step-000002", "step-000004")
    result, weights = go(tmp_path, resume=True)
    assert result.steps == 6
    same_curve(losses(tmp_path), straight[0])
    assert torch.allclose(weights, straight[1], atol=1e-5)


def test_a_training_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path, straight):
    def stop(step, figures):
        raise StopError

    with pytest.raises(StopError):
        go(tmp_path, Told(stop))
    for path in checkpoints(tmp_path):
        path.rename(path.with_name("lost"))
    go(tmp_path, resume=True)
    same_curve(losses(tmp_path), straight[0])


def test_a_training_with_rollouts_ahead_resumes_within_its_bound(tmp_path):
    def stop(step, figures):
        if step == 3:
            raise StopError

    with pytest.raises(StopError):
        go(tmp_path, Told(stop), max_staleness=2, updates_per_batch=1)
    told = Told()
    result, _ = go(tmp_path, told, resume=True, max_staleness=2, updates_per_batch=1)
    assert result.steps == 6
    assert max(told.of("max_staleness")) <= 2


def test_a_curriculum_goes_on_where_it_was(tmp_path):
    folders = [tmp_path / "straight", tmp_path / "stopped"]
    go(folders[0], curriculum=True)

    def stop(step, figures):
        if step == 3:
            raise StopError

    with pytest.raises(StopError):
        go(folders[1], Told(stop), curriculum=True)
    go(folders[1], resume=True, curriculum=True)
    chosen = []
    for folder in folders:
        with open_run(folder) as run:
            chosen.append([task.id for _, task in run.tasks()])
    assert chosen[0] == chosen[1]


def test_more_steps_can_be_asked_for_when_it_is_over(tmp_path, straight):
    go(tmp_path, steps=4)
    result, _ = go(tmp_path, resume=True)
    assert result.steps == 6
    same_curve(losses(tmp_path), straight[0])


def test_a_checkpoint_is_whole_or_not_there_and_the_last_ones_are_kept(tmp_path):
    result, weights = go(tmp_path, keep_checkpoints=2)
    assert [path.name for path in checkpoints(tmp_path)] == ["step-000004", "step-000006"]
    assert result.checkpoint == checkpoints(tmp_path)[-1]
    saved = open_policy(result.checkpoint / "policy")
    ours = torch.cat([one.detach().flatten() for one in saved.parameters()])
    assert torch.equal(ours, weights)
    assert saved.version == result.policy.version


def test_another_model_is_not_filled_with_a_checkpoint(tmp_path):
    from aworld.policies import ByteConfig, BytePolicy

    go(tmp_path, steps=2)
    other = BytePolicy(ByteConfig(width=16, layers=1, heads=2, inner=32, context_tokens=64))
    with pytest.raises(ConfigError, match="of another model"):
        train(Answering, tasks(), low_bytes, school(tmp_path), policy=other, resume=True)


def test_another_algorithm_cannot_go_on_with_it(tmp_path):
    go(tmp_path, steps=1)
    said = "began with the algorithm 'grpo', and cannot go on with 'ppo'"
    with pytest.raises(ConfigError, match=said):
        go(tmp_path, resume=True, algorithm="ppo", samples=1)


def test_what_is_different_when_it_goes_on_is_said(tmp_path, caplog):
    def high_bytes(task, trajectory):
        return 1.0 - low_bytes(task, trajectory)

    go(tmp_path, steps=1)
    go(tmp_path, steps=2, resume=True)
    assert "otherwise" not in caplog.text
    config = school(tmp_path, **(STEPS | {"steps": 3, "learning_rate": 0.5}))
    train(Answering, tasks()[:6], high_bytes, config, policy=tiny_policy(), resume=True)
    (said,) = (one.message for one in caplog.records if "otherwise" in one.message)
    assert "learning_rate 0.01 -> 0.5" in said
    assert "reward 'low_bytes' -> 'high_bytes'" in said
    assert "tasks '8 (" in said
    assert "steps" not in said


def test_other_groups_than_before_are_refused(tmp_path):
    go(tmp_path, steps=2)
    with pytest.raises(ConfigError, match="samples=4, not 2"):
        go(tmp_path, resume=True, samples=2)


def test_a_second_trainer_is_refused_and_touches_nothing_of_the_first(tmp_path):
    refused = []

    def another(step, figures):
        before = {path: path.read_bytes() for path in tmp_path.glob("*.json*")}
        for resume in (True, False):
            with pytest.raises(StoreError, match=f"in use by process {os.getpid()}: wait") as error:
                go(tmp_path, resume=resume, steps=9)
            refused.append(error)
        assert {path: path.read_bytes() for path in tmp_path.glob("*.json*")} == before

    go(tmp_path, Told(another), steps=2)
    assert len(refused) == 4
    assert [step for step, *_ in losses(tmp_path)] == [1, 2]  # it lost no line
    assert len(list(read_journal(tmp_path / "verdicts.jsonl"))) == 2 * 4 * 4


def test_of_two_trainers_in_a_new_folder_one_is_refused_before_it_writes(tmp_path):
    lock = RunLock(tmp_path)
    with pytest.raises(StoreError, match="in use by process"):
        go(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]
    lock.release()
    assert go(tmp_path, steps=1)[0].steps == 1


def test_what_a_trainer_left_that_was_killed_while_it_saved_is_gone_with_the_next_save(tmp_path):
    go(tmp_path, steps=2)
    (tmp_path / "checkpoints/unfinished/policy").mkdir(parents=True)  # so far it had come
    assert checkpoints(tmp_path)[-1].name == "step-000002"
    go(tmp_path, steps=4, resume=True)
    found = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert found == ["step-000002", "step-000004"]


def test_the_reference_stays_what_rl_began_with(tmp_path):
    def stop(step, figures):
        if step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, Told(stop), settings={"kl": 0.1})
    kept = (tmp_path / "reference" / "model.safetensors").read_bytes()
    go(tmp_path, resume=True, settings={"kl": 0.1})
    assert (tmp_path / "reference" / "model.safetensors").read_bytes() == kept
    assert not list(tmp_path.glob("reference.*"))
