"""Several processes train one model as one would, and none is left waiting for another."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from schooling import (
    REWARDS,
    Answering,
    low_bytes,
    sampled_episodes,
    school,
    tasks,
    tiny_policy,
)

from aworld.errors import ConfigError
from aworld.policies import open_policy
from aworld.train import RLTrainer, train
from aworld.train.checkpoints import checkpoints
from aworld.train.journal import read_journal

# What a user's script looks like: every process runs the same one.
SCRIPT = """
import json, os, sys
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(1)
from schooling import Answering, low_bytes, school, tasks, tiny_policy
from aworld.train import WarmUp, train
folder, settings = sys.argv[1], json.loads(sys.argv[2])
resume, room = settings.pop("resume", False), settings.pop("room", None)
reward = (lambda task, trajectory: None) if settings.pop("unrewarded", False) else low_bytes
rank = int(os.environ["RANK"])
policy = tiny_policy(seed=rank)  # that of the leader counts
if room and rank == 1:
    whole = policy.hidden
    def hidden(ids):
        if ids.numel() > room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return whole(ids)
    policy.hidden = hidden
try:
    result = train(
        Answering, tasks(), reward, school(folder, **settings), policy=policy, resume=resume
    )
except Exception as error:
    print(f"rank {{rank}}: {{type(error).__name__}}: {{error}}", file=sys.stderr, flush=True)
    sys.exit(3)
weights = torch.cat([one.detach().flatten() for one in policy.parameters()])
torch.save([weights, result.steps, result.history, result.policy.version], f"{{folder}}.{{rank}}")
"""
SETTINGS = {"steps": 3, "updates_per_batch": 2, "learning_rate": 1e-2, "token_budget": 100}


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "training.py"
    path.write_text(SCRIPT.format(tests=str(Path(__file__).parent)))
    return path


def environment(**more):
    """Of a process that has no GPU, whatever this machine has."""
    kept = {name: value for name, value in os.environ.items() if "ACCELERATE" not in name}
    return {**kept, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", **more}


def start(script, folder, size=2, **settings):
    """Without a launcher, which would end all when one ends: each process for itself."""
    command = [sys.executable, str(script), str(folder), json.dumps(SETTINGS | settings)]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    return [
        subprocess.Popen(
            command,
            env=environment(**address, RANK=str(rank), LOCAL_RANK=str(rank)),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for rank in range(size)
    ]


def free_port():
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def alone(folder, **settings):
    policy = tiny_policy()
    result = train(
        Answering, tasks(), low_bytes, school(folder, **(SETTINGS | settings)), policy=policy
    )
    return result, torch.cat([one.detach().flatten() for one in policy.parameters()])


def curve(history):
    names = ("step", "loss", "reward", "entropy", "gradient_norm", "tokens", "trained")
    return [tuple(line[name] for name in names) for line in history if "loss" in line]


def same(history, other):
    assert len(curve(history)) == len(curve(other)) == 3
    for ours, theirs in zip(curve(history), curve(other), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-5)


def test_two_processes_of_accelerate_train_as_one(script, tmp_path):
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    command += ["--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no"]
    command += ["--dynamo_backend", "no", "--main_process_port", str(free_port())]
    folder = tmp_path / "two"
    command += [str(script), str(folder), json.dumps(SETTINGS)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [torch.load(f"{folder}.{rank}", weights_only=False) for rank in (0, 1)]
    assert torch.equal(found[0][0], found[1][0])  # the very same weights
    assert found[0][1:] == found[1][1:]  # and both know what happened
    result, weights = alone(tmp_path / "one")
    same(found[0][2], result.history)
    assert found[0][3] == result.policy.version
    assert torch.allclose(found[0][0], weights, atol=1e-5)
    saved = open_policy(checkpoints(folder)[-1] / "policy")
    ours = torch.cat([one.detach().flatten() for one in saved.parameters()])
    assert torch.equal(ours, found[0][0])


def ended(processes, within=60):
    """How each of them has ended, and what it has said."""
    deadline = time.monotonic() + within
    try:
        said = [
            one.communicate(timeout=max(deadline - time.monotonic(), 0.1))[1] for one in processes
        ]
    finally:
        for one in processes:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()
    return [one.returncode for one in processes], said


def results(processes, folder):
    codes, said = ended(processes)
    assert codes == [0] * len(codes), said
    return [torch.load(f"{folder}.{rank}", weights_only=False) for rank in range(len(codes))], said


def after_step(folder, step):
    """Waits for it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        metrics = folder / "metrics.jsonl"
        if metrics.exists() and f'"step": {step}' in metrics.read_text():
            return
        time.sleep(0.02)
    raise AssertionError(f"step {step} did not come")


@pytest.mark.parametrize(
    ("size", "settings"),
    [
        (2, {"algorithm": "ppo", "settings": {"entropy": 0.01}}),
        (
            3,  # one of them has a row less now and then
            {
                "settings": {"kl": 0.1},
                "samples": 2,
                "tasks_per_step": 2,
                "warm_up": {"steps": 3, "least_reward": 0.1},
            },
        ),
    ],
    ids=["values", "reference and imitation"],
)
def test_whatever_is_learned_is_shared_out(script, tmp_path, size, settings):
    folder = tmp_path / "several"
    found, _ = results(start(script, folder, size, **settings), folder)
    result, weights = alone(tmp_path / "one", **settings)
    same(found[0][2], result.history)
    for ours, *_ in found:
        assert torch.equal(ours, found[0][0])
    # where a gradient is nearly 0, Adam makes a whole step of the rounding
    assert (found[0][0] - weights).abs().mean() < 1e-5


def test_where_one_is_out_of_memory_all_take_less_at_a_time(script, tmp_path):
    folder = tmp_path / "two"
    found, said = results(start(script, folder, room=50, updates_per_batch=1), folder)
    assert "token_budget=50" in said[0]
    result, weights = alone(tmp_path / "one", updates_per_batch=1)
    same(found[0][2], result.history)
    assert torch.allclose(found[0][0], weights, atol=1e-5)


def test_a_killed_process_ends_the_others_with_a_clear_line_and_the_training_goes_on(
    script, tmp_path
):
    folder = tmp_path / "two"
    processes = start(script, folder, steps=300, checkpoint_every=1)
    after_step(folder, 2)
    os.kill(processes[1].pid, signal.SIGKILL)
    codes, said = ended(processes, within=30)
    assert codes == [3, -signal.SIGKILL]
    assert re.search(
        r"rank 0: TrainingError: step \d: another process of this training is gone", said[0]
    )
    last = int(checkpoints(folder)[-1].name.partition("-")[2])
    assert last >= 2
    steps = last + 2
    found, _ = results(start(script, folder, steps=steps, resume=True), folder)
    assert found[0][1] == steps
    assert torch.equal(found[0][0], found[1][0])
    straight, _ = alone(tmp_path / "one", steps=steps)
    ours, theirs = curve(read_journal(folder / "metrics.jsonl")), curve(straight.history)
    assert [line[0] for line in ours] == list(range(1, steps + 1))
    assert np.allclose(ours, theirs, rtol=1e-2, atol=1e-4)


def test_when_the_leader_is_killed_the_others_end(script, tmp_path):
    folder = tmp_path / "two"
    processes = start(script, folder, steps=300)
    after_step(folder, 1)
    os.kill(processes[0].pid, signal.SIGKILL)
    codes, said = ended(processes, within=30)
    assert codes == [-signal.SIGKILL, 3]
    assert "rank 1: TrainingError: another process of this training is gone" in said[1]


def test_when_the_leader_gives_up_the_others_know_why(script, tmp_path):
    codes, said = ended(start(script, tmp_path / "two", unrewarded=True))
    assert codes == [3, 3]
    assert "rank 0: TrainingError: step 1: the reward is None for all" in said[0]
    assert (
        "the leading process has ended the training: TrainingError: step 1: the reward" in said[1]
    )


# -- mixed precision -----------------------------------------------------------------------------


def trained(**options):
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    trainer = RLTrainer(policy, 1e-3, algorithm="grpo", **options)
    figures = trainer.learn(episodes).figures
    return figures, trainer, policy


def test_in_bf16_the_passes_are_coarser_and_the_weights_are_not(monkeypatch):
    monkeypatch.delenv("ACCELERATE_MIXED_PRECISION", raising=False)
    exact, _, _ = trained()
    coarse, trainer, policy = trained(precision="bf16")
    assert coarse["gradient_norm"] == pytest.approx(exact["gradient_norm"], rel=0.05)
    assert coarse["gradient_norm"] != exact["gradient_norm"]
    assert 0 < coarse["sampler_kl"] < 1e-3
    assert all(one.dtype == torch.float32 for one in policy.parameters())
    assert all(one.dtype == torch.float32 for one in trainer.state_dict()["weights"])
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    assert trained()[0]["gradient_norm"] == coarse["gradient_norm"]
    assert trained(precision="float32")[0]["gradient_norm"] == exact["gradient_norm"]


@pytest.mark.parametrize("algorithm", ["ppo", "grpo"])
def test_a_model_learns_in_bf16(algorithm):
    policy = tiny_policy()
    episodes = sampled_episodes(policy, REWARDS)
    settings = {"kl": 0.01} if algorithm == "grpo" else {}
    trainer = RLTrainer(
        policy, 1e-2, algorithm=algorithm, settings=settings, precision="bf16", updates_per_batch=2
    )
    for _ in range(5):
        report = trainer.learn(episodes)
        assert not report.skipped
    assert report.figures["entropy"] < 5.5


def test_other_precisions_are_refused(monkeypatch):
    with pytest.raises(ConfigError, match="precision must be one of 'float32', 'bf16'"):
        RLTrainer(tiny_policy(), precision="fp16")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "fp16")
    with pytest.raises(ConfigError, match="choose bf16, or no"):
        RLTrainer(tiny_policy())
