"""Values as plain data, for JSON."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import Any

DEEPEST = 250  # pydantic writes no deeper ones, and Python reads far deeper ones back
LONGEST_NUMBER = 13_000  # bits: Python writes and reads none of more than 4300 digits
MOST_TOLD_AGAIN = 10_000  # parts
BYTES = (bytes, bytearray, memoryview)


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
    if isinstance(value, BYTES):
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
    except (RecursionError, ValueError):  # it holds itself; pydantic says so by a ValueError
        return _plain(unrolled(value))


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


def unrolled(value: Any) -> Any:
    """Dicts and lists that end, of whatever holds itself or is nested too deep to be read back.

    Only the part that would go on for ever gives way to a mark. Bytes and texts stay as they are.
    """
    return _Unrolling().told(value, DEEPEST)


class _Unrolling:
    """What had to be cut somewhere is not told again and again: a net has very many ways in it."""

    def __init__(self) -> None:
        self._around: set[int] = set()  # what the part at hand stands in
        self._cut: dict[int, Any] = {}  # kept, so that their ids stay their own
        self._cuts = self._told = 0
        self._spare = MOST_TOLD_AGAIN

    def told(self, value: Any, room: int) -> Any:
        self._told += 1
        if value is None or isinstance(value, (str, float, *BYTES)):
            return value
        if isinstance(value, int):
            return _number(value)
        comes_again = id(value) in self._cut
        if id(value) in self._around:
            return self._mark(value, " that holds itself")
        if not room:
            return self._mark(value, " that is nested too deep")
        if comes_again and self._spare <= 0:
            return self._mark(value, " that was told before")
        cuts, told = self._cuts, self._told
        self._around.add(id(value))
        try:
            return self._parts(value, room - 1)
        except Exception:  # it has words of its own, and they do not work
            return self._mark(value)
        finally:
            self._around.discard(id(value))
            if comes_again:
                self._spare -= self._told - told + 1
            if self._cuts > cuts:
                self._cut[id(value)] = value

    def _parts(self, value: Any, room: int) -> Any:
        if isinstance(value, dict):
            return {_key(key): self.told(part, room) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.told(part, room) for part in value]
        return self.told(_step(value), room)

    def _mark(self, value: Any, why: str = "") -> str:
        self._cuts += 1
        return f"<{type(value).__name__}{why}>"


def _step(value: Any) -> Any:
    try:
        return as_json(value)
    except (ValueError, RecursionError):
        if not hasattr(type(value), "model_fields"):
            raise
        return dict(value)  # a pydantic model that holds itself: field by field


def _key(key: Any) -> Any:
    if key is None or isinstance(key, (str, float)):
        return key
    try:
        return _number(key) if isinstance(key, int) else str(key)
    except Exception:  # as of values: its own words may raise anything
        return f"<{type(key).__name__}>"


def _number(value: int) -> int | str:
    if value.bit_length() < LONGEST_NUMBER:
        return value
    from pydantic_core import to_json

    return to_json(value).decode()
