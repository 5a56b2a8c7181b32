"""A run that is drained: what has begun goes on to its end, nothing more begins, all come back."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import Counter

import pytest

from aworld import RunConfig, Runners, Task
from aworld.store import open_run


async def slow(value):
    await asyncio.sleep(0.3)
    return value


def drained(tasks, conf):
    """Drains when the first has ended; gives all responses."""
    stream = Runners.stream_tasks(tasks, conf)
    with stream:
        first = next(stream)
        stream.drain()
        return [first, *stream]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_what_runs_comes_to_its_end_and_all_come_back(workers):
    conf = RunConfig(worker_num=workers, tasks_per_worker=4)
    tasks = [Task(number, slow, id=str(number)) for number in range(200)]
    responses = drained(tasks, conf)
    counts = Counter(response.status for response in responses)
    assert counts.keys() == {"success", "cancelled"}
    assert counts.total() == 200
    assert counts["success"] <= 3 * 4 * max(workers, 1)  # not those that were sent ahead
    for response in responses:
        assert response.success == (response.answer is not None)
        if not response.success:
            assert response.msg == "Cancelled: the run was to stop before this task started"


def test_an_endless_iterable_is_not_read_any_further():
    read = []

    def endless():
        for number in itertools.count():
            read.append(number)
            yield Task(number, slow)

    responses = drained(endless(), RunConfig(worker_num=1, tasks_per_worker=2))
    assert len(responses) <= len(read) < 100
    assert Counter(response.status for response in responses)["success"] >= 1


def test_an_iterable_that_blocks_does_not_hold_up_the_end():
    let_go = threading.Event()

    def blocking():
        yield Task(1, slow)
        yield Task(2, slow)
        let_go.wait(30)

    begin = time.monotonic()
    responses = drained(blocking(), RunConfig(worker_num=1))
    assert [response.status for response in responses] == ["success", "success"]
    assert time.monotonic() - begin < 10
    let_go.set()


def test_a_sequence_stops_after_the_task_that_runs():
    conf = RunConfig(worker_num=1, sequence_dependent=True)
    responses = drained([Task(number, slow) for number in range(5)], conf)
    assert [response.success for response in responses][:1] == [True]
    assert Counter(response.status for response in responses)["cancelled"] >= 3
    assert len(responses) == 5


def test_a_run_that_is_drained_before_it_begins_begins_nothing():
    stream = Runners.stream_tasks([Task(1, slow), Task(2, slow)], RunConfig(worker_num=1))
    stream.drain()
    with stream:
        assert [response.status for response in stream] == ["cancelled", "cancelled"]


def test_what_was_not_begun_is_owed_by_a_recorded_run(tmp_path):
    conf = RunConfig(worker_num=1, tasks_per_worker=2, run_dir=tmp_path / "run")
    tasks = [Task(number, slow, id=str(number)) for number in range(8)]
    done = {response.id for response in drained(tasks, conf) if response.success}
    with open_run(tmp_path / "run") as run:
        assert {rollout.response.id for rollout in run.rollouts()} == done
        assert run.status == "unfinished"
    again = Runners.resume(tmp_path / "run", tasks)
    assert all(response.success for response in again.values())
    assert len(again) == 8
