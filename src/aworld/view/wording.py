"""What somebody has said, as text for a page. The page shows it as text, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aworld.core.plain import plain


def as_text(what: Any) -> str:
    """A message's content as it is read: its texts, and where there is something else, what."""
    if what is None:
        return ""
    if isinstance(what, str):
        return what
    if isinstance(what, list) and what and all(_is_part(part) for part in what):
        return "\n".join(_part_text(part) for part in what)
    try:
        return json.dumps(plain(what), ensure_ascii=False, indent=2)
    except (TypeError, ValueError):
        return str(what)


def one_line(what: Any) -> str:
    text = what if isinstance(what, str) else as_text(what)
    return " ".join(text[:2_000].split())


def arguments_of(given: Any) -> Any:
    """Of a call, as data where they are JSON."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError:
        return given


def _is_part(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str)


def _part_text(part: Mapping[str, Any]) -> str:
    """Of a message that is made of texts and pictures."""
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part['type']}]"
