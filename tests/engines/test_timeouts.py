"""A task that outlives its timeout is really stopped, and its neighbours are not to suffer."""

from __future__ import annotations

import time
from collections import Counter

import psutil
import pytest
import workloads

from aworld import RunConfig, Runners, Task

LATE = 1.0  # seconds after its deadline by which a task is stopped


def neighbours(count, letter="n"):
    return [Task(input=0.3, agent=workloads.wait, id=f"{letter}{i}") for i in range(count)]


def assert_gone(pid):
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and psutil.pid_exists(pid):
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.01)
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize(
    ("agent", "how"),
    [
        (workloads.block, "loop"),
        (workloads.block, "gil"),
        (workloads.block, "regex"),
        (workloads.block, "stubborn"),
        (workloads.block_in_thread, "sleep"),
        (workloads.block_in_thread, "gil"),
    ],
)
def test_a_blocking_task_is_stopped_and_its_neighbours_finish(killable, tmp_path, agent, how):
    note = tmp_path / "pid"
    bad = Task(input=f"{note}|{how}", agent=agent, id="bad", timeout=1.0)
    conf = killable.conf(worker_num=1, tasks_per_worker=8, timeout=20)
    responses = Runners.sync_run_task([*neighbours(6), bad], conf)
    assert len(responses) == 7
    stopped = responses.pop("bad")
    assert stopped.status == "timeout"
    assert stopped.error.kind == "TimeoutError"
    assert 1.0 <= stopped.time_cost < 1.0 + LATE
    assert Counter(r.status for r in responses.values()) == {"success": 6}
    assert_gone(int(note.read_text()))


@pytest.mark.parametrize("how", ["loop", "gil"])
def test_neighbours_with_the_same_deadline_are_not_blamed(killable, how):
    """All start together and all are overdue when the loop is blocked: one of them did it."""
    bad = Task(input=f"|{how}", agent=workloads.block, id="bad")
    conf = killable.conf(worker_num=1, tasks_per_worker=8, timeout=0.8)
    responses = Runners.sync_run_task([*neighbours(3), bad, *neighbours(3, "m")], conf)
    assert responses.pop("bad").status == "timeout"
    assert Counter(r.status for r in responses.values()) == {"success": 6}


def test_a_blocker_without_a_timeout_does_not_cost_its_neighbours_theirs(killable):
    """It is set apart when a neighbour becomes overdue because of it; both succeed."""

    async def block_for_two_seconds(_):
        time.sleep(2)
        return "done"

    tasks = [Task(input=0, agent=block_for_two_seconds, id="blocker")]
    tasks += [Task(input=0.1, agent=workloads.wait, id=f"n{i}", timeout=0.5) for i in range(3)]
    responses = Runners.sync_run_task(tasks, killable.conf(worker_num=1))
    assert Counter(r.status for r in responses.values()) == {"success": 4}
    assert responses["blocker"].answer == "done"


def test_an_awaiting_task_is_cancelled_without_harm_to_its_worker(engine):
    """Nobody is killed: the neighbours' worker is the one that they started on."""
    tasks = [Task(input="|await", agent=workloads.block, id="bad", timeout=0.3)]
    tasks += [Task(input=0, agent=workloads.worker_pid, id=f"n{i}") for i in range(20)]
    responses = Runners.sync_run_task(tasks, engine.conf(worker_num=1))
    bad = responses.pop("bad")
    assert bad.status == "timeout"
    assert 0.3 <= bad.time_cost < 0.3 + LATE
    assert bad.trajectory is not None
    assert len({response.answer for response in responses.values()}) == 1


def test_a_timeout_counts_from_the_start_not_from_the_queue(engine):
    """Ten tasks of 0.2 s in one slot: the last waits 1.8 s for its turn, and has 1 s to run."""
    tasks = [Task(input=0.2, agent=workloads.wait, id=str(i)) for i in range(10)]
    conf = engine.conf(worker_num=1, tasks_per_worker=1, timeout=1.0)
    responses = Runners.sync_run_task(tasks, conf)
    assert Counter(r.status for r in responses.values()) == {"success": 10}


def test_a_tasks_own_timeout_goes_before_the_runs(engine):
    tasks = [
        Task(input=0.6, agent=workloads.wait, id="patient", timeout=10),
        Task(input=0.6, agent=workloads.wait, id="default"),
        Task(input=0.1, agent=workloads.wait, id="quick", timeout=5),
    ]
    responses = Runners.sync_run_task(tasks, engine.conf(timeout=0.3))
    assert [r.status for r in responses.values()] == ["success", "timeout", "success"]


def test_many_timeouts_at_once(engine):
    tasks = [Task(input=30, agent=workloads.wait, id=str(i)) for i in range(100)]
    responses = Runners.sync_run_task(tasks, engine.conf(tasks_per_worker=50, timeout=0.5))
    assert Counter(r.status for r in responses.values()) == {"timeout": 100}


def test_deadlines_hold_while_the_reader_is_away(killable):
    bad = Task(input="|loop", agent=workloads.block, id="bad", timeout=0.5)
    quick = Task(input=0, agent=workloads.wait, id="quick")
    with Runners.stream_tasks([quick, bad], killable.conf(worker_num=2)) as stream:
        assert next(stream).id == "quick"
        time.sleep(2.5)
        (response,) = list(stream)
        assert response.time_cost < 0.5 + LATE


def test_who_holds_the_process_is_found_without_waiting_for_more_deadlines(killable):
    """One deadline to notice it, one for the culprit alone; in between only moments of silence."""
    begin = time.monotonic()
    bad = Task(input="|gil", agent=workloads.block, id="bad")
    conf = killable.conf(worker_num=1, tasks_per_worker=16, timeout=6)
    responses = Runners.sync_run_task([*neighbours(7), bad, *neighbours(7, "m")], conf)
    assert responses.pop("bad").status == "timeout"
    assert Counter(r.status for r in responses.values()) == {"success": 14}
    assert time.monotonic() - begin < 2 * 6 + 10  # halving on deadlines alone would take 30 s


@pytest.mark.parametrize(("seconds", "warnings"), [(0.4, 0), (3.0, 1)])
def test_who_blocks_its_neighbours_for_long_is_named_once(caplog, seconds, warnings):
    def block(seconds):
        async def agent(question):
            time.sleep(seconds)

        return agent

    tasks = [Task(input="", agent=block(seconds), id="bad"), *neighbours(3)]
    responses = Runners.sync_run_task(tasks, RunConfig(worker_num=1, tasks_per_worker=8))
    assert Counter(r.status for r in responses.values()) == {"success": 4}
    said = [line for line in caplog.messages if "blocks the event loop" in line]
    assert len(said) == warnings
    assert all("task bad blocks" in line for line in said)
