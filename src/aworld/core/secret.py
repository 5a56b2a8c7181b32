"""Text that must not be seen: it travels, but it does not show."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

HIDDEN = "[secret]"


class Secret:
    """Wraps a key. `str()` and `repr()` hide it; `reveal()` gives it to whoever must send it."""

    __slots__ = ("_text",)

    def __init__(self, text: str):
        self._text = text

    def reveal(self) -> str:
        return self._text

    def hide_in(self, text: str, *, least: int = 4) -> str:
        """A text without it. A key shorter than `least` may be a word, and is left alone."""
        return text.replace(self._text, HIDDEN) if len(self._text) >= least else text

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    @classmethod
    def of(cls, value: Any) -> Secret | None:
        return value if value is None or isinstance(value, Secret) else cls(str(value))


def bare_url(url: str) -> str:
    """Without a password or a query: fit to be shown."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
