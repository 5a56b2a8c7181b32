"""Text that somebody else has written, made fit to be shown: it cannot steer the terminal."""

from __future__ import annotations

import shlex
import unicodedata

from aworld.core.plain import printable

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


def cut_in_the_middle(text: str, longest: int) -> str:
    """Head and tail, fit to be printed and stored. A long text is never copied as a whole."""
    if len(text) <= longest:
        return printable(text)
    head = (longest + 1) // 2
    tail = longest - head
    left_out = f"\n... {len(text) - longest} characters left out ...\n"
    return printable(text[:head]) + left_out + printable(text[len(text) - tail :])


def plural(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def as_word(path: object) -> str:
    """As it is typed in a shell, where it is to be a path and no option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _can_be_seen(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"  # all spaces, not ours alone
