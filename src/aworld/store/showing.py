"""A run as it shows itself in a notebook: a summary with a link, and two pictures."""

from __future__ import annotations

import shlex
import sqlite3
from collections import deque
from html import escape
from typing import TYPE_CHECKING

from aworld.core.failure import worth
from aworld.core.shown import harmless, plural
from aworld.drawing import COLOURS, GREY, Bar, Picture, bars, curve
from aworld.errors import StoreError
from aworld.spans import Span, at_once, breaks_in, lanes_of, without_breaks
from aworld.store.overview import overview
from aworld.store.schema import has_circumstances
from aworld.store.views import address_of

if TYPE_CHECKING:
    from aworld.store.reader import Run

MOST_POINTS = 400
NOBODY = -1  # a worker that is not known
WINDOW = 0.05  # of all results, for the mean of the latest ones

Row = tuple[int | None, float, float, str, float | None]  # worker, began, ended, status, reward


def summary(run: Run) -> str:
    """Everything in it is text: a run may come from a stranger."""
    try:
        found = overview(run)
    except sqlite3.ProgrammingError:
        words = escape(f"open_run({str(run.folder)!r})")
        return f"<div>this run is closed; to see it: <code>{harmless(words)}</code></div>"
    facts = {
        "state": found.status,
        "done": found.progress,
        "success": f"{found.succeeded / found.done:.0%}" if found.done else "-",
        "reward": "-" if found.reward is None else f"{found.mean} ({found.scored_by})",
        "tokens": f"{found.tokens:,}",
        "cost": f"{found.cost:.4g}" if found.cost else "-",
    }
    cells = "".join(
        f"<td style='padding:0 18px 0 0;text-align:left'><small>{name}</small><br>"
        f"<b>{escape(harmless(value))}</b></td>"
        for name, value in facts.items()
    )
    total = max(found.total or found.done, 1)
    shares = "".join(
        f"<span style='display:inline-block;height:6px;width:{100 * count / total:.2f}%;"
        f"background:{COLOURS.get(status, GREY)}' title='{count} {status}'></span>"
        for status, count in found.counts.items()
    )
    name = escape(harmless(str(run.folder)))
    address = address_of(run.folder)
    if address is None:
        words = escape(f"aworld view {shlex.quote(str(run.folder))}")
        link = f"<code>{harmless(words)}</code>"
    else:
        link = f"<a href='{escape(address)}' target='_blank' rel='noopener'>open the view</a>"
    return (
        f"<div style='max-width:760px'><b>{name}</b> &nbsp; {link}"
        f"<table style='border:0;margin:6px 0'><tr>{cells}</tr></table>"
        f"<div style='background:#9aa4b233;line-height:0'>{shares}</div></div>"
    )


def timeline(run: Run) -> Picture:
    """When nobody ran the run is left out."""
    rows = _rows(run)
    breaks = breaks_in([(began, ended) for _, began, ended, *_ in rows])
    by_worker: dict[int, list[tuple[Span, str]]] = {}
    for worker, began, ended, status, _ in rows:
        start = without_breaks(breaks, began)
        own = by_worker.setdefault(NOBODY if worker is None else worker, [])
        own.append(((start, start + ended - began), status))
    found: list[Bar] = []
    names: list[tuple[int, str]] = []
    above = 0
    slots = run.config.get("run", {}).get("tasks_per_worker")
    for worker in sorted(by_worker):
        spans = [span for span, _ in by_worker[worker]]
        placed = lanes_of(spans, None if worker == NOBODY else slots)
        names.append((above, "?" if worker == NOBODY else f"w{worker}"))
        for (lane, began, ended), (_, status) in zip(placed, by_worker[worker], strict=True):
            found.append(Bar(above + lane, began, ended, status))
        above += max(lane for lane, *_ in placed) + 1
    most, mean = at_once([span for own in by_worker.values() for span, _ in own])
    most = min(most, max(above, 1))  # clocks that differ make no more of them
    where = f"{plural(len(found), 'task')} on {plural(len(by_worker), 'worker')}"
    title = f"{where}, up to {most} at once, {mean:.1f} on average"
    if breaks:
        idle = sum(end - start for start, end in breaks)
        title += f"; {idle:,.0f} s in which nothing ran are left out"
    return bars(title, found, names)


def reward_curve(run: Run) -> Picture:
    rows = _rows(run)
    breaks = breaks_in([(began, ended) for _, began, ended, *_ in rows])
    counted = [  # as in the mean of the run
        (without_breaks(breaks, ended), value)
        for _, _, ended, status, reward in rows
        if run.scoring.name and (value := worth(status, reward)) is not None
    ]
    size = max(int(len(counted) * WINDOW), 5)
    latest: deque[float] = deque(maxlen=size)
    points = []
    for ended, reward in counted:
        latest.append(reward)
        points.append((ended - counted[0][0], sum(latest) / len(latest)))
    step = max(len(points) // MOST_POINTS, 1)
    name = harmless(run.scoring.name) or "no reward"
    over = f"over {len(counted):,} of {plural(len(rows), 'result')}"
    title = f"reward by {name}: mean of the latest {size}, {over}"
    return curve(title, points[size - 1 :: step] or points)


def _rows(run: Run) -> list[Row]:
    """In the order in which they ended."""
    around = {}
    try:
        known = has_circumstances(run.connection)
    except sqlite3.ProgrammingError:
        again = f"open_run({str(run.folder)!r})"
        raise StoreError(f"this run is closed: open it again by {again}") from None
    if known:
        query = "select slot, worker, began from circumstances"
        around = {slot: (worker, began) for slot, worker, began in run.connection.execute(query)}
    rows: list[Row] = []
    for row in run.results():
        worker, began = around.get(row.slot, (None, None))
        # it had ended when it was recorded: a beginning that is later was noticed late
        latest = row.ended - row.seconds
        start = latest if began is None else min(began, latest)
        rows.append((worker, start, start + row.seconds, row.status, row.reward))
    return sorted(rows, key=lambda row: row[2])
