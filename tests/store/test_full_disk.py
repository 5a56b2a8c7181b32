"""A disk without room: the run stops with one clear line, loses nothing, and goes on later."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from aworld import RunConfig, Runners, StoreError, Task
from aworld.store import open_run


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)]
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.call(mount) != 0:
        pytest.skip("a small disk can be made by root on Linux only")
    yield folder
    subprocess.check_call(["umount", "-l", str(folder)])


def long_answer(number: int) -> str:
    return f"{number} " * 4000


def test_a_full_disk_stops_the_run_and_loses_nothing(small_disk):
    tasks = [Task(number, long_answer, id=f"t{number}") for number in range(500)]
    conf = RunConfig(worker_num=2, run_dir=small_disk / "run")
    told = []
    stream = Runners.stream_tasks(tasks, conf)
    with pytest.raises(StoreError, match="no room is left") as caught:
        told.extend(response.id for response in stream)
    assert "\n" not in str(caught.value)
    assert 0 < len(told) < 500
    with open_run(small_disk / "run") as run:
        recorded = {rollout.response.id for rollout in run.rollouts()}
        assert run.damage == []
    assert set(told) <= recorded
    subprocess.check_call(["mount", "-o", "remount,size=64m", str(small_disk)])
    responses = Runners.resume(small_disk / "run", tasks)
    assert [response.answer for response in responses.values()] == [
        long_answer(number) for number in range(500)
    ]


def test_a_big_value_that_finds_no_room_is_no_loss(small_disk):
    tasks = [Task(number, lambda n: chr(97 + n) * 400_000, id=f"t{number}") for number in range(20)]
    with pytest.raises(StoreError, match="no room is left"):
        Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=small_disk / "run"))
    with open_run(small_disk / "run") as run:
        assert all(len(rollout.response.answer) == 400_000 for rollout in run.rollouts())
        assert run.damage == []
