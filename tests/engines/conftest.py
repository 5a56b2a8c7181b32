"""Runs every test on every engine. Your own: pytest tests/engines --engine my_pkg.MyEngine"""

from __future__ import annotations

import os
import sys
import time

import pytest
from engines_under_test import IN_PROCESSES, IN_THREADS, EngineUnderTest


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
