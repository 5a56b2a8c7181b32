"""DistributedExecutor: Python's own executor contract, and tasks by id, on every engine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, as_completed, wait
from operator import truediv

import pytest
from waiting import until
from workloads import die, raise_by_kind

from aworld import (
    ConfigError,
    DistributedExecutor,
    EngineError,
    RunConfig,
    RuntimeEngine,
    TaskError,
)


@pytest.fixture
def executor(engine):
    with DistributedExecutor(2, run_conf=engine.conf()) as executor:
        yield executor


async def later(value, seconds=0.01):
    await asyncio.sleep(seconds)
    return value


def hold(path):
    """Runs until the file is there."""
    while not os.path.exists(path):
        time.sleep(0.01)
    return "released"


class MuteError(Exception):
    def __str__(self):
        raise ValueError("no words")


def raise_mute():
    raise MuteError


async def note_and_wait(path):
    open(path, "w").close()
    await asyncio.sleep(600)


# -- as an executor ------------------------------------------------------------------------------


def test_submit_gives_a_future_with_the_result(executor):
    assert executor.submit(pow, 2, exp=10).result() == 1024
    assert executor.submit(later, "waited").result() == "waited"
    assert executor.submit(lambda: "a lambda").result() == "a lambda"


def test_map_keeps_the_order(executor):
    assert list(executor.map(pow, range(200), [2] * 200)) == [n * n for n in range(200)]


def test_as_completed_gives_every_future_once(executor):
    futures = {executor.submit(later, n): n for n in range(100)}
    assert sorted(future.result() for future in as_completed(futures)) == list(range(100))


def test_it_serves_run_in_executor(executor):
    async def main():
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(executor, abs, -n) for n in range(20)]
        return await asyncio.gather(*calls)

    assert asyncio.run(main()) == list(range(20))


def test_an_exception_comes_back_as_itself_and_says_where_it_was_raised(executor):
    with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
        executor.submit(truediv, 1, 0).result()
    assert any("Traceback" in note for note in caught.value.__notes__)


def test_an_exception_that_cannot_travel_comes_back_as_data(executor):
    with pytest.raises(TaskError, match="CannotBeRebuiltError: 7: seven") as caught:
        executor.submit(raise_by_kind, "not rebuilt").result()
    assert caught.value.status == "failed"


@pytest.mark.parametrize("what", [lambda: threading.Lock(), threading.Lock])
def test_a_result_that_cannot_be_pickled_is_named(executor, what):
    with pytest.raises(TaskError, match=r"its .*lock.* cannot be pickled"):
        executor.submit(what).result()


def test_a_function_or_an_argument_that_cannot_be_pickled_is_named(executor):
    lock = threading.Lock()
    with pytest.raises(TaskError, match=r"its function.* cannot be pickled"):
        executor.submit(lambda: lock).result()
    with pytest.raises(TaskError, match=r"its args.* cannot be pickled"):
        executor.submit(abs, lock).result()


class BadNotesError(Exception):
    def __init__(self):
        super().__init__()
        self.__notes__ = ("a tuple",)


def raise_bad_notes():
    raise BadNotesError


def end_the_thread(future):
    raise SystemExit(3)


def test_one_broken_exception_or_callback_harms_no_other_call(executor):
    with pytest.raises(TaskError, match="note"):
        executor.submit(raise_bad_notes).result(timeout=30)
    executor.submit(abs, 1).add_done_callback(end_the_thread)
    assert [executor.submit(abs, -n).result(timeout=30) for n in range(20)] == list(range(20))


def test_what_is_no_function_is_refused_at_once(executor):
    with pytest.raises(ConfigError, match="only a function"):
        executor.submit("abs", 1)  # type: ignore[arg-type]


def test_a_callback_may_submit_more_even_when_the_queue_is_full(engine):
    """Otherwise the thread that makes room would wait for room."""
    done = threading.Event()
    with DistributedExecutor(1, max_queue_size=1, run_conf=engine.conf(worker_num=1)) as executor:

        def chain(future, left=20):
            if left:
                executor.submit_task(f"link {left}", later, left)
                executor.submit(later, left).add_done_callback(lambda f: chain(f, left - 1))
            else:
                done.set()

        executor.submit(later, 0).add_done_callback(chain)
        assert done.wait(30)


def test_shutdown_waits_for_what_was_submitted_and_takes_no_more(engine):
    executor = DistributedExecutor(2, run_conf=engine.conf())
    futures = [executor.submit(later, n, 0.1) for n in range(50)]
    executor.shutdown()
    assert [future.result(timeout=0) for future in futures] == list(range(50))
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(abs, 1)
    executor.shutdown()


def test_cancel_futures_cancels_what_has_not_started(engine, tmp_path):
    conf = engine.conf(worker_num=1, tasks_per_worker=1)
    executor = DistributedExecutor(1, run_conf=conf)
    gate = tmp_path / "gate"
    first = executor.submit(hold, str(gate))
    rest = [executor.submit(abs, n) for n in range(20)]
    until(first.running)
    executor.shutdown(wait=False, cancel_futures=True)
    gate.touch()
    executor.shutdown()
    assert first.result() == "released"
    assert len(wait(rest, timeout=0).done) == 20
    assert sum(future.cancelled() for future in rest) >= 17  # the others were on their way


def test_a_future_that_is_cancelled_in_time_is_never_run(engine, tmp_path):
    conf = engine.conf(worker_num=1, tasks_per_worker=1)
    with DistributedExecutor(1, run_conf=conf) as executor:
        gate = tmp_path / "gate"
        executor.submit(hold, str(gate))
        rest = [executor.submit(os.mkdir, str(tmp_path / str(n))) for n in range(10)]
        assert rest[-1].cancel()
        gate.touch()
    assert (tmp_path / "0").exists()
    assert not (tmp_path / "9").exists()
    with pytest.raises(CancelledError):
        rest[-1].result()


def test_ctrl_c_in_the_with_block_stops_what_runs(engine, tmp_path):
    futures = []

    def interrupted():
        with DistributedExecutor(run_conf=engine.conf()) as executor:
            paths = [str(tmp_path / str(n)) for n in range(100)]
            futures.extend(executor.submit(note_and_wait, path) for path in paths)
            until(lambda: list(tmp_path.iterdir()))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert all(
        isinstance(f.exception(), CancelledError) if not f.cancelled() else True for f in futures
    )


def test_a_timeout_is_a_timeout_error(engine):
    with DistributedExecutor(2, run_conf=engine.conf(timeout=0.3)) as executor:
        with pytest.raises(TimeoutError, match=r"still running after 0\.3 s"):
            executor.submit(later, 1, 60).result()
        assert executor.submit(abs, -1).result() == 1


def test_a_call_that_kills_its_worker_fails_alone(killable):
    with DistributedExecutor(2, run_conf=killable.conf(max_attempts=1)) as executor:
        good = [executor.submit(later, n, 0.2) for n in range(40)]
        bad = executor.submit(die, "exit")
        assert [future.result() for future in good] == list(range(40))
        with pytest.raises(TaskError, match="WorkerDied") as caught:
            bad.result()
        assert caught.value.status == "crashed"


# -- by id ---------------------------------------------------------------------------------------


def collected(executor, count):
    results = {}
    while len(results) < count:
        new = executor.collect_results(timeout=30)
        assert new, "nothing came"
        assert not new.keys() & results.keys()
        results.update(new)
    return results


def test_tasks_come_back_by_id_each_once(executor):
    for n in range(100):
        assert executor.submit_task(f"task {n}", later, n) == f"task {n}"
    executor.submit_task("bad", truediv, 1, 0)
    executor.submit_task("mute", raise_mute)
    results = collected(executor, 102)
    assert "its message cannot be shown" in results.pop("mute")["error"]
    assert results.pop("bad") == {
        "success": False,
        "error": "ZeroDivisionError: division by zero",
    }
    assert results == {f"task {n}": {"success": True, "result": n} for n in range(100)}
    assert executor.collect_results(timeout=30) == {}  # at once: none is to come


def test_collecting_without_a_timeout_does_not_wait(executor, tmp_path):
    executor.submit_task("held", hold, str(tmp_path / "gate"))
    assert executor.collect_results() == {}
    assert executor.collect_results(timeout=0.05) == {}
    (tmp_path / "gate").touch()
    assert collected(executor, 1) == {"held": {"success": True, "result": "released"}}


def test_a_full_queue_holds_up_whoever_submits(engine, tmp_path):
    conf = engine.conf(worker_num=1, tasks_per_worker=1)
    with DistributedExecutor(1, max_queue_size=3, run_conf=conf) as executor:
        gate = tmp_path / "gate"
        submitted = []

        def submit_all():
            for n in range(30):
                executor.submit_task(n, hold, str(gate))
                submitted.append(n)

        thread = threading.Thread(target=submit_all, daemon=True)
        thread.start()
        deadline = time.monotonic() + 30
        while len(submitted) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        thread.join(0.3)
        assert thread.is_alive()
        assert len(submitted) <= 8  # three wait, a few are on their way to the worker
        gate.touch()
        thread.join(60)
        assert sorted(collected(executor, 30)) == list(range(30))


def test_shutdown_lets_go_of_those_who_wait_for_room(engine, tmp_path):
    conf = engine.conf(worker_num=1, tasks_per_worker=1)
    executor = DistributedExecutor(max_queue_size=1, run_conf=conf)
    refused = []

    def submit_all():
        try:
            for n in range(30):
                executor.submit_task(n, hold, str(tmp_path / "gate"))
        except RuntimeError as error:
            refused.append(str(error))

    thread = threading.Thread(target=submit_all, daemon=True)
    thread.start()
    until(lambda: len(executor._by_id._expected) == 4)  # two taken, one waits, one may not yet
    executor.shutdown(wait=False)
    thread.join(30)
    (tmp_path / "gate").touch()
    executor.shutdown()
    assert refused == ["the executor was shut down: it takes no more calls"]


class NoWorkerEver(RuntimeEngine):
    def start_worker(self, invitation):
        raise OSError("no room")


def test_an_engine_that_cannot_start_its_workers_is_said_on_every_future():
    with DistributedExecutor(1, run_conf=RunConfig(cls=NoWorkerEver)) as executor:
        futures = [executor.submit(abs, n) for n in range(100)]
        for future in futures:
            with pytest.raises(EngineError, match="no room"):
                future.result(timeout=30)
        with pytest.raises(EngineError, match="no room"):
            executor.submit(abs, 1)


def test_an_id_can_be_used_again_only_when_its_result_was_collected(executor):
    executor.submit_task("a", abs, 1)
    with pytest.raises(ConfigError, match="'a' is under way"):
        executor.submit_task("a", abs, 2)
    assert collected(executor, 1)["a"]["result"] == 1
    executor.submit_task("a", abs, 3)
    assert collected(executor, 1)["a"]["result"] == 3


# -- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"num_workers": -1}, "num_workers"),
        ({"max_queue_size": 0}, "max_queue_size"),
        ({"num_workers": 2, "run_conf": RunConfig(worker_num=3)}, "contradict"),
        ({"run_conf": RunConfig(sequence_dependent=True)}, "sequence_dependent"),
        ({"run_conf": "ray"}, "RunConfig"),
        ({"run_conf": RunConfig(engine_name="k8s")}, "no engine named"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_starts(arguments, problem):
    with pytest.raises(ConfigError, match=problem):
        DistributedExecutor(**arguments)


def test_a_program_that_ends_without_shutdown_still_gets_its_results():
    code = """
from aworld import DistributedExecutor
executor = DistributedExecutor(1)
executor.submit(lambda: __import__("time").sleep(0.3) or 42).add_done_callback(
    lambda future: print("result", future.result())
)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("result 42\n", "")


def test_an_executor_that_is_forgotten_ends_its_workers(engine):
    future = DistributedExecutor(1, run_conf=engine.conf(worker_num=1)).submit(later, 1)
    assert future.result() == 1  # the no_leftovers fixture sees to the rest
