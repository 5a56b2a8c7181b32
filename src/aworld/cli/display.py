"""A run while it goes on: live for a person at a terminal, plain lines for a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from aworld.progress import PLAIN_LINE_SECONDS, repeatedly

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console, RenderableType

    from aworld.cli.board import Board
    from aworld.cli.stopping import Stop

REFRESHED = 8  # times a second


def display(
    board: Board, stop: Stop, console: Console, *, quiet: bool = False
) -> AbstractContextManager[Any]:
    if quiet:
        return nullcontext()
    return _live(board, stop, console) if console.is_terminal else _plain_lines(board, console)


@contextmanager
def _live(board: Board, stop: Stop, console: Console) -> Iterator[None]:
    from rich.live import Live

    picture = partial(_picture, board, stop)
    with Live(console=console, get_renderable=picture, refresh_per_second=REFRESHED):
        yield


def _picture(board: Board, stop: Stop) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 1))
    line.add_column(ratio=1)
    total = None if board.total is None else board.total + board.before
    bar = ProgressBar(total=total, completed=board.done + board.before, width=40)
    line.add_row(bar, Text(board.counted(), style="bold"))
    parts: list[RenderableType] = [line, Text(board.state())]
    if stop.asked:
        parts.append(Text(stop.asked, style="yellow"))
    return Group(*parts)


@contextmanager
def _plain_lines(board: Board, console: Console) -> Iterator[None]:
    def line() -> None:
        print(f"{board.counted()}, {board.state()}", file=console.file, flush=True)

    with repeatedly(PLAIN_LINE_SECONDS, line):
        yield
