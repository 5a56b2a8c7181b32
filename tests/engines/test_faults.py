"""What every engine promises when things go wrong. Each test counts results."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import Counter

import pytest
import workloads
from workloads import statuses, tasks_of

from aworld import ConfigError, Runners, Task


@pytest.mark.slow
def test_workers_killed_at_random_lose_and_double_nothing(killable):
    """10,000 tasks, and a random worker killed every half second."""
    over = threading.Event()
    kills = 0

    def killer():
        nonlocal kills
        rng = random.Random(1)
        while not over.wait(killable.kill_every):
            pids = killable.worker_pids()
            if pids:
                os.kill(rng.choice(pids), signal.SIGKILL)
                kills += 1

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        seen = Counter(
            (response.id, response.status, response.answer)
            for response in Runners.stream_tasks(
                tasks_of(range(10_000), workloads.wait_and_echo), killable.conf()
            )
        )
    finally:
        over.set()
        thread.join()
    assert kills >= 3
    assert seen == Counter((f"t{i}", "success", i) for i in range(10_000))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("exit", "exited with code 7"),
        ("late", "exited with code 7"),
        ("segfault", "was killed by SIGSEGV"),
        ("memory", "past memory_limit_mb=250"),
    ],
)
def test_a_poison_task_fails_alone(killable, how, reason):
    values = ["fine"] * 40
    values[17] = how
    conf = killable.conf(max_attempts=2, memory_limit_mb=250)
    responses = Runners.sync_run_task(tasks_of(values, workloads.die), conf)
    assert list(responses) == [f"t{i}" for i in range(40)]
    poison = responses.pop("t17")
    assert poison.status == "crashed"
    assert poison.error.kind == "WorkerDied"
    assert reason in poison.error.message
    assert poison.attempts == 2
    assert statuses(responses) == {"success": 39}
    assert {response.attempts for response in responses.values()} == {1}


def test_several_poison_tasks_fail_each_for_its_own_reason(killable):
    values = ["fine"] * 60
    values[3], values[30], values[59] = "exit", "segfault", "late"
    responses = Runners.sync_run_task(
        tasks_of(values, workloads.die), killable.conf(max_attempts=1)
    )
    assert statuses(responses) == {"success": 57, "crashed": 3}
    assert {i for i, r in responses.items() if r.status == "crashed"} == {"t3", "t30", "t59"}
    assert "SIGSEGV" in responses["t30"].msg
    assert "code 7" in responses["t3"].msg


def test_a_task_that_always_kills_is_given_up_after_max_attempts(killable, tmp_path):
    note = tmp_path / "starts"

    async def count_and_die(_):
        with open(note, "a") as file:
            file.write("x")
        os._exit(1)

    (response,) = Runners.sync_run_task(
        tasks_of([0], count_and_die), killable.conf(max_attempts=4)
    ).values()
    assert (response.status, response.attempts) == ("crashed", 4)
    assert note.read_text() == "xxxx"


def test_a_task_that_kills_once_succeeds_at_the_next_attempt(killable, tmp_path):
    note = tmp_path / "was here"

    async def die_once(_):
        if not note.exists():
            note.write_text("")
            os._exit(1)
        return "survived"

    (response,) = Runners.sync_run_task(tasks_of([0], die_once), killable.conf()).values()
    assert (response.answer, response.attempts) == ("survived", 2)


def test_all_tasks_poison_still_all_come_back(killable):
    responses = Runners.sync_run_task(
        tasks_of(["exit"] * 12, workloads.die), killable.conf(max_attempts=1)
    )
    assert statuses(responses) == {"crashed": 12}


def test_ten_percent_of_agents_raise_and_nobody_else_is_affected(engine):
    responses = Runners.sync_run_task(
        tasks_of(range(500), workloads.every_tenth_raises), engine.conf()
    )
    assert statuses(responses) == {"success": 450, "failed": 50}
    for number in range(500):
        response = responses[f"t{number}"]
        assert response.success == (number % 10 != 0)
        if not response.success:
            assert "raise_by_kind" in response.error.traceback


@pytest.mark.parametrize("agent", [workloads.raise_async, workloads.raise_by_kind])
def test_every_kind_of_exception_comes_back_as_data(engine, agent):
    expected = {
        "plain": ("workloads.PlainError", "went wrong"),
        "not rebuilt": ("workloads.CannotBeRebuiltError", "7: seven"),
        "not pickled": ("workloads.CannotBePickledError", "holds a lock"),
        "not shown": ("workloads.CannotBeShownError", "cannot be shown"),
        "exit": ("SystemExit", "3"),
        "interrupt": ("KeyboardInterrupt", ""),
        "stop": ("RuntimeError", "raised StopIteration"),
        "huge": ("ValueError", "characters left out"),
        "memory": ("MemoryError", ""),
        "recursion": ("RecursionError", ""),
        "cancelled": ("asyncio.exceptions.CancelledError", ""),
        "group": ("ExceptionGroup", "several"),
    }
    tasks = [Task(input=kind, agent=agent, id=kind) for kind in expected]
    responses = Runners.sync_run_task([*tasks, *tasks_of(["ok"])], engine.conf())
    assert responses.pop("t0").success
    assert statuses(responses) == {"failed": len(expected)}
    for name, (kind, message) in expected.items():
        error = responses[name].error
        assert error.kind == kind
        assert message in error.message
        assert len(error.message) < 20_000


def test_an_agent_that_cannot_be_pickled_is_refused_before_any_worker_starts(killable):
    agent = workloads.Policy()
    agent.client = {"inner": [workloads.Policy()]}
    agent.client["inner"][0].lock = threading.Lock()
    tasks = [*tasks_of(range(3)), Task(input=1, agent=agent, id="bad")]
    with pytest.raises(ConfigError) as caught:
        Runners.sync_run_task(tasks, killable.conf())
    assert "task 'bad' (at 3)" in str(caught.value)
    assert "agent.client['inner'][0].lock" in str(caught.value)
    assert killable.worker_pids() == []


def test_an_agent_that_cannot_be_pickled_in_a_generator_fails_alone(engine):
    lock = threading.Lock()
    tasks = [*tasks_of(range(3)), Task(input=1, agent=lambda _: lock, id="bad")]
    responses = Runners.sync_run_task(iter(tasks), engine.conf())
    assert statuses(responses) == {"success": 3, "failed": 1}
    assert "agent: lock (a lock) cannot be pickled" in responses["bad"].error.message


def test_an_input_that_cannot_be_pickled_fails_alone(engine):
    tasks = tasks_of([1, {"deep": [threading.Lock()]}, 3])
    responses = Runners.sync_run_task(tasks, engine.conf())
    assert statuses(responses) == {"success": 2, "failed": 1}
    assert responses["t1"].error.kind == "PicklingError"
    tasks = tasks_of([1], metadata={"a": threading.Lock()})
    (response,) = Runners.sync_run_task(tasks, engine.conf()).values()
    assert "its metadata['a'] (a lock)" in response.error.message
    assert "its input['deep'][0] (a lock) cannot be pickled" in responses["t1"].error.message


def test_a_result_that_cannot_be_pickled_fails_alone(engine):
    tasks = [
        *tasks_of(range(5)),
        Task(input=0, agent=workloads.give_a_lock, id="lock"),
        Task(input=0, agent=workloads.give_a_lock_inside, id="inside"),
    ]
    responses = Runners.sync_run_task(tasks, engine.conf())
    assert statuses(responses) == {"success": 5, "failed": 2}
    assert "its answer (a lock) cannot be pickled" in responses["lock"].error.message
    assert "its answer['deep'][1]" in responses["inside"].error.message


def test_a_result_that_cannot_be_rebuilt_fails_alone(engine):
    tasks = [*tasks_of(range(5)), Task(input=0, agent=workloads.give_what_breaks, id="bad")]
    responses = Runners.sync_run_task(tasks, engine.conf())
    assert statuses(responses) == {"success": 5, "failed": 1}
    assert responses["bad"].error.kind == "UnpicklingError"
    assert "exploded in the driver" in responses["bad"].error.message


def test_a_module_that_workers_cannot_import_is_named(killable, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("async def agent(value):\n    return value\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here

    monkeypatch.undo()  # the driver has it, the workers' path does not
    (response,) = Runners.sync_run_task(tasks_of([1], only_here.agent), killable.conf()).values()
    assert response.status == "failed"
    assert "No module named 'only_here'" in response.error.message
