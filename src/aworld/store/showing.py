"""A run as it shows itself in a notebook: a summary with a link, and two pictures."""

from __future__ import annotations

import shlex
import sqlite3
from collections import deque
from html import escape
from typing import TYPE_CHECKING

from aworld.core.shown import harmless, plural
from aworld.drawing import COLOURS, GREY, Bar, Picture, at_once, bars, curve, lanes_of
from aworld.errors import StoreError
from aworld.store.overview import overview
from aworld.store.views import address_of

if TYPE_CHECKING:
    from aworld.store.reader import Run

MOST_POINTS = 400
WINDOW = 0.05  # of all results, for the mean of the latest ones

Row = tuple[int | None, float, float, str, float | None]  # worker, began, ended, status, reward


def summary(run: Run) -> str:
    """Everything in it is text: a run may come from a stranger."""
    try:
        found = overview(run)
    except sqlite3.ProgrammingError:
        words = escape(f"open_run({str(run.folder)!r})")
        return f"<div>this run is closed; to see it: <code>{harmless(words)}</code></div>"
    mean = found.mean_of_scored
    over = f" over {found.scored} of {found.done}" if found.scored < found.done else ""
    facts = {
        "state": found.status,
        "done": found.progress,
        "success": f"{found.succeeded / found.done:.0%}" if found.done else "-",
        "reward": "-" if mean is None else f"{mean:.3f}{over} ({found.scored_by})",
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
    rows = _rows(run)
    by_worker: dict[int, list[Row]] = {}
    for row in rows:
        by_worker.setdefault(-1 if row[0] is None else row[0], []).append(row)
    found: list[Bar] = []
    above = 0
    slots = run.config.get("run", {}).get("tasks_per_worker")
    for worker in sorted(by_worker):
        of_worker = by_worker[worker]
        most = slots if worker >= 0 else None
        lanes = lanes_of([(began, ended) for _, began, ended, *_ in of_worker], most)
        for lane, (_, began, ended, status, _) in zip(lanes, of_worker, strict=True):
            found.append(Bar(above + lane, began, ended, status))
        above += max(lanes) + 1
    most, mean = at_once([(bar.began, bar.ended) for bar in found])
    where = f"{plural(len(found), 'task')} on {plural(len(by_worker), 'worker')}"
    title = f"{where}, up to {most} at once, {mean:.1f} on average"
    return bars(title, found)


def reward_curve(run: Run) -> Picture:
    rows = _rows(run)
    scored = [(ended, reward) for _, _, ended, _, reward in rows if reward is not None]
    size = max(int(len(scored) * WINDOW), 5)
    latest: deque[float] = deque(maxlen=size)
    points = []
    for ended, reward in scored:
        latest.append(reward)
        points.append((ended - scored[0][0], sum(latest) / len(latest)))
    step = max(len(points) // MOST_POINTS, 1)
    name = harmless(run.scoring.name) or "no reward"
    over = f"{len(scored):,} of {plural(len(rows), 'result')} scored"
    title = f"reward by {name}: mean of the latest {size}, {over}"
    return curve(title, points[size - 1 :: step] or points)


def _rows(run: Run) -> list[Row]:
    """In the order in which they ended."""
    around = {}
    named = "select 1 from sqlite_master where name = 'circumstances'"
    try:
        known = run.connection.execute(named).fetchone() is not None
    except sqlite3.ProgrammingError:
        again = f"open_run({str(run.folder)!r})"
        raise StoreError(f"this run is closed: open it again by {again}") from None
    if known:
        query = "select slot, worker, began from circumstances"
        around = {slot: (worker, began) for slot, worker, began in run.connection.execute(query)}
    rows: list[Row] = []
    for row in run.results():
        worker, began = around.get(row.slot, (None, None))
        start = row.ended - row.seconds if began is None else began
        rows.append((worker, start, start + row.seconds, row.status, row.reward))
    return sorted(rows, key=lambda row: row[2])
