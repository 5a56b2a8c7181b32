"""Reads what a docstring says about a function and its parameters."""

from __future__ import annotations

import inspect
import re

SECTION = re.compile(r"(Args|Arguments|Parameters):\s*$")
# `name: text`, `name (type): text`
ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
# `:param name: text`, `:param type name: text`
FIELD = re.compile(r":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)$")


def summary(doc: str | None) -> str:
    """The first paragraph, as one line."""
    lines: list[str] = []
    for line in inspect.cleandoc(doc or "").splitlines():
        text = line.strip()
        if not text or text.startswith(":") or SECTION.match(text):
            if lines:
                break
            continue
        lines.append(text)
    return " ".join(lines)


def parameter_texts(doc: str | None) -> dict[str, str]:
    """What is said of each parameter, in Google style or in reST."""
    lines = inspect.cleandoc(doc or "").splitlines()
    return {**_google(lines), **_rest(lines)}


def _google(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    inside = False
    entry_indent: int | None = None
    name = ""
    for line in lines:
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if SECTION.match(text) and indent == 0:
            inside, entry_indent, name = True, None, ""
        elif inside and text and indent == 0:
            inside = False  # the next section
        elif inside and text:
            entry_indent = indent if entry_indent is None else entry_indent
            entry = ENTRY.match(text) if indent == entry_indent else None
            if entry:
                name = entry[1]
                texts[name] = entry[2]
            elif name:
                texts[name] = f"{texts[name]} {text}".strip()
    return texts


def _rest(lines: list[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.strip()
        field = FIELD.match(text)
        if field:
            name = field[1]
            texts[name] = field[2]
        elif not text or text.startswith(":"):
            name = ""
        elif name:
            texts[name] = f"{texts[name]} {text}".strip()
    return texts
