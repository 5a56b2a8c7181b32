"""Makes tasks of rows: which column is which part of a task."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aworld.config import check_seconds, check_text
from aworld.core.task import Task
from aworld.errors import ConfigError, unknown_name
from aworld.sources.rows import Row

ALIASES = {  # looked for in this order, whatever their case
    "input": ("input", "instruction", "question", "prompt", "problem", "query", "messages"),
    "ground_truth": ("ground_truth", "answer", "target", "solution", "expected", "final_answer"),
    "id": ("id", "task_id", "qid", "uid"),
    "tools": ("tools",),
    "timeout": ("timeout",),
    "metadata": ("metadata",),
}


class Fields:
    """`chosen` says which column a field of a task is read from, or None: from none."""

    def __init__(self, chosen: Mapping[str, str | None] | None = None):
        self._chosen = dict(chosen or {})
        for field, column in self._chosen.items():
            if field not in ALIASES:
                raise ConfigError(unknown_name("field of a task", field, ALIASES))
            if column is not None and not isinstance(column, str):
                raise ConfigError(f"fields: {field!r} needs a column's name, got {column!r:.60}")

    def columns(self, present: Iterable[str], where: str) -> dict[str, str]:
        """The column of each field that has one. All others are for the metadata."""
        present = list(present)
        free = [column for column in present if column not in self._chosen.values()]
        # of two that differ in case alone, the one that is written like the alias
        known = {_folded(column): column for column in reversed(free)} | {c: c for c in free}
        found: dict[str, str] = {}
        for field, aliases in ALIASES.items():
            column = next((known[alias] for alias in aliases if alias in known), None)
            if field in self._chosen:
                column = self._chosen[field]
                if column is not None and column not in present:
                    raise ConfigError(f"{where}: {unknown_name('column', column, present)}")
            if column is not None:
                found[field] = column
        if "input" not in found:
            raise ConfigError(
                f"{where}: no column is known to be the input (columns: {', '.join(present)}); "
                "say which, as in --field input=question, or fields={'input': 'question'}"
            )
        return found


def tasks_of(rows: list[Row], fields: Fields, agent: Any, where: str) -> list[Task]:
    """A column means the same in all rows, also where some have no value in it."""
    if not rows:
        raise ConfigError(f"{where} holds no tasks")
    columns = fields.columns(dict.fromkeys(name for row in rows for name in row.values), where)
    places: dict[str, str] = {}
    tasks: list[Task] = []
    for row in rows:
        task = task_from(row, columns, agent)
        if task.has_given_id:
            earlier = places.setdefault(task.id, row.place)
            if earlier != row.place:
                raise ConfigError(f"{row.place}: {earlier} has the id {task.id!r}, too")
        tasks.append(task)
    return tasks


def task_from(row: Row, columns: Mapping[str, str], agent: Any) -> Task:
    values = {name: None if _is_nan(value) else value for name, value in row.values.items()}
    parts: dict[str, Any] = {}
    for field, column in columns.items():
        value = values.get(column)
        try:
            parts[field] = READ[field](value) if field in READ else value
        except (ValueError, ConfigError) as error:
            hint = ""
            if field == column:  # perhaps it only happens to be called so
                none = f"--field {field}= or fields={{{field!r}: None}}"
                hint = f" ({none} leaves it to the metadata)"
            raise ConfigError(f"{row.place}: column {column!r}: {error}{hint}") from None
    if parts["input"] is None:
        raise ConfigError(f"{row.place}: column {columns['input']!r}: there is no input")
    used = set(columns.values())
    rest = {name: value for name, value in values.items() if name not in used}
    metadata = parts.pop("metadata", {})
    twice = rest.keys() & metadata.keys()
    if twice:
        raise ConfigError(
            f"{row.place}: {min(twice)!r} is a column, and in the metadata, too: rename one, or "
            "leave the metadata in one piece with --field metadata=, or fields={'metadata': None}"
        )
    return Task(parts.pop("input"), agent, metadata={**metadata, **rest}, **parts)


def _folded(column: str) -> str:
    return re.sub(r"[\s-]+", "_", column.strip().lower())


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _read_id(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():  # where some rows have none, a table has
        value = int(value)  # floats in place of whole numbers
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"must be a text or a number, got {value!r:.60}")
    if value == "":
        raise ValueError("must not be empty: leave it out, or give null")
    check_text("an id", str(value))
    return str(value)


def _read_tools(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            value = json.loads(value)
        else:
            value = [name.strip() for name in value.split(",") if name.strip()]
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ValueError(f"must be a list of names, or names with commas, got {value!r:.60}")
    return value


def _read_timeout(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"must be a number of seconds, got {value!r:.60}") from None
    check_seconds("timeout", value, or_none=True)
    return value


def _read_metadata(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"must be an object like {{...}}, got {value!r:.60}")
    return value


READ: dict[str, Callable[[Any], Any]] = {
    "id": _read_id,
    "tools": _read_tools,
    "timeout": _read_timeout,
    "metadata": _read_metadata,
}
