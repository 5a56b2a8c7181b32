"""The server that rollouts ask: elsewhere, and when it dies."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from schooling import Told, go, tasks, tiny_policy

from aworld import open_run
from aworld.errors import TrainingError
from aworld.serve import PolicyServer, WeightSync
from aworld.serve.generator import Generator
from aworld.train.checkpoints import checkpoints
from aworld.train.journal import read_journal
from aworld.web.listening import _Server


class SameFolder(WeightSync):
    """A server elsewhere, which has a policy of its own."""

    name = "byte"

    def __init__(self, server, folder):
        super().__init__(server.url, folder, key=server.key)
        self.served = server.policy

    def load(self, folder: Path, policy):
        from aworld.policies import BytePolicy

        with self.served.updating():
            self.served.load_state_dict(BytePolicy.load(folder).state_dict())
        self.served.version = policy.version


def test_a_server_elsewhere_is_sent_the_weights_after_each_step(tmp_path):
    told = Told()
    with PolicyServer(tiny_policy(seed=3)) as server:  # other weights, until it is told
        sync = SameFolder(server, tmp_path / "weights")
        go(tmp_path / "run", steps=3, weight_sync=sync, trackers=[told])
    assert max(told.of("sampler_kl")) < 1e-6


def test_a_server_that_dies_ends_it_with_the_last_checkpoint_intact(tmp_path):
    policy = tiny_policy()
    server = PolicyServer(tiny_policy()).start()

    def stop(step, figures):
        if step == 2:
            server.stop()

    sync = SameFolder(server, tmp_path / "weights")
    with pytest.raises(TrainingError, match=r"none of the 16 rollouts.*cannot be reached") as error:
        go(
            tmp_path / "run",
            policy=policy,
            steps=4,
            checkpoint_every=1,
            weight_sync=sync,
            trackers=[Told(stop)],
        )
    assert str(checkpoints(tmp_path / "run")[-1]) in str(error.value)
    assert checkpoints(tmp_path / "run")[-1].name == "step-000002"
    told = Told()
    with PolicyServer(tiny_policy()) as alive:
        sync = SameFolder(alive, tmp_path / "weights")
        result = go(tmp_path / "run", steps=4, weight_sync=sync, trackers=[told], resume=True)
    assert result.steps == 4
    assert [step for step, _ in told.lines] == [3, 4]
    with open_run(tmp_path / "run") as run:  # what the server's death had failed was run again
        assert run.counts() == {"success": 4 * 4 * 4}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("part", "method", "said"),
    [
        (Generator, "_turn", "the thread that decodes has died"),
        (_Server, "on_tick", "the thread that answers has died: .*no more"),
    ],
)
def test_a_thread_of_the_server_that_dies_ends_it_within_seconds(
    tmp_path, monkeypatch, part, method, said
):
    died_at: list[float] = []
    real = getattr(part, method)

    def dying(self, *arguments):
        if died_at:
            raise RuntimeError("no more")
        return real(self, *arguments)

    def die(step, figures):
        if step == 1:
            died_at.append(time.monotonic())

    monkeypatch.setattr(part, method, dying)
    broken = rf"step \d+: the policy server has broken down: {said}"
    with pytest.raises(TrainingError, match=broken) as error:
        go(tmp_path, steps=50, checkpoint_every=1, trackers=[Told(die)])
    assert time.monotonic() - died_at[0] < 10
    last = checkpoints(tmp_path)[-1]
    assert str(last) in str(error.value)
    monkeypatch.undo()
    steps = int(last.name.partition("-")[2]) + 1
    assert go(tmp_path, steps=steps, resume=True).steps == steps


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_evaluation_that_nobody_answers_is_not_taken_for_one(tmp_path, monkeypatch):
    def dying(self):
        raise RuntimeError("no more")

    monkeypatch.setattr(Generator, "_turn", dying)
    began = time.monotonic()
    with pytest.raises(TrainingError, match="the policy server has broken down"):
        go(tmp_path, steps=1, held_out=tasks()[:2])
    assert time.monotonic() - began < 40
    assert list(read_journal(tmp_path / "metrics.jsonl")) == []
