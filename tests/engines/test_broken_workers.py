"""Workers that cannot start, break, get lost or starve: the run goes on, or says why not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
import workloads
from workloads import give_value, statuses, tasks_of

from aworld import EngineError, InputError, LocalRuntime, RunConfig, Runners, Task
from aworld.engines import open_engine
from aworld.engines.base import Item


class NeverStarts(LocalRuntime):
    def start_worker(self, invitation):
        raise OSError("no processes left")


class EndsAtOnce(LocalRuntime):
    class Ended:
        def wait(self):
            return "exited with code 9"

        def kill(self):
            pass

    def start_worker(self, invitation):
        return self.Ended()


@pytest.mark.parametrize(
    ("engine_class", "reason"),
    [(NeverStarts, "no processes left"), (EndsAtOnce, "exited with code 9")],
)
def test_workers_that_never_start_end_the_run_with_an_error(engine_class, reason):
    with pytest.raises(EngineError, match=reason) as caught:
        Runners.sync_run_task(tasks_of(range(5)), RunConfig(cls=engine_class, worker_num=2))
    assert len(caught.value.responses) == 5
    assert not any(response.success for response in caught.value.responses.values())


def test_a_stranger_on_the_port_is_turned_away(killable):
    """Neither garbage nor a wrong proof gets anything, and the run goes on."""
    import socket

    with open_engine(killable.conf(worker_num=1)) as engine:
        port = engine._switchboard._roster._port
        strangers = [socket.create_connection((engine.listen_host, port)) for _ in range(3)]
        strangers[0].sendall(os.urandom(500))
        strangers[1].sendall(b"x")
        outcomes = list(engine.run(give_value, [Item(i) for i in range(100)]))
        assert sorted(outcome.value for outcome in outcomes) == list(range(100))
        strangers[0].settimeout(5)
        received = b""
        try:
            while chunk := strangers[0].recv(1000):
                received += chunk
        except ConnectionResetError:
            pass
        assert len(received) <= 32  # the greeting's nonce, and not a byte more
        for stranger in strangers:
            stranger.close()


def test_what_a_dead_worker_had_not_started_is_not_suspected(killable):
    """One slot, a queue of quick tasks behind a poison: nobody but the poison is tried twice."""
    values = ["fine"] * 30
    values[10] = "exit"
    responses = Runners.sync_run_task(
        tasks_of(values, workloads.die),
        killable.conf(worker_num=1, tasks_per_worker=1, max_attempts=3),
    )
    assert responses["t10"].attempts == 3
    assert statuses(responses) == {"success": 29, "crashed": 1}
    assert {r.attempts for r in responses.values() if r.success} == {1}


def test_a_child_that_a_task_forked_does_not_answer_in_its_place(killable):
    tasks = tasks_of(range(20), workloads.fork_and_fall_through)
    responses = Runners.sync_run_task(tasks, killable.conf())
    assert [response.answer for response in responses.values()] == [(i, False) for i in range(20)]


class LosesConnections(LocalRuntime):
    """Says only late that a worker has ended, as a cluster does."""

    def start_worker(self, invitation):
        worker = super().start_worker(invitation)
        wait = worker.wait
        worker.wait = lambda: (wait(), time.sleep(1))[0]
        return worker


def test_a_worker_that_is_lost_before_its_end_is_known_loses_nothing():
    values = ["fine"] * 60
    values[5] = "exit"
    conf = RunConfig(cls=LosesConnections, worker_num=2, tasks_per_worker=4, max_attempts=1)
    responses = Runners.sync_run_task(iter(tasks_of(values, workloads.die)), conf)
    assert statuses(responses) == {"success": 59, "crashed": 1}


class FirstStartsFail(LocalRuntime):
    starts = 0

    def start_worker(self, invitation):
        FirstStartsFail.starts += 1
        if FirstStartsFail.starts <= 3:
            return EndsAtOnce.Ended()
        return super().start_worker(invitation)


def test_some_failed_starts_do_not_end_a_run_that_others_can_do():
    conf = RunConfig(cls=FirstStartsFail, worker_num=6)
    assert statuses(Runners.sync_run_task(tasks_of(range(20)), conf)) == {"success": 20}


class CannotListen(LocalRuntime):
    listen_host = "203.0.113.1"  # nobody's address


def test_a_driver_that_cannot_listen_says_so():
    before = threading.active_count()
    with pytest.raises(EngineError, match="cannot listen on 203"):
        Runners.sync_run_task(tasks_of([1]), RunConfig(cls=CannotListen))
    assert threading.active_count() == before


def test_an_input_too_large_for_its_worker_fails_alone(killable):
    """It kills the worker before it can even start: that, too, comes to an end."""
    tasks = [*tasks_of(range(5)), Task(input=b"x" * (400 << 20), agent=workloads.echo, id="fat")]
    responses = Runners.sync_run_task(tasks, killable.conf(memory_limit_mb=250, max_attempts=1))
    assert statuses(responses) == {"success": 5, "crashed": 1}
    assert "memory_limit_mb" in responses["fat"].msg


class NameRaises:
    @property
    def name(self):
        raise ValueError("no name")

    async def async_policy(self, observation, info):
        return []


def test_an_agent_whose_name_raises_is_called_by_its_class(engine):
    (response,) = Runners.sync_run_task(tasks_of([1], NameRaises()), engine.conf()).values()
    assert response.success
    assert response.trajectory.agent_id == "NameRaises"


def test_a_driver_that_was_held_up_does_not_blame_the_tasks(killable):
    """Three seconds in C code without the GIL's release: the results lie waiting meanwhile."""
    import ctypes

    tasks = tasks_of([0.5] * 8, workloads.wait, timeout=1.0)
    with Runners.stream_tasks([*tasks_of([0]), *tasks[1:]], killable.conf()) as stream:
        next(stream)
        ctypes.PyDLL(None).sleep(3)
        assert {response.status for response in stream} == {"success"}


def break_perf_counter(_):
    time.perf_counter = None


def break_pickle(_):
    import pickle

    pickle.dumps = None


def close_all_files(_):
    os.closerange(3, 1000)
    return "closed"


def exhaust_memory_later(_):
    import resource

    limit = 700 << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return "limited"


@pytest.mark.parametrize("agent", [break_perf_counter, break_pickle, close_all_files])
def test_a_task_that_breaks_its_workers_own_machinery_fails_alone(killable, agent):
    tasks = [Task(input=0, agent=agent, id="bad"), *tasks_of(range(20))]
    responses = Runners.sync_run_task(tasks, killable.conf(worker_num=1, max_attempts=1))
    assert responses.pop("bad").status in ("crashed", "failed")
    assert statuses(responses) == {"success": 20}


def test_a_worker_that_cannot_take_in_an_input_does_not_hang(killable):
    def tasks():
        yield Task(input=0, agent=exhaust_memory_later, id="limits")
        while not seen:
            time.sleep(0.01)
        yield Task(input=b"x" * (800 << 20), agent=workloads.echo, id="fat")

    seen = []
    for response in Runners.stream_tasks(tasks(), killable.conf(worker_num=1)):
        seen.append(response)
    assert [response.id for response in seen] == ["limits", "fat"]
    assert seen[1].success  # in the next worker, which has no such limit


def test_a_source_that_raises_what_is_no_exception_loses_nothing(engine):
    for error in (SystemExit(3), KeyboardInterrupt(), GeneratorExit()):

        def tasks(error=error):
            yield from tasks_of(range(5))
            raise error

        with pytest.raises(InputError, match="broke off after 5") as caught:
            Runners.sync_run_task(tasks(), engine.conf())
        assert len(caught.value.responses) == 5


class ExitsWhenRebuilt:
    def __reduce__(self):
        return workloads.exit_in_driver, ()


async def give_what_exits(_):
    return ExitsWhenRebuilt()


def test_a_result_that_exits_when_rebuilt_fails_alone(killable):
    tasks = [*tasks_of(range(5)), Task(input=0, agent=give_what_exits, id="bad")]
    responses = Runners.sync_run_task(tasks, killable.conf())
    assert statuses(responses) == {"success": 5, "failed": 1}


@pytest.mark.slow
def test_short_runs_with_many_workers_end_well():
    """They end while most of the workers are still connecting."""
    for _ in range(15):
        responses = Runners.sync_run_task(tasks_of(range(16)), RunConfig(worker_num=16))
        assert statuses(responses) == {"success": 16}


def test_too_few_open_files_leave_the_work_to_those_that_could_connect():
    code = """
import resource
from aworld import *
from workloads import wait
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
tasks = [Task(input=0.01, agent=wait) for _ in range(200)]
responses = Runners.sync_run_task(tasks, RunConfig(worker_num=12))
print(sum(response.success for response in responses.values()))
"""
    here = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "200\n", done.stderr


def test_a_module_beside_a_script_in_an_odd_folder_is_found(tmp_path):
    folder = tmp_path / "a:b c"
    folder.mkdir()
    (folder / "helper_beside.py").write_text("async def agent(value):\n    return value\n")
    (folder / "script.py").write_text(
        "from helper_beside import agent\nfrom aworld import Runners\n"
        "print(Runners.sync_run(7, agent).answer)\n"
    )
    done = subprocess.run(
        [sys.executable, folder / "script.py"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "7\n", done.stderr
