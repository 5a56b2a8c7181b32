"""Text that somebody else has written, made fit to be shown: it cannot steer the terminal."""

from __future__ import annotations

import unicodedata

UNSEEN = "?"  # in place of what a terminal would obey, or what would hide or turn other text
JOINERS = "\u200c\u200d"  # inside Persian words and inside emoji


def harmless(text: str, *, lines: bool = False) -> str:
    """Without escape sequences, links, bidirectional overrides and the like; with `lines` it keeps
    its line ends and tabs."""
    if text.isprintable():
        return text
    kept = JOINERS
    if lines:
        text, kept = text.replace("\r\n", "\n"), f"{JOINERS}\n\t"
    return "".join(char if _can_be_seen(char) or char in kept else UNSEEN for char in text)


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def plural(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def _can_be_seen(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"  # all spaces, not ours alone
