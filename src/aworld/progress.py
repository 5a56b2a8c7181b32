"""A live line for a run in the terminal, and a table when it is over."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from aworld.core.failure import STATUSES
from aworld.core.task import TaskResponse
from aworld.stream import TaskStream

COLOURS = {"success": "green", "failed": "red", "crashed": "red", "timeout": "yellow"}
PLAIN_LINE_SECONDS = 2.0


def with_progress(stream: TaskStream, *, console: Console | None = None) -> Iterator[TaskResponse]:
    """Passes the responses of `stream` on, and shows how the run stands: done, running, failed.

    On a terminal it is one live line; elsewhere a plain line every few seconds.
    """
    console = console or Console(file=sys.stderr)
    show = _live_line if console.is_terminal else _plain_lines
    with stream, show(stream, console):
        yield from stream


@contextmanager
def _live_line(stream: TaskStream, console: Console) -> Iterator[None]:
    columns = (BarColumn(), MofNCompleteColumn(), _State(stream), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        row = progress.add_task("tasks", total=stream.total)
        with repeatedly(0.1, lambda: progress.update(row, completed=stream.counts.done)):
            yield


@contextmanager
def _plain_lines(stream: TaskStream, console: Console) -> Iterator[None]:
    state = _State(stream)
    of = "" if stream.total is None else f"/{stream.total}"

    def line() -> None:
        console.print(f"{stream.counts.done}{of} done, {state}", highlight=False)

    with repeatedly(PLAIN_LINE_SECONDS, line):
        yield


@contextmanager
def repeatedly(seconds: float, show: Callable[[], None]) -> Iterator[None]:
    """Shows it every few seconds, even when nothing happens, and once at the end."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            show()

    thread = threading.Thread(target=repeat, name="aworld-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        show()


class _State(ProgressColumn):
    """How the run stands now, in words."""

    def __init__(self, stream: TaskStream):
        super().__init__()
        self._stream = stream
        self._begin = time.monotonic()

    def __str__(self) -> str:
        counts = self._stream.counts
        pace = counts.done / max(time.monotonic() - self._begin, 1e-9)
        return f"{counts.running} running, {counts.failed} failed, {pace:.0f} tasks/s"

    def render(self, task: object) -> Text:
        return Text(str(self))


def summary(responses: Iterable[TaskResponse], *, title: str = "") -> Table:
    """How many tasks ended how, how long they took, and what went wrong most often."""
    responses = list(responses)
    columns = ("status", "tasks", "median", "longest", "most frequent reason")
    table = Table(*columns, title=Text(title))
    for status in STATUSES:
        group = [response for response in responses if response.status == status]
        if group:
            times = [response.time_cost for response in group]
            reasons = Counter(response.msg for response in group if response.msg)
            table.add_row(
                Text(status, style=COLOURS.get(status, "")),
                str(len(group)),
                f"{statistics.median(times):.3f} s",
                f"{max(times):.3f} s",
                Text(reasons.most_common(1)[0][0][:60] if reasons else ""),
            )
    return table
