"""However a run ends, the finished results are kept and no process is left. Real processes."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import workloads
from waiting import until
from workloads import tasks_of

from aworld import RunConfig, Runners, Task, exec_tasks

HERE = Path(__file__).parent


@pytest.fixture
def start_script():
    """Starts drivers of their own, in sessions of their own, as a terminal would."""
    drivers = []

    def start(code: str, *args: str) -> subprocess.Popen[str]:
        driver = subprocess.Popen(
            [sys.executable, "-c", code, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=HERE,
            start_new_session=True,
        )
        drivers.append(driver)
        return driver

    yield start
    for driver in drivers:
        driver.kill()
        driver.communicate()


def descendants(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def all_gone(processes: list[psutil.Process], seconds: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


INTERRUPTED = """
import json, sys
from aworld import *
from workloads import wait
from aworld import stream
tasks = [Task(input=0.01 if i < 200 else 60, agent=wait, id=str(i)) for i in range(232)]
opened = stream.TaskStream._open
def open_and_say(self):
    if self._outcomes is None:
        print("ready", flush=True)
    return opened(self)
stream.TaskStream._open = open_and_say
try:
    Runners.sync_run_task(tasks, RunConfig(worker_num=2))
except KeyboardInterrupt as interrupt:
    responses = getattr(interrupt, "responses", None)
    print(json.dumps(responses and {i: r.status for i, r in responses.items()}), flush=True)
    sys.exit(130)
"""


@pytest.mark.parametrize("delay", [0.0, 0.1, *(random.Random(5).random() for _ in range(4)), 1.5])
def test_ctrl_c_at_any_time_keeps_what_has_finished(start_script, delay):
    import json

    driver = start_script(INTERRUPTED)
    assert driver.stdout is not None
    assert driver.stdout.readline() == "ready\n"
    time.sleep(delay)
    workers = descendants(driver.pid)
    driver.send_signal(signal.SIGINT)
    pressed = time.monotonic()
    out, err = driver.communicate(timeout=40)
    assert time.monotonic() - pressed < 20  # its tasks would take 60
    assert all_gone(workers, 10)
    assert driver.returncode == 130, err
    statuses = json.loads(out)
    assert len(statuses) == 232
    assert set(statuses.values()) <= {"success", "cancelled"}
    if delay > 1:
        assert sum(status == "success" for status in statuses.values()) == 200


def test_ctrl_c_in_asyncio_run_leaves_nothing(start_script):
    driver = start_script(
        """
import asyncio
from aworld import *
from workloads import wait
print("ready", flush=True)
asyncio.run(Runners.run_task([Task(input=60, agent=wait) for _ in range(8)]))
"""
    )
    assert driver.stdout is not None
    driver.stdout.readline()
    until(lambda: len(descendants(driver.pid)) >= 2)
    workers = descendants(driver.pid)
    driver.send_signal(signal.SIGINT)
    assert all_gone(workers, 20)
    _, err = driver.communicate(timeout=20)
    assert "KeyboardInterrupt" in err


DRIVER = """
import sys
from aworld import *
import workloads
from workloads import tasks_of
agent = getattr(workloads, sys.argv[1])
tasks = [Task(input=sys.argv[2].replace("note-N", f"note-{n}"), agent=agent) for n in range(4)]
Runners.sync_run_task(tasks, RunConfig(worker_num=2, tasks_per_worker=2))
"""


@pytest.mark.parametrize(
    ("agent", "how"),
    [
        ("block", "{note}|await"),
        ("block", "{note}|loop"),
        ("block", "{note}|gil"),
        ("block_in_thread", "{note}|sleep"),
        ("start_a_child", "{note}"),
    ],
)
def test_a_driver_killed_with_sigkill_leaves_no_process(start_script, agent, how, tmp_path):
    driver = start_script(DRIVER, agent, how.format(note=tmp_path / "note-N"))
    expected = 4 if agent == "start_a_child" else 2

    def noted():
        """The worker's process, or the one that a task has started."""
        return {pid for note in tmp_path.iterdir() for pid in note.read_text().split()}

    until(lambda: len(descendants(driver.pid)) >= expected)
    until(lambda: len(noted()) == expected)  # the workers are in the midst of their tasks
    processes = descendants(driver.pid)
    driver.kill()
    assert all_gone(processes, 20)


def test_what_a_task_has_started_ends_with_its_worker(killable, tmp_path):
    note = tmp_path / "children"
    task = Task(input=str(note), agent=workloads.start_a_child, id="parent", timeout=0.5)
    stuck = Task(input="|loop", agent=workloads.block, id="stuck", timeout=0.5)
    responses = Runners.sync_run_task([task, stuck], killable.conf(worker_num=1))
    assert {response.status for response in responses.values()} == {"timeout"}
    children = [int(pid) for pid in note.read_text().split()]
    assert children
    until(lambda: not any(psutil.pid_exists(pid) for pid in children), 20)


def test_leaving_a_stream_early_ends_its_workers(killable):
    tasks = [Task(input=0.01 if i == 0 else 60, agent=workloads.wait) for i in range(8)]
    for response in Runners.stream_tasks(tasks, killable.conf()):
        assert response.success
        break
    until(lambda: not killable.worker_pids(), 20)


def test_leaving_an_async_stream_early_ends_its_workers(killable):
    async def first():
        tasks = [Task(input=0.01 if i == 0 else 60, agent=workloads.wait) for i in range(8)]
        async with Runners.stream_tasks(tasks, killable.conf()) as stream:
            async for response in stream:
                return response

    assert asyncio.run(first()).success
    until(lambda: not killable.worker_pids(), 20)


def test_a_stream_that_is_never_read_starts_nothing(killable):
    stream = Runners.stream_tasks([Task(input=1, agent=workloads.echo)], killable.conf())
    assert killable.worker_pids() == []
    stream.close()


def test_cancelling_an_awaited_run_keeps_what_has_finished(engine, monkeypatch):
    streams, stream_tasks = [], Runners.stream_tasks

    def noted(*args):
        streams.append(stream_tasks(*args))
        return streams[0]

    monkeypatch.setattr(Runners, "stream_tasks", noted)

    async def main():
        endless = [Task(input=600, agent=workloads.wait, id=str(i)) for i in range(4)]
        tasks = tasks_of(range(4)) + endless
        running = asyncio.create_task(Runners.run_task(tasks, engine.conf()))
        await asyncio.to_thread(until, lambda: streams and streams[0].counts.done == 4, 120)
        running.cancel()
        try:
            await running
        except asyncio.CancelledError as cancelled:
            return cancelled.responses

    responses = asyncio.run(main())
    assert [r.status for r in responses.values()] == ["success"] * 4 + ["cancelled"] * 4


def test_a_script_that_ends_in_the_middle_of_a_stream_leaves_nothing(start_script):
    driver = start_script(
        """
from aworld import *
from workloads import wait
stream = Runners.stream_tasks([Task(input=0.01 if i == 0 else 60, agent=wait) for i in range(8)])
print(next(stream).status, flush=True)
import psutil
print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)
"""
    )
    out, _ = driver.communicate(timeout=20)
    status, pids = out.splitlines()
    assert status == "success"
    assert pids
    until(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids.split()), 20)


def test_input_in_a_task_fails_instead_of_hanging(start_script):
    code = """
from aworld import *
response = Runners.sync_run(0, lambda _: input("your name? "))
print(response.status, response.error.kind)
"""
    driver = start_script(code)
    out, _ = driver.communicate(timeout=20)
    assert out.splitlines()[-1].endswith("failed EOFError")


@pytest.mark.slow
def test_a_hundred_thousand_tasks_from_a_generator_leave_memory_and_files_flat(killable):
    process = psutil.Process()

    def tasks():
        for i in range(100_000):
            yield Task(input="x" * 100, agent=workloads.echo, id=str(i))

    done = 0
    base_memory = base_files = 0
    grown_memory = grown_files = 0
    for response in Runners.stream_tasks(tasks(), killable.conf(tasks_per_worker=100)):
        assert response.success
        done += 1
        if done == 2_000:
            base_memory, base_files = process.memory_info().rss, process.num_fds()
        elif done % 5_000 == 0:
            grown_memory = max(grown_memory, process.memory_info().rss - base_memory)
            grown_files = max(grown_files, process.num_fds() - base_files)
    assert done == 100_000
    assert grown_memory < 50 << 20
    assert grown_files < 10  # a cluster's client may open one more


def test_a_killed_worker_group_does_not_take_the_driver_along(killable):
    """Workers lead groups of their own: killing one is not killing us."""

    async def group(_):
        return os.getpgid(0), os.getpid()

    response = Runners.sync_run(0, group, killable.conf(worker_num=1))
    assert response.answer[0] == response.answer[1] != os.getpgid(0)


def test_job_name_shows_in_the_process_list(killable):
    conf = killable.conf(worker_num=1, job_name="my-nightly-run")
    tasks = [Task(input=v, agent=workloads.wait) for v in (0.01, 1.0)]
    with Runners.stream_tasks(tasks, conf) as stream:
        next(stream)
        (pid,) = killable.worker_pids()
        assert "my-nightly-run" in psutil.Process(pid).cmdline()


def test_every_entry_point_takes_the_config():
    """A timeout tells whether it was heeded."""
    conf = RunConfig(worker_num=1, timeout=0.2)
    task = Task(input=30, agent=workloads.wait, id="t")
    assert Runners.sync_run(30, workloads.wait, conf).status == "timeout"
    assert asyncio.run(Runners.run(30, workloads.wait, conf)).status == "timeout"
    assert Runners.sync_run_task(task, conf)["t"].status == "timeout"
    assert asyncio.run(Runners.run_task([task], conf))["t"].status == "timeout"
    assert exec_tasks([task], conf)["t"].status == "timeout"
    assert [response.status for response in Runners.stream_tasks(task, conf)] == ["timeout"]
