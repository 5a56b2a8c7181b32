"""The engines under test: how to ask for each of them, and how to find its workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

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
