"""Values as JSON and back: nothing here is pickle, so that a stranger's run can be opened."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from pydantic_core import to_json

from aworld.core.plain import as_json, plain
from aworld.errors import DamagedError
from aworld.store.blobs import BIG, MARK, Blobs, marked, unmarked, without_big


def json_of(value: Any) -> bytes:
    """As JSON, whatever it holds. Bytes that are text become text."""
    try:
        return to_json(value, inf_nan_mode="constants", fallback=as_json)
    except Exception:  # bytes that are no text, lone surrogates, odd keys, what holds itself
        return _slowly(value)


def encode(content: bytes, blobs: Blobs) -> bytes:
    """JSON as it is kept: without big values."""
    if len(content) < BIG:
        return content
    return json_of(without_big(json.loads(content), blobs))


def decode(body: bytes, blobs: Blobs) -> Any:
    try:
        if MARK.encode() not in body:
            return json.loads(body)
        return json.loads(body, object_hook=partial(unmarked, blobs=blobs))
    except (ValueError, RecursionError, TypeError) as error:
        raise DamagedError(f"a record cannot be read: {error}") from None


def _slowly(value: Any) -> bytes:
    # ASCII alone: lone surrogates are escaped, and come back as they were
    try:
        return json.dumps(value, separators=(",", ":"), default=marked).encode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(plain(value), separators=(",", ":")).encode()
