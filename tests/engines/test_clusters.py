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
conf = RunConfig(
    engine_name="spark", address="local-cluster[2,1,1024]", worker_num=2, tasks_per_worker=4
)
tasks = [Task(input=0.1, agent=wait, id=str(i)) for i in range(500)]
seen = Counter()
for response in Runners.stream_tasks(tasks, conf):
    seen[response.id, response.status] += 1
    if sum(seen.values()) == 100:
        executors = [
            process
            for process in psutil.Process().children(recursive=True)
            if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline())
        ]
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
    return number, os.getppid()  # the actor's process

def no():
    raise LookupError("no such thing")

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


def run_script(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
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


OUTSIDE = """
import os, sys
from collections import Counter
from aworld import *
from workloads import die, echo, wait
conf = RunConfig(engine_name="ray", address=sys.argv[1], worker_num=2, tasks_per_worker=20)
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
try:
    import ray
    ray.init(sys.argv[1])
    Runners.sync_run(1, echo, RunConfig(engine_name="ray", address="ray://127.0.0.2:1"))
except ConfigError as error:
    assert "already, not to ray://127.0.0.2:1" in str(error)
    print("all came back once", flush=True)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.2", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.slow
def test_a_driver_outside_the_cluster_is_reached_through_ray_client():
    port, client_port = free_port(), free_port()
    head = f"ray start --head --block --node-ip-address=127.0.0.2 --port={port} --num-cpus=2"
    head += f" --include-dashboard=false --ray-client-server-port={client_port}"
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
    cluster = subprocess.Popen(
        f"{Path(sys.executable).parent}/{head}".split(),
        env={**os.environ, **token},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        done = run_script(
            OUTSIDE.replace("sys.argv[1]", f"'ray://127.0.0.2:{client_port}'"), **token
        )
        assert "all came back once" in done.stdout, done.stderr[-3000:]
    finally:
        cluster.terminate()
        cluster.wait(30)


DRIVER = """
import sys
from aworld import *
from workloads import block
conf = RunConfig(engine_name=sys.argv[1], job_name=sys.argv[2], worker_num=2, tasks_per_worker=2)
Runners.sync_run_task([Task(input="|" + how, agent=block) for how in ("await", "gil") * 2], conf)
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
def test_a_driver_that_ends_leaves_no_worker_in_the_cluster(name, how):
    job_name = f"job-{uuid.uuid4().hex}"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, name, job_name],
        cwd=HERE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while len(workers_of(job_name)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(workers_of(job_name)) == 2
        driver.send_signal(how)
        deadline = time.monotonic() + 5
        while workers_of(job_name) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert workers_of(job_name) == []
        driver.wait(30)
    finally:
        driver.kill()
        driver.wait()
