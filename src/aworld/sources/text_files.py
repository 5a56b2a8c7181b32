"""Reads rows of JSONL, JSON and CSV. What is wrong is said with its line and column."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aworld.core.json_lines import decoded, json_lines, parsed
from aworld.errors import ConfigError
from aworld.sources.rows import Row, check_header

LARGEST_CELL = 2**31 - 1  # more does not fit on every platform
CONSTANT = {"NaN": None, "Infinity": math.inf, "-Infinity": -math.inf}.__getitem__


def read_jsonl(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from read_lines(file, str(path))


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[Row]:
    """JSONL from anywhere; blank lines are skipped."""
    for number, entry in json_lines(lines, name, CONSTANT):
        yield Row(f"{name}:{number}", _object(entry, f"{name}:{number}"))


def read_json(path: Path) -> Iterator[Row]:
    entries = parsed(_text(path), str(path), constant=CONSTANT)
    if not isinstance(entries, list):
        kind = type(entries).__name__
        raise ConfigError(f"{path}: a JSON file of tasks holds a list of objects, this is a {kind}")
    for index, entry in enumerate(entries):
        yield Row(f"{path}[{index}]", _object(entry, f"{path}[{index}]"))


def read_csv(path: Path) -> Iterator[Row]:
    """The first line names the columns. An empty cell is None, any other is text."""
    csv.field_size_limit(LARGEST_CELL)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    # strict: a quote that is never closed would swallow the rest of the file
    reader = csv.reader(io.StringIO(_text(path), newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    line = 1
    try:
        for cells in reader:
            if not header:
                header = cells
                check_header(header, f"{path}:{line}")
            elif cells:
                if len(cells) != len(header):
                    raise ConfigError(
                        f"{path}:{line}: {len(cells)} cells, but the header has {len(header)}"
                    )
                values = {name: cell or None for name, cell in zip(header, cells, strict=True)}
                yield Row(f"{path}:{line}", values)
            line = reader.line_num + 1  # a row may have several lines: where the next one begins
    except csv.Error as error:
        raise ConfigError(f"{path}:{line}: not CSV: {error}") from None


def _text(path: Path) -> str:
    return decoded(path.read_bytes(), str(path))


def _object(entry: Any, place: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: a task is an object like {{...}}, got {entry!r:.60}")
    return entry
