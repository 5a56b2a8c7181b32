"""JSON Lines, or JSON, that a user has written. What is wrong is said with its line and column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aworld.errors import ConfigError

BOM = b"\xef\xbb\xbf"
Constant = Callable[[str], Any]  # what NaN, Infinity and -Infinity stand for


def json_lines(
    lines: Iterable[bytes], name: str, constant: Constant | None = None
) -> Iterator[tuple[int, Any]]:
    """What each line says, and its number; blank lines are skipped."""
    for number, line in enumerate(lines, 1):
        text = decoded(line, name, number)
        if text.strip():
            # without its end: what breaks off there is on this line
            yield number, parsed(text.rstrip(), name, number, constant)


def decoded(data: bytes, name: str, line: int = 1) -> str:
    """From this line on. A mark may stand before it: also inside, where files were put together."""
    data = data.removeprefix(BOM)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line += before.count("\n")
        column = len(before) - before.rfind("\n")
        raise ConfigError(f"{name}:{line}:{column}: not UTF-8: save it as UTF-8") from None


def parsed(text: str, name: str, line: int = 1, constant: Constant | None = None) -> Any:
    try:
        return json.loads(text, parse_constant=constant)
    except json.JSONDecodeError as error:
        line += error.lineno - 1
        hint = ""
        if error.msg == "Extra data" and error.lineno > 1:
            hint = " (if each line is one of many, name the file .jsonl)"
        raise ConfigError(f"{name}:{line}:{error.colno}: not JSON: {error.msg}{hint}") from None
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond Python's limits
        raise ConfigError(f"{name}:{line}: cannot be read: {error}") from None
