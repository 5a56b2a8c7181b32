"""Values as plain data, for JSON."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any


def as_json(value: Any) -> Any:
    """One step towards JSON, for what json itself does not know: `json.dumps(..., default=...)`."""
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    return str(value)


def printable(text: str) -> str:
    """Lone surrogates could be neither sent nor stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def plain(value: Any) -> Any:
    """The same value in dicts, lists, texts and numbers alone; new ones, all the way down."""
    try:
        return _plain(value)
    except RecursionError:  # it holds itself
        return repr(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {printable(str(key)): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, str):
        return printable(value)
    if value is None or isinstance(value, (int, float, bool)):
        return value
    return _plain(as_json(value))
