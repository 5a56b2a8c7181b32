"""A recorded run tells what runs now, and can be paused from outside."""

from __future__ import annotations

import asyncio
import threading
import time

from waiting import until

from aworld import RunConfig, Runners, Task, open_run
from aworld.store.live import LIVE, PAUSE, ask_to_pause, read_live


async def slow(question):
    await asyncio.sleep(0.2)
    return question


def recorded(folder):
    with open_run(folder) as run:
        return sum(run.counts().values())


def started(folder, count, **options):
    conf = RunConfig(worker_num=2, tasks_per_worker=2, run_dir=folder, **options)
    tasks = [Task(n, slow, id=f"t{n}") for n in range(count)]
    return Runners.stream_tasks(tasks, conf)


def test_a_run_tells_what_runs_where_and_nothing_when_it_is_over(tmp_path):
    with started(tmp_path / "run", 40) as stream:
        stream.open()
        live = until(lambda: (found := read_live(tmp_path / "run")) and found.running and found)
        assert 1 <= live.count <= 4
        assert {task.worker for task in live.running} <= {0, 1}
        assert all(0 <= task.slot < 40 for task in live.running)
        assert all(0 <= time.time() - task.began < 10 for task in live.running)
        assert len(list(stream)) == 40
    assert read_live(tmp_path / "run") is None
    assert not (tmp_path / "run" / LIVE).exists()


def test_a_paused_run_begins_nothing_and_loses_nothing(tmp_path):
    folder = tmp_path / "run"
    with started(folder, 40) as stream:
        responses = []
        reader = threading.Thread(target=lambda: responses.extend(stream))
        reader.start()
        until(lambda: read_live(folder))
        ask_to_pause(folder, True)
        until(lambda: (live := read_live(folder)) and live.paused and not live.count)
        before = recorded(folder)
        time.sleep(0.7)
        assert recorded(folder) == before < 40
        ask_to_pause(folder, False)
        reader.join(30)
        assert sorted(response.id for response in responses) == sorted(f"t{n}" for n in range(40))


def test_a_paused_run_can_be_drained_and_closed(tmp_path):
    with started(tmp_path / "run", 40) as stream:
        stream.open()
        ask_to_pause(tmp_path / "run", True)
        until(lambda: (live := read_live(tmp_path / "run")) and live.paused)
        stream.drain()
        responses = list(stream)
        assert len(responses) == 40
        assert sum(response.status == "cancelled" for response in responses) > 20
    with started(tmp_path / "other", 40) as stream:
        stream.open()
        ask_to_pause(tmp_path / "other", True)
        until(lambda: (live := read_live(tmp_path / "other")) and live.paused)
    assert not (tmp_path / "other" / PAUSE).exists()


def test_a_pause_that_was_left_behind_does_not_hold_up_the_next_run(tmp_path):
    (tmp_path / "run").mkdir()
    ask_to_pause(tmp_path / "run", True)
    with started(tmp_path / "run", 4) as stream:
        assert len(list(stream)) == 4


def test_where_and_when_a_result_was_made_is_recorded_also_where_it_failed(tmp_path):
    async def fails(question):
        if question == 1:
            raise ValueError("no")
        if question == 2:
            import os

            os._exit(3)
        return question

    began = time.time()
    conf = RunConfig(worker_num=2, tasks_per_worker=1, max_attempts=1, run_dir=tmp_path / "run")
    tasks = [Task(n, fails, id=f"t{n}") for n in range(4)]
    responses = Runners.sync_run_task(tasks, conf)
    with open_run(tmp_path / "run") as run:
        query = "select slot, worker, began, failure from circumstances order by slot"
        rows = run.connection.execute(query).fetchall()
    assert [row[0] for row in rows] == [0, 1, 2, 3]
    assert [row[3] for row in rows] == ["", "ValueError", "WorkerDied", ""]
    for slot, worker, start, _ in rows:
        assert responses[f"t{slot}"].worker == worker is not None
        assert began - 1 < start < time.time()
