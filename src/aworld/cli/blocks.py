"""What somebody has said, as blocks of text in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from aworld.core.shown import harmless
from aworld.view.wording import as_text


def said(who: str, what: Any, *, style: str = "bold") -> Iterator[RenderableType]:
    yield title(who, style)
    yield block(what)


def title(who: str, style: str, note: str = "") -> Text:
    text = Text(harmless(who), style=f"{style} bold".strip())
    return text.append(f"  {note}", style="dim not bold") if note else text


def block(what: Any, *, style: str = "") -> Indented:
    text = as_text(what)
    return Indented(Text(harmless(text, lines=True).rstrip(), style=style))


class Indented:
    """A text two columns to the right, also where its lines are too long for the terminal."""

    def __init__(self, text: Text):
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self._text.wrap(console, max(options.max_width - 2, 1), tab_size=4):
            yield Text("  ").append_text(line)
