"""A live line for a run in the terminal, and a table when it is over."""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as TimeLeftColumn
from rich.table import Table
from rich.text import Text

from aworld.core.task import STATUSES, TaskResponse
from aworld.stream import TaskStream

COLOURS = {"success": "green", "failed": "red", "crashed": "red", "timeout": "yellow"}
PLAIN_LINE_SECONDS = 2.0


def with_progress(stream: TaskStream, *, console: Console | None = None) -> Iterator[TaskResponse]:
    """Passes the responses of `stream` on, and shows how the run stands: done, running, failed.

    On a terminal it is one live line; elsewhere a plain line every few seconds.
    """
    console = console or Console(file=sys.stderr)
    if console.is_terminal:
        yield from _live(stream, console)
    else:
        yield from _plain(stream, console)


def _live(stream: TaskStream, console: Console) -> Iterator[TaskResponse]:
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeLeftColumn(),
        console=console,
    )
    with stream, progress:
        row: TaskID = progress.add_task("tasks", total=stream.total, state="")
        begin = time.monotonic()
        for response in stream:
            progress.update(row, completed=stream.counts.done, state=_state(stream, begin))
            yield response
        progress.update(row, total=stream.counts.done, state=_state(stream, begin))


def _plain(stream: TaskStream, console: Console) -> Iterator[TaskResponse]:
    begin = shown = time.monotonic()
    of = "" if stream.total is None else f"/{stream.total}"
    with stream:
        for response in stream:
            now = time.monotonic()
            if now - shown >= PLAIN_LINE_SECONDS:
                shown = now
                console.print(f"{stream.counts.done}{of} done, {_state(stream, begin)}")
            yield response
    console.print(f"{stream.counts.done}{of} done, {_state(stream, begin)}")


def _state(stream: TaskStream, begin: float) -> str:
    counts = stream.counts
    pace = counts.done / max(time.monotonic() - begin, 1e-9)
    return f"{counts.running} running, {counts.failed} failed, {pace:.0f} tasks/s"


def summary(responses: Iterable[TaskResponse], *, title: str = "") -> Table:
    """How many tasks ended how, how long they took, and what went wrong most often."""
    responses = list(responses)
    table = Table("status", "tasks", "median", "longest", "most frequent reason", title=title)
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
