"""`--dry-run`: what would run, with everything checked that can be, and nothing started."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli.job import Job, where_it_asks
from aworld.cli.output import console, print_json
from aworld.core.shown import harmless, shortened
from aworld.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from aworld.core.task import Task

LONGEST_PROMPT = 2_000


def tell(job: Job, *, as_json: bool) -> None:
    first, count = _looked_at(job)
    check_place(job.folder)
    plan = _plan(job, first, count)
    if as_json:
        given = first.id if first.has_given_id else None
        print_json({**plan, "first_task": {"id": given, "input": first.input}})
    else:
        print_plan(plan, first=first)


def print_plan(plan: Mapping[str, Any], *, first: Task | None = None) -> None:
    """For a person; with the first task, where it is worth showing."""
    screen, width = console(), max(map(len, plan))
    for key, value in plan.items():
        said = "-" if value is None else harmless(str(value))
        screen.print(f"{key.replace('_', ' '):{width}}  {said}")
    if first is not None:
        screen.print("\nthe first task:")
        screen.print(shortened(harmless(first.to_prompt(), lines=True), LONGEST_PROMPT))
    screen.print("\nall that can be checked is in order; nothing was started or written")


def _looked_at(job: Job) -> tuple[Task, int | None]:
    """The first task, and how many there are. All that can be counted is checked by the run's own
    rules; of a generator only the first."""
    from aworld.stream import TaskStream

    tasks = job.tasks if isinstance(job.tasks, list) else list(itertools.islice(job.tasks, 1))
    if not tasks:
        raise ConfigError("there are no tasks")
    TaskStream(tasks, job.conf).close()
    return tasks[0], len(tasks) if isinstance(job.tasks, list) else None


def _plan(job: Job, first: Task, count: int | None) -> dict[str, Any]:
    from aworld.engines.base import cpu_count

    conf = job.conf
    workers = cpu_count() if conf.worker_num is None else conf.worker_num
    return {
        "engine": str(conf.cls or conf.engine_name),
        "address": conf.address,
        "workers": workers,
        "tasks_per_worker": conf.tasks_per_worker,
        "tasks": count if count is not None else "a generator",
        "samples": conf.samples,
        "rollouts": None if count is None else count * conf.samples,
        "agent": job.command.get("agent"),
        "model_calls": where_it_asks(first.agent),
        "reward": ", ".join(job.command.get("reward", ())) or None,
        "timeout": conf.timeout,
        "max_tokens": conf.max_tokens,
        "max_cost": conf.max_cost,
        "folder": str(job.folder),
    }


def check_place(folder: Path) -> None:
    """Whether a folder could be made there."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise StoreError(f"{folder} cannot be made: {place} cannot be written to")
