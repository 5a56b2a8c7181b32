"""A row of a source, and where it stands: for the messages about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from aworld.errors import ConfigError


class Row(NamedTuple):
    place: str  # 'tasks.jsonl:17', 'tasks.parquet[16]'
    values: dict[str, Any]


def check_header(columns: Iterable[str], place: str) -> None:
    seen: set[str] = set()
    for column in columns:
        if column in seen:
            raise ConfigError(f"{place}: two columns are called {column!r}: rename one")
        seen.add(column)
