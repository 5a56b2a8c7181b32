"""Values as JSON and back: nothing here is pickle, so that a stranger's run can be opened."""

from __future__ import annotations

import json
from functools import lru_cache, partial
from typing import Any

from pydantic_core import to_json

from aworld.core.plain import as_json, unrolled
from aworld.errors import DamagedError
from aworld.store.blobs import (
    BIG,
    MARK,
    Blobs,
    marked,
    unmarked,
    with_marks_apart,
    without_big,
)

MARK_KEY = MARK.encode()
LONGEST_NUMBER = 4000  # digits


def json_of(value: Any) -> bytes:
    """As JSON, whatever it holds. Bytes that are text become text."""
    try:
        content = to_json(value, inf_nan_mode="constants", fallback=as_json)
    except Exception:  # bytes that are no text, lone surrogates, odd keys, what holds itself
        return _slowly(value)
    return _slowly(value) if MARK_KEY in content else content


def encode(content: bytes, blobs: Blobs) -> bytes:
    """JSON as it is kept: without big values."""
    if len(content) < BIG:
        return content
    return _dumped(without_big(_loaded(content), blobs))


def decode(body: bytes, blobs: Blobs) -> Any:
    try:
        if MARK_KEY not in body:
            return _loaded(body)
        return _loaded(body, object_hook=partial(unmarked, blobs=_Remembered(blobs)))
    except (ValueError, RecursionError, TypeError) as error:
        raise DamagedError(f"a record cannot be read: {error}") from None


def _slowly(value: Any) -> bytes:
    try:
        return _dumped(with_marks_apart(value))
    except Exception:  # odd keys, what holds itself, what has no words for itself
        return _dumped(with_marks_apart(unrolled(value)))


def _dumped(value: Any) -> bytes:
    # ASCII alone: lone surrogates are escaped, and come back as they were
    return json.dumps(value, separators=(",", ":"), default=marked).encode()


def _loaded(content: bytes, **options: Any) -> Any:
    try:
        return json.loads(content, **options)
    except ValueError:  # a number too long for Python: it becomes a text
        return json.loads(content, parse_int=_number, **options)


def _number(digits: str) -> int | str:
    return int(digits) if len(digits) < LONGEST_NUMBER else digits


class _Remembered(Blobs):
    """Each big value of a record is read once, however often it stands there."""

    def __init__(self, blobs: Blobs):
        self.get = lru_cache(maxsize=None)(blobs.get)  # type: ignore[method-assign]
