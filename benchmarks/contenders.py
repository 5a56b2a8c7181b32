"""aworld, wherever it runs: the bare engine, and the whole public path."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from measuring import Timing, timed, wait_for_all_workers
from workloads import WORKERS, engine_who_works

from aworld import RunConfig, Runners, Task, TaskResponse
from aworld.engines import open_engine
from aworld.engines.base import Function, Item, Outcome, RuntimeEngine
from aworld.stream import TaskStream

FRESH_SCRIPT = """
from aworld import RunConfig, Runners
async def agent(value):
    return abs(value)
conf = RunConfig(engine_name={engine!r}, worker_num=1)
assert Runners.sync_run(-1, agent, conf).answer == 1
"""


def config(engine: str = "local", tasks_per_worker: int = 100) -> RunConfig:
    return RunConfig(engine_name=engine, worker_num=WORKERS, tasks_per_worker=tasks_per_worker)


@contextmanager
def warm_engine(conf: RunConfig) -> Iterator[RuntimeEngine]:
    with open_engine(conf) as engine:
        questions = [Item(0.05) for _ in range(4 * WORKERS)]
        wait_for_all_workers(
            lambda: [outcome.value for outcome in engine.run(engine_who_works, questions)]
        )
        yield engine


def through_engine(function: Function, values: Sequence[Any], conf: RunConfig) -> Timing:
    items = (Item(value) for value in values)
    with warm_engine(conf) as engine:
        return timed(len(values), lambda: engine.run(function, items), succeeded)


def through_runners(agent: Any, values: Sequence[Any], conf: RunConfig) -> Timing:
    """The whole public path: making the tasks, starting and ending the workers included."""

    def start() -> list[TaskResponse]:
        tasks = [Task(input=value, agent=agent) for value in values]
        return list(Runners.sync_run_task(tasks, conf).values())

    return timed(len(values), start, succeeded)


def recorded(agent: Any, values: Sequence[Any], conf: RunConfig) -> Timing:
    """The whole public path, and every result durable before it is in hand."""
    with tempfile.TemporaryDirectory() as folder:
        return through_runners(agent, values, replace(conf, run_dir=Path(folder) / "run"))


def streamed(agent: Any, values: Sequence[Any], conf: RunConfig) -> Timing:
    """The public path again, but no response is kept."""

    def start() -> TaskStream:
        tasks = [Task(input=value, agent=agent) for value in values]
        return Runners.stream_tasks(tasks, conf)

    return timed(len(values), start, succeeded)


def succeeded(result: Outcome | TaskResponse) -> bool:
    return result.status == "success"
