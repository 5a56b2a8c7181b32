"""Ray and Spark, opened in the same way for everybody who runs on them."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from stub import WORKERS


@contextmanager
def ray_opened() -> Iterator[Any]:
    import ray

    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.WARNING}
    ray.init("local", num_cpus=WORKERS, _node_ip_address="127.0.0.1", **quiet)
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def spark_opened() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Without the 4, one dead worker fails the whole job.
    builder = SparkSession.builder.master(f"local[{WORKERS},4]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session.sparkContext
    finally:
        session.stop()


def session_for(way: str) -> AbstractContextManager[Any]:
    """Of the cluster that this way to run needs, if any."""
    return {"ray": ray_opened, "spark": spark_opened}.get(way, nullcontext)()
