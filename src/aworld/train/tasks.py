"""The tasks of a training: checked, and each with an id that stays."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aworld.core.task import Task
from aworld.errors import ConfigError


def listed_tasks(tasks: Any, fields: Mapping[str, str | None] | None = None) -> list[Task]:
    """Each with an id that is the same when the training is resumed. Of an environment that is
    named, each is played; by whom, the training says."""
    none = "there are no tasks"
    if isinstance(tasks, (str, Path)):
        from aworld.sources import load_tasks

        none = f"{tasks} holds no tasks"
        tasks = map(_unclaimed, load_tasks(tasks, to_be_trained, fields=fields))
    if isinstance(tasks, Task):
        tasks = [tasks]
    if not isinstance(tasks, Iterable):
        raise ConfigError(f"tasks must be a list of tasks or the path of one, got {tasks!r:.80}")
    listed = list(tasks)
    for place, task in enumerate(listed):
        if not isinstance(task, Task):
            raise ConfigError(f"tasks[{place}] is a {type(task).__name__}: give a Task")
    if not listed:
        raise ConfigError(none)
    named = [_with_id(task, number) for number, task in enumerate(listed, start=1)]
    _check_ids(named)
    return named


async def to_be_trained(question: Any) -> Any:
    """Stands for the agent until there is a model for it."""
    raise TypeError("this one is never asked")


def _unclaimed(task: Task) -> Task:
    if task.agent is to_be_trained:
        task = copy.copy(task)
        task.agent = None
    return task


def _with_id(task: Task, number: int) -> Task:
    """By its place, where it has none."""
    if task.has_given_id:
        return task
    task = copy.copy(task)
    task.id, task.has_given_id = f"task-{number}", True
    return task


def _check_ids(tasks: Iterable[Task]) -> None:
    places: dict[str, int] = {}
    for place, task in enumerate(tasks):
        earlier = places.setdefault(task.id, place)
        if earlier != place:
            raise ConfigError(
                f"two tasks have the id {task.id!r:.80}, at {earlier} and {place}: give each its "
                "own id, or none"
            )
