"""Who takes part: the contenders, where each runs, and how each was used."""

from __future__ import annotations

from typing import NamedTuple

from environments import OURS, PLAIN

SIZES = (1, 32, 200, 800)
KILLED_SIZE = 200  # the number of tasks when a worker is killed
LOCAL, RAY, SPARK = "one machine", "Ray", "Spark"


class Contender(NamedTuple):
    name: str
    group: str  # we are compared with those of the same group
    environment: str
    script: str
    way: str  # the script's first argument
    used: str  # in words

    @property
    def ours(self) -> bool:
        return self.environment == OURS


CONTENDERS = (
    Contender("aworld", LOCAL, OURS, "by_us", "local", "2 workers, 50 tasks at once in each"),
    Contender("pool, 2", LOCAL, PLAIN, "by_pool", "2", "`ProcessPoolExecutor(2)`, `submit`"),
    Contender("pool, 32", LOCAL, PLAIN, "by_pool", "32", "`ProcessPoolExecutor(32)`, `submit`"),
    Contender("joblib, 32", LOCAL, "joblib", "by_joblib", "32", "loky, `n_jobs=32`, a generator"),
    Contender("dask", LOCAL, "dask", "by_dask", "-", "async tasks, 2 workers of 50 threads"),
    Contender(
        "PyPI aworld", LOCAL, "aworld-pypi", "by_aworld_pypi", "local", "all tasks in one process"
    ),
    Contender(
        "PyPI aworld, 32",
        LOCAL,
        "aworld-pypi",
        "by_aworld_pypi",
        "processes",
        "`reuse_process=False`, `worker_num=32`",
    ),
    Contender("aworld on Ray", RAY, OURS, "by_us", "ray", "2 workers, 50 tasks at once in each"),
    Contender("Ray tasks", RAY, "ray", "by_ray", "tasks", "a remote function, 2 CPUs"),
    Contender(
        "Ray actors",
        RAY,
        "ray",
        "by_ray",
        "actors",
        "2 async actors, `max_concurrency=50`, restarts and retries without end",
    ),
    Contender("PyPI aworld on Ray", RAY, "aworld-pypi", "by_aworld_pypi", "ray", "2 CPUs"),
    Contender("aworld on Spark", SPARK, OURS, "by_us", "spark", "2 workers, 50 tasks each at once"),
    Contender("Spark map", SPARK, "spark", "by_spark", "map", "`map`, `collect`, 2 partitions"),
    Contender(
        "Spark loops",
        SPARK,
        "spark",
        "by_spark",
        "loops",
        "`mapPartitions` with an event loop, 50 tasks at once in each of 2 partitions",
    ),
    Contender(
        "PyPI aworld on Spark",
        SPARK,
        "aworld-pypi",
        "by_aworld_pypi",
        "spark",
        "in a session of 2 cores; the one it opens itself has 1",
    ),
)
