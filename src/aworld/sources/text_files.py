"""Reads rows of JSONL, JSON and CSV. What is wrong is said with its line and column."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError
from aworld.sources.rows import Row, check_header

LARGEST_CELL = 2**31 - 1  # more does not fit on every platform
BOM = b"\xef\xbb\xbf"
CONSTANTS = {"NaN": None, "Infinity": math.inf, "-Infinity": -math.inf}


def read_jsonl(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        yield from read_lines(file, str(path))


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[Row]:
    """JSONL from anywhere; blank lines are skipped."""
    for number, line in enumerate(lines, 1):
        text = _decoded(line.removeprefix(BOM) if number == 1 else line, name, number)
        if text.strip():
            place = f"{name}:{number}"  # without its end: what breaks off there is on this line
            yield Row(place, _object(_json(text.rstrip(), name, number), place))


def read_json(path: Path) -> Iterator[Row]:
    entries = _json(_text(path), str(path), 1)
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
    return _decoded(path.read_bytes().removeprefix(BOM), str(path), 1)


def _decoded(data: bytes, name: str, line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line += before.count("\n")
        column = len(before) - before.rfind("\n")
        raise ConfigError(f"{name}:{line}:{column}: not UTF-8: save it as UTF-8") from None


def _json(text: str, name: str, line: int) -> Any:
    try:
        return json.loads(text, parse_constant=CONSTANTS.__getitem__)
    except json.JSONDecodeError as error:
        line += error.lineno - 1
        hint = ""
        if error.msg == "Extra data" and error.lineno > 1:
            hint = " (if each line is a task, name the file .jsonl)"
        raise ConfigError(f"{name}:{line}:{error.colno}: not JSON: {error.msg}{hint}") from None
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond Python's limits
        raise ConfigError(f"{name}:{line}: cannot be read: {error}") from None


def _object(entry: Any, place: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: a task is an object like {{...}}, got {entry!r:.60}")
    return entry
