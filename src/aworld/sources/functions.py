"""Takes tasks from Python: from a function that gives them, or a list of them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterable, Collection, Iterable, Iterator, Mapping
from typing import Any

from aworld.core.plugins import load_object
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.sources.fields import Fields, task_from
from aworld.sources.queries import split_query
from aworld.sources.rows import Row


def python_tasks(source: str, fields: Fields, agent: Any) -> Iterable[Task]:
    """What can be counted is read at once; a generator is read as the run goes on."""
    spec, options = split_query(source)
    given = load_object(spec)
    if callable(given) and not isinstance(given, Iterable):
        check_arguments(given, options, spec)
        given = given(**options)
    elif options:
        raise ConfigError(f"{source!r}: {spec} is no function: it takes no options")
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        hint = ": make it a plain generator" if isinstance(given, AsyncIterable) else ""
        kind = type(given).__name__
        raise ConfigError(f"{spec!r} must give a list or generator of tasks, got a {kind}{hint}")
    tasks = _tasks(given, spec, fields, agent)
    if not isinstance(given, Collection):
        return tasks
    if not given:
        raise ConfigError(f"{spec!r} holds no tasks")
    return list(tasks)


def check_arguments(function: Any, options: dict[str, Any], spec: str) -> None:
    try:
        inspect.signature(function).bind(**options)
    except TypeError as error:
        raise ConfigError(f"{spec!r} cannot be called: {error}") from None
    except ValueError:  # built in: it does not say what it takes
        pass


def _tasks(given: Iterable[Any], spec: str, fields: Fields, agent: Any) -> Iterator[Task]:
    columns: dict[tuple[str, ...], dict[str, str]] = {}
    for position, entry in enumerate(given):
        if isinstance(entry, Task):
            yield _with_agent(entry, agent)
            continue
        place = f"{spec}[{position}]"
        if not isinstance(entry, Mapping) or not all(isinstance(name, str) for name in entry):
            raise ConfigError(f"{place}: give a Task, or a dict of its fields, not {entry!r:.60}")
        names = tuple(entry)
        if names not in columns:
            columns[names] = fields.columns(names, place)
        yield task_from(Row(place, dict(entry)), columns[names], agent)


def _with_agent(task: Task, agent: Any) -> Task:
    """Its own one goes first."""
    if task.agent is not None or agent is None:
        return task
    task = copy.copy(task)
    task.agent = agent
    return task
