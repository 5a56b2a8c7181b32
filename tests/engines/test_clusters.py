"""Real clusters on this machine: nodes, executors and drivers die; nothing is lost or left."""

from __future__ import annotations

import os
import signal
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


@pytest.mark.slow
@pytest.mark.parametrize("code", [RAY_CLUSTER, SPARK_CLUSTER], ids=["ray node", "spark executor"])
def test_a_part_of_the_cluster_killed_in_the_middle_loses_and_doubles_nothing(code):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert "all 500 came back once" in done.stdout, done.stderr[-3000:]


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
