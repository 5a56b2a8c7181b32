"""The engines under test. To test your own: pytest tests/engines --engine my_pkg.MyEngine"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from aworld import RunConfig


@dataclass(frozen=True)
class EngineUnderTest:
    """How to ask for an engine, and how to find its workers."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[], None] = lambda: None  # opens the cluster that its tests share
    kill_every: float = 0.5  # seconds: how fast its workers may be killed and replaced

    def conf(self, **changes: Any) -> RunConfig:
        self.prepare()
        return RunConfig(**{"worker_num": 2, **self.settings, **changes})

    def worker_pids(self) -> list[int]:
        """The worker processes that belong to this process."""
        found = []
        for process in psutil.Process().children(recursive=True):
            try:
                if any(part.startswith("aworld-worker-") for part in process.cmdline()):
                    found.append(process.pid)
            except psutil.Error:
                pass
        return found


def open_ray() -> None:
    import ray

    if not ray.is_initialized():
        here = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        ray.init("local", num_cpus=8, log_to_driver=False, **here)


def open_spark() -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master("local[8,4]").config("spark.ui.enabled", "false")
    for key in ("spark.driver.host", "spark.driver.bindAddress"):
        session = session.config(key, "127.0.0.1")
    session.getOrCreate()


IN_PROCESSES = {
    "local": EngineUnderTest("local"),
    "ray": EngineUnderTest("ray", {"engine_name": "ray"}, open_ray),
    "spark": EngineUnderTest("spark", {"engine_name": "spark"}, open_spark),
}
IN_THREADS = {"in-process": EngineUnderTest("in-process", {"reuse_process": True})}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine", action="append", default=[], help="dotted path of an engine to test instead"
    )
    parser.addoption("--unkillable", action="store_true", help="its workers are no processes")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`engine`: all of them. `killable`: those whose workers are processes that can be killed."""
    paths = metafunc.config.getoption("--engine")
    own = {path: EngineUnderTest(path, {"cls": path}) for path in paths}
    own_killable = {} if metafunc.config.getoption("--unkillable") else own
    for fixture, engines in (
        ("engine", own or {**IN_PROCESSES, **IN_THREADS}),
        ("killable", own_killable if own else IN_PROCESSES),
    ):
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, engines.values(), ids=engines.keys())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Clusters last: once one is open, this process has threads and files that are not ours."""
    items.sort(key=opens_a_cluster)


def opens_a_cluster(item: pytest.Item) -> bool:
    return any(word in item.nodeid for word in ("ray", "spark", "same_everywhere", "clusters"))


@pytest.fixture(autouse=True)
def no_leftovers(request):
    """After every test: no worker process and no open file or socket of ours is left."""
    before = open_files()
    yield
    if opens_a_cluster(request.node):
        before = sys.maxsize
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        left = EngineUnderTest("").worker_pids()
        after = open_files()
        if not left and after <= before + 1:
            return
        time.sleep(0.01)
    pytest.fail(f"left behind: workers {left}, {after - before} open files")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
