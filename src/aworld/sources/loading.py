"""Finds out what kind of source is meant, and loads the tasks from it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from aworld.config import check_count
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.sources.fields import Fields, tasks_of
from aworld.sources.files import read_file
from aworld.sources.folders import read_folder
from aworld.sources.functions import python_tasks
from aworld.sources.rows import Row
from aworld.sources.text_files import read_lines

GENERATED = ("rg:", "env:", "gym:")
STDIN = "<stdin>"


def load_tasks(
    source: str | Path,
    agent: Any = None,
    *,
    fields: Mapping[str, str | None] | None = None,
    split: str | None = None,
    limit: int | None = None,
) -> Iterable[Task]:
    """The tasks of a source, for the agent.

    source  a file (.jsonl, .json, .csv, .tsv, .parquet), a dataset's folder ('folder#split'), '-'
            for JSONL on standard input, 'module:function' or 'file.py:function' for a Python
            generator or list, 'rg:dataset?size=20&seed=1' for puzzles of reasoning-gym,
            'env:module:function?size=20&seed=1' or 'gym:FrozenLake-v1?size=20' for environments
    fields  which column is which: {"input": "question", "ground_truth": "answer", "id": "qid"};
            None in place of a column: it has none. The usual names are found without
    split   which part of a dataset's folder
    limit   no more than these many tasks: what comes after them is not read

    A list, read and checked to its end before anything is spent; of a generator, a generator.
    Columns that are no field of a task are in its `metadata`.
    """
    if not isinstance(source, (str, Path)) or not str(source):
        raise ConfigError(f"a source of tasks is a path or a str, got {source!r:.80}")
    if limit is not None:
        check_count("limit", limit, least=1)
    chosen = Fields(fields)
    name = str(source)
    if isinstance(source, str) and source.startswith(GENERATED):
        _refuse(name, fields=fields, split=split)
        return _generated(source, agent, limit)
    path, split = _path_and_split(name, split)
    if isinstance(source, str) and ":" in source and not path.exists():
        _refuse(name, split=split)
        tasks = python_tasks(source, chosen, agent)
        return tasks[:limit] if isinstance(tasks, list) else islice(tasks, limit)
    try:
        rows = list(islice(_rows(source, path, split), limit))
        return tasks_of(rows, chosen, agent, STDIN if source == "-" else name)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror or error}") from error


def _path_and_split(name: str, split: str | None) -> tuple[Path, str | None]:
    place, mark, named = name.rpartition("#")
    if not mark or Path(name).exists():
        return Path(name), split
    if split is not None and split != named:
        raise ConfigError(f"{name!r} and the split {split!r} name two splits: leave one out")
    return Path(place), named


def _rows(source: str | Path, path: Path, split: str | None) -> Iterator[Row]:
    if path.is_dir():
        return read_folder(path, split)
    _refuse(str(path), split=split)
    if source == "-":
        return read_lines(sys.stdin.buffer, STDIN)
    if not path.exists():
        raise ConfigError(f"there is no file or folder '{path}'")
    return read_file(path)


def _generated(source: str, agent: Any, limit: int | None) -> list[Task]:
    kind, _, spec = source.partition(":")
    if kind == "rg":
        from aworld.sources.puzzles import puzzle_tasks

        return puzzle_tasks(spec, agent, limit)
    from aworld.sources import environments  # agents that play are not needed otherwise

    make = environments.environment_tasks if kind == "env" else environments.gymnasium_tasks
    return make(spec, agent)[:limit]


def _refuse(name: str, **given: Any) -> None:
    for option, value in given.items():
        if value is not None:
            raise ConfigError(f"{name!r} has no {option}: leave it out")
