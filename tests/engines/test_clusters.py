"""Real clusters on this machine: nodes, executors and drivers die; nothing is lost or left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

HERE = Path(__file__).parent

RAY_CLUSTER = """
from collections import Counter
import ray
from ray.cluster_utils import Cluster
from aworld import *
from workloads import wait
head = {"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.2"}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.add_node(num_cpus=1, node_ip_address=f"127.0.0.{n}") for n in (3, 4)]
ray.init(cluster.address, _node_ip_address="127.0.0.2")
conf = RunConfig(engine_name="ray", worker_num=3, tasks_per_worker=4)
tasks = [Task(input=0.1, agent=wait, id=str(i)) for i in range(500)]
seen = Counter()
for response in Runners.stream_tasks(tasks, conf):
    seen[response.id, response.status] += 1
    if sum(seen.values()) == 100:
        cluster.remove_node(nodes[0], allow_graceful=False)
assert seen == Counter((str(i), "success") for i in range(500)), seen
print("all 500 came back once", flush=True)
ray.shutdown()
cluster.shutdown()
"""

SPARK_CLUSTER = """
from collections import Counter
import psutil
from aworld import *
from workloads import wait

def is_executor(process):
    try:
        return "CoarseGrainedExecutorBackend" in " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return False

conf = RunConfig(
    engine_name="spark", address="local-cluster[2,1,1024]", worker_num=2, tasks_per_worker=4
)
tasks = [Task(input=0.1, agent=wait, id=str(i)) for i in range(500)]
seen = Counter()
for response in Runners.stream_tasks(tasks, conf):
    seen[response.id, response.status] += 1
    if sum(seen.values()) == 100:
        executors = list(filter(is_executor, psutil.Process().children(recursive=True)))
        assert len(executors) == 2, executors
        executors[0].kill()
assert seen == Counter((str(i), "success") for i in range(500)), seen
print("all 500 came back once")
"""

RAY_NODES = """
import asyncio, os
import ray
from ray.cluster_utils import Cluster
from aworld import *
head = {"num_cpus": 1, "include_dashboard": False, "node_ip_address": "127.0.0.2"}
cluster = Cluster(initialize_head=True, head_node_args=head)
nodes = [cluster.add_node(num_cpus=1, node_ip_address=f"127.0.0.{n}") for n in (3, 4)]
ray.init(cluster.address, _node_ip_address="127.0.0.2")

def refused(*names):
    try:
        RemoteNodeExecutor(names)
    except ConfigError as error:
        return str(error)

assert "no node is called '127.0.0.9'; known: 127.0.0.2 (" in refused("127.0.0.9")
assert "named twice" in refused("127.0.0.2", "127.0.0.2")
assert "nodes is empty" in refused()

async def where(number):
    await asyncio.sleep(0.2)
    return number, os.getppid()  # the process of Ray's that guards it

def no():
    raise LookupError("no such thing")

def raise_engine_error():
    raise EngineError("mine")

async def main():
    async with RemoteNodeExecutor(["127.0.0.2", "127.0.0.3", "127.0.0.4"]) as executor:
        ids = [await executor.submit_to_least_loaded(where, n) for n in range(300)]
        assert executor.node_load == {"127.0.0.2": 100, "127.0.0.3": 100, "127.0.0.4": 100}
        first = [await executor.result(task_id) for task_id in ids[:30]]
        cluster.remove_node(nodes[0], allow_graceful=False)
        rest = [await executor.result(task_id) for task_id in ids[30:]]
        assert [number for number, _ in first + rest] == list(range(300))
        assert len({place for _, place in first}) == 3
        assert executor.node_load == {"127.0.0.2": 0, "127.0.0.4": 0}
        slow = await executor.submit_to_least_loaded(where, 7)
        try:
            await asyncio.wait_for(executor.result(slow), 0.01)
        except TimeoutError:
            assert (await executor.result(slow))[0] == 7  # only the wait was given up
        mine = await executor.submit_to_least_loaded(raise_engine_error)
        try:
            await executor.result(mine)
        except EngineError as error:
            assert str(error) == "mine"
        assert len(executor.node_load) == 2  # that was no fault of a node's
        bad = await executor.submit_to_least_loaded(no)
        while not (results := executor.collect_results()):
            await asyncio.sleep(0.01)
        assert results == {bad: {"success": False, "error": "LookupError: no such thing"}}

asyncio.run(main())
assert "no node is called '127.0.0.3'" in refused("127.0.0.3")
print("all 300 came back once", flush=True)
ray.shutdown()
cluster.shutdown()
"""


def run_script(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **environment},
    )


@pytest.mark.slow
@pytest.mark.parametrize("code", [RAY_CLUSTER, SPARK_CLUSTER], ids=["ray node", "spark executor"])
def test_a_part_of_the_cluster_killed_in_the_middle_loses_and_doubles_nothing(code):
    done = run_script(code)
    assert "all 500 came back once" in done.stdout, done.stderr[-3000:]


@pytest.mark.slow
def test_calls_go_to_the_node_with_the_least_to_do_and_survive_its_death():
    done = run_script(RAY_NODES)
    assert "all 300 came back once" in done.stdout, done.stderr[-3000:]


TWO_AT_ONCE = """
import sys, threading
from aworld import *
from workloads import wait

def conf(workers):
    return RunConfig(engine_name=sys.argv[1], worker_num=workers)

done = []
def run(workers):
    tasks = [Task(input=0.1, agent=wait) for _ in range(30)]
    done.append(sum(r.success for r in Runners.sync_run_task(tasks, conf(workers)).values()))

threads = [threading.Thread(target=run, args=(workers,)) for workers in (1, 2, 1)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert done == [30, 30, 30], done
first = DistributedExecutor(run_conf=conf(2))
assert first.submit(abs, -1).result() == 1
second = DistributedExecutor(run_conf=conf(1))
assert second.submit(abs, -2).result() == 2
first.shutdown()
assert second.submit(abs, -3).result() == 3  # the cluster is closed by its last user
second.shutdown()
print("all came back")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ray", "spark"])
def test_runs_beside_each_other_share_the_embedded_cluster(name):
    done = run_script(TWO_AT_ONCE, name)
    assert "all came back" in done.stdout, done.stderr[-3000:]


OUTSIDE = """
import sys
from collections import Counter
import ray
from aworld import *
from workloads import die, echo, wait
address = sys.argv[1]
conf = RunConfig(engine_name="ray", address=address, worker_num=2, tasks_per_worker=20)
tasks = [
    *(Task(input=n, agent=echo, id=f"echo {n}") for n in range(500)),
    *(Task(input=0.2, agent=wait, id=f"wait {n}") for n in range(50)),
    *(Task(input=bytes(1 << 20), agent=echo, id=f"large {n}") for n in range(20)),
    Task(input="exit", agent=die, id="poison"),
]
seen = Counter((r.id, r.status) for r in Runners.stream_tasks(tasks, conf))
assert seen.pop(("poison", "crashed")) == 1
assert seen == Counter((task.id, "success") for task in tasks[:-1]), seen
with DistributedExecutor(run_conf=conf) as executor:
    assert executor.submit(abs, -1).result() == 1
ray.init(address)
while ray.available_resources().get("CPU") != 2:  # nothing of ours is left
    pass
try:
    Runners.sync_run(1, echo, RunConfig(engine_name="ray", address="ray://127.0.0.2:1"))
except ConfigError as error:
    assert "already, not to ray://127.0.0.2:1" in str(error)
    print("all came back once", flush=True)
"""


def free_ports() -> tuple[int, int]:
    with socket.create_server(("", 0)) as one, socket.create_server(("", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]


def wait_until_listening(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.2", port)).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "it never listened"
            time.sleep(0.1)


@pytest.mark.slow
def test_a_driver_outside_the_cluster_is_reached_through_ray_client():
    port, client_port = free_ports()
    head = f"ray start --head --block --node-ip-address=127.0.0.2 --port={port} --num-cpus=2"
    head += f" --include-dashboard=false --ray-client-server-port={client_port}"
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
    cluster = subprocess.Popen(
        f"{Path(sys.executable).parent}/{head}".split(),
        env={**os.environ, **token},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert cluster.stdout is not None
        assert any("Ray runtime started" in line for line in cluster.stdout)
        wait_until_listening(client_port)  # that comes a little later
        done = run_script(OUTSIDE, f"ray://127.0.0.2:{client_port}", **token)
        assert "all came back once" in done.stdout, done.stderr[-3000:]
    finally:
        cluster.terminate()
        cluster.communicate(timeout=30)


DRIVER = """
import sys
from aworld import *
from workloads import block
name, job_name, folder = sys.argv[1:]
conf = RunConfig(engine_name=name, job_name=job_name, worker_num=2, tasks_per_worker=1)
tasks = [Task(input=f"{folder}/{how}|{how}", agent=block) for how in ("await", "gil")]
Runners.sync_run_task(tasks, conf)
"""


def workers_of(job_name: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        if job_name in command and any(part.startswith("aworld-worker-") for part in command):
            found.append(process)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "sigkill"])
@pytest.mark.parametrize("name", ["ray", "spark"])
def test_a_driver_that_ends_leaves_no_worker_in_the_cluster(name, how, tmp_path):
    job_name = f"job-{uuid.uuid4().hex}"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, name, job_name, tmp_path],
        cwd=HERE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(workers_of(job_name)) == 2
        driver.send_signal(how)
        deadline = time.monotonic() + 30
        while workers_of(job_name) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert workers_of(job_name) == []
        driver.wait(30)
    finally:
        driver.kill()
        driver.wait()
