"""Ray and Spark as they are used without aworld: what our engines on them are measured against."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import workloads
from measuring import Timing, timed, wait_for_all_workers
from workloads import WORKERS, who_works

from aworld import RunConfig
from aworld.engines import open_engine
from aworld.errors import ConfigError

RAY_SCRIPT = """
import logging, ray
ray.init("local", num_cpus=1, include_dashboard=False, logging_level=logging.WARNING)
@ray.remote
def task(value):
    return abs(value)
assert ray.get(task.remote(-1)) == 1
ray.shutdown()
"""
SPARK_SCRIPT = """
import os, sys
from pyspark.sql import SparkSession
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
builder = SparkSession.builder.master("local[1,4]").config("spark.ui.enabled", "false")
builder = builder.config("spark.ui.showConsoleProgress", "false")
for key in ("spark.driver.host", "spark.driver.bindAddress"):
    builder = builder.config(key, "127.0.0.1")
session = builder.getOrCreate()
assert session.sparkContext.parallelize([-1], 1).map(abs).collect() == [1]
session.stop()
"""
SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # collecting 1 GB takes several times as much, and is refused beyond 1 GB by default
    "spark.driver.memory": "6g",
    "spark.driver.maxResultSize": "0",
}


ByHand = Callable[[Callable[[Any], Any], Sequence[Any]], Timing]  # runs a function over values


class Cluster(NamedTuple):
    name: str
    opened: Callable[[], AbstractContextManager[None]]
    small: dict[str, ByHand]  # the usual ways to do it, for small results
    large: dict[str, ByHand]
    fresh_script: str  # starts it and runs one task

    def missing(self) -> str:
        """What has to be installed for it; nothing, when all is there."""
        try:
            open_engine(RunConfig(engine_name=self.name))
        except ConfigError as error:
            return str(error)
        has_java = bool(os.environ.get("JAVA_HOME")) or shutil.which("java") is not None
        return "Spark needs Java 17 or later" if self.name == "spark" and not has_java else ""


def is_there(value: object) -> bool:
    return value is not None


# -- Ray -----------------------------------------------------------------------------------------


@contextmanager
def ray_opened() -> Iterator[None]:
    import ray

    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.WARNING}
    ray.init("local", num_cpus=WORKERS, _node_ip_address="127.0.0.1", **quiet)
    try:
        yield
    finally:
        ray.shutdown()


def warm_ray_task(function: Callable[[Any], Any], value: Any) -> Any:
    """The function as a remote one, known to the workers."""
    import ray

    # the actors of an engine that was just closed may still hold their CPUs
    who: Any = ray.remote(who_works)
    wait_for_all_workers(lambda: ray.get([who.remote(0.05) for _ in range(4 * WORKERS)]))
    task: Any = ray.remote(function)
    ray.get([task.remote(value) for _ in range(4 * WORKERS)])
    return task


def ray_get(function: Callable[[Any], Any], values: Sequence[Any]) -> Timing:
    import ray

    task = warm_ray_task(function, values[0])
    return timed(len(values), lambda: ray.get([task.remote(value) for value in values]), is_there)


def ray_wait(function: Callable[[Any], Any], values: Sequence[Any]) -> Timing:
    import ray

    task = warm_ray_task(function, values[0])

    def start() -> Iterator[Any]:
        refs = [task.remote(value) for value in values]
        while refs:
            done, refs = ray.wait(refs, num_returns=min(20, len(refs)))
            yield from ray.get(done)

    return timed(len(values), start, is_there)


# -- Spark ---------------------------------------------------------------------------------------


@contextmanager
def spark_opened() -> Iterator[None]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("benchmarks").master(f"local[{WORKERS},4]")
    for key, value in SPARK_SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.sparkContext.addPyFile(workloads.__file__)
    try:
        yield
    finally:
        session.stop()


def spark_collect(
    function: Callable[[Any], Any], values: Sequence[Any], partitions: int = WORKERS
) -> Timing:
    from pyspark import SparkContext

    context = SparkContext.getOrCreate()
    questions = context.parallelize([0.05] * WORKERS, WORKERS)
    wait_for_all_workers(lambda: questions.map(who_works).collect())

    def start() -> list[Any]:
        rows = context.parallelize(values, partitions)
        return rows.mapPartitions(lambda part: map(function, part)).collect()

    return timed(len(values), start, is_there)


CLUSTERS = (
    Cluster(
        "ray",
        ray_opened,
        small={"ray.get on all": ray_get},
        large={"ray.get on all": ray_get, "ray.wait for 20, ray.get": ray_wait},
        fresh_script=RAY_SCRIPT,
    ),
    Cluster(
        "spark",
        spark_opened,
        # As many partitions as workers: more only add overhead,
        small={"collect": spark_collect},
        # unless the results of each are so large that Java has trouble to hold them in one piece.
        large={"collect": partial(spark_collect, partitions=5 * WORKERS)},
        fresh_script=SPARK_SCRIPT,
    ),
)
