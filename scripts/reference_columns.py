"""Shows the two aligned columns that settings have in a docstring as a table in the reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

ENTRY = re.compile(r"(\S+(?: \S+)*)( {2,})(\S.*)")


class Columns(griffe.Extension):
    """Tables where a person sees them; where Python is asked for help, the columns as they are."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            paragraphs = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(as_table(one) or one for one in paragraphs)


def as_table(paragraph: str) -> str:
    """Empty where the paragraph is not written in columns."""
    rows: list[tuple[str, str]] = []
    column = None
    for line in paragraph.splitlines():
        entry = ENTRY.fullmatch(line)
        if entry and column in (None, entry.start(3)):
            column = entry.start(3)
            rows.append((entry[1], entry[3]))
        elif rows and column and line[:column].isspace():
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        else:
            return ""
    shown = (f"| {_names(names)} | {text.replace('|', chr(92) + '|')} |" for names, text in rows)
    return "\n".join(["| name | meaning |", "|---|---|", *shown]) if rows else ""


def _names(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))
