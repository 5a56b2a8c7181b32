"""Turns whatever a tool returns into text for a model, of bounded length."""

from __future__ import annotations

import json
from typing import Any

from aworld.core.plain import as_json, printable


def render(value: Any, max_chars: int) -> str:
    """Text as it is, anything else as compact JSON, or as `str()` shows it."""
    return shorten(value if isinstance(value, str) else _as_text(value), max_chars)


def shorten(text: str, max_chars: int) -> str:
    """Head and tail. A long text is never copied as a whole."""
    if len(text) <= max_chars:
        return printable(text)
    head = (max_chars + 1) // 2
    tail = max_chars - head
    left_out = f"\n... {len(text) - max_chars} characters left out ...\n"
    return printable(text[:head]) + left_out + printable(text[len(text) - tail :])


def _as_text(value: Any) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8", "replace")
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=as_json)
    except (TypeError, ValueError, RecursionError):  # keys that JSON has not, or a circle
        return str(value)
