"""Turns whatever a tool returns into text for a model, of bounded length."""

from __future__ import annotations

import json
from typing import Any

from aworld.core.plain import as_json
from aworld.core.shown import cut_in_the_middle


def render(value: Any, max_chars: int) -> str:
    """Text as it is, anything else as compact JSON, or as `str()` shows it."""
    return cut_in_the_middle(value if isinstance(value, str) else _as_text(value), max_chars)


def _as_text(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=as_json)
    except (TypeError, ValueError, RecursionError):  # keys that JSON has not, or a circle
        return str(value)
