"""How a run stands: in numbers, over time, and by what went wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aworld.errors import AWorldError, StoreError
from aworld.spans import Span, at_once, breaks_in, without_breaks
from aworld.store import lock
from aworld.store.live import Live, read_live
from aworld.store.overview import overview, worth_of
from aworld.store.reader import Run
from aworld.store.schema import has_circumstances
from aworld.store.scores import reward_column
from aworld.train.folders import is_training
from aworld.view.library import Library
from aworld.view.pace import NOTHING_LATELY, rate_of, recently, taken_up, time_left

MOST_POINTS, LEAST_POINTS = 120, 10  # of a curve over time
SPARKS = 24
MOST_KINDS = 12

# A result with where and when it was made. It had ended when it was recorded: a beginning that does
# not go with that was noticed late.
ROWS = """
select r.slot, r.status, {reward} as reward, r.seconds, r.tokens, r.cost, r.attempts, r.round,
    r.ended, c.worker, coalesce(c.failure, '') as failure,
    min(coalesce(c.began, r.ended), r.ended - r.seconds) as began
from results r left join {circumstances} c on c.slot = r.slot
"""
UNKNOWN = "(select null as slot, null as worker, null as began, null as failure)"


def rows_of(run: Run) -> str:
    """The query that a page or a curve is made from."""
    known = "circumstances" if has_circumstances(run.connection) else UNKNOWN
    return ROWS.format(reward=reward_column(run.scoring.number), circumstances=known)


def summed_up(library: Library, name: str) -> dict[str, Any]:
    """A line in the list of runs."""
    return library.remembered("line", name, lambda: _line(library, name))


def whole(library: Library, name: str) -> dict[str, Any]:
    """All that a run's own page begins with."""
    return library.remembered("page", name, lambda: _page(library, name))


def now(library: Library, name: str) -> dict[str, Any]:
    """What is true of this moment only; it costs next to nothing beside the figures."""
    folder = library.folder(name)
    writer, live = lock.holder(folder), read_live(folder)
    at = time.time()
    if writer is None:
        facts = {"running": None, "paused": False, "cancelling": False, "rate": None, "left": None}
        return {"at": at, "writer": None, "again": {}, **facts}
    again = {} if live is None else _owed_again(library, name, live.retried)
    pace = _pace(library, name, live, at, sum(again.values()))
    facts = {"at": at, "writer": writer, "again": again, **pace}
    if live is None:
        return {**facts, "running": None, "paused": False, "cancelling": False}
    return {
        **facts,
        "running": [list(task) for task in live.running],
        "running_count": live.count,
        "paused": live.paused,
        "cancelling": live.cancelling,
    }


def _owed_again(library: Library, name: str, statuses: Sequence[str]) -> dict[str, int]:
    """By status: how many results wait for those that take their place."""
    if not statuses:
        return {}
    since = taken_up(library.folder(name))
    places = ", ".join("?" * len(statuses))
    query = f"select status, count(*) from results where ended < ? and status in ({places})"
    try:
        with library.open(name) as run:
            found = run.connection.execute(f"{query} group by status", (since, *statuses))
            return dict(found.fetchall())
    except AWorldError:  # its page says why
        return {}


def _pace(
    library: Library, name: str, live: Live | None, at: float, again: int
) -> dict[str, float | None]:
    if live is not None and live.paused:
        return {"rate": 0.0, "left": None}
    try:
        run = whole(library, name)
    except AWorldError:  # its page says why
        return {"rate": None, "left": None}
    rate = rate_of(run, library.folder(name), live, at)
    ends_early = live is not None and live.cancelling
    return {"rate": rate, "left": None if ends_early else time_left(run, rate, again)}


def _line(library: Library, name: str) -> dict[str, Any]:
    folder = library.folder(name)
    try:
        with library.open(name) as run:
            facts = _facts(run, name)
            return {**facts, "spark": _spark(run, facts)}
    except Exception as error:  # a damaged page can hold anything; the other runs are shown
        reason = str(error) if isinstance(error, StoreError) else f"it cannot be read: {error!r}"
        facts = {"id": name, "name": name, "created": folder.stat().st_mtime}
        return {**facts, "error": reason, "training": _is_training(folder)}


def _facts(run: Run, name: str) -> dict[str, Any]:
    try:
        config = run.config
    except StoreError:  # its settings are unreadable, its results need not be
        config = {}
    settings = config.get("run", {})
    query = f"select min(began), max(began + seconds), max(ended) from ({rows_of(run)})"
    began, ended, recorded = run.connection.execute(query).fetchone()
    found, is_lesson = overview(run), is_training(run.folder)
    breaks = [] if is_lesson else _breaks(run)  # a training goes on while nothing is played
    return {
        "id": name,
        **asdict(found),
        "name": run.name if name == "." else name,
        "samples": run.samples,
        "engine": "imported" if "import" in config else settings.get("engine_name") or "local",
        "workers": settings.get("worker_num"),
        "per_worker": settings.get("tasks_per_worker"),
        "began": began,
        "ended": ended,
        "breaks": breaks,
        "idle": sum(end - start for start, end in breaks),
        "recorded": recorded,
        "training": is_lesson,
    }


def _page(library: Library, name: str) -> dict[str, Any]:
    with library.open(name) as run:
        facts = _facts(run, name)
        points = max(LEAST_POINTS, min(MOST_POINTS, facts["done"] // 4))
        breaks, began, ended = facts["breaks"], facts["began"] or 0.0, facts["ended"] or 0.0
        facts["series"] = _series(run, facts["began"], facts["ended"], points, breaks)
        facts["failures"] = _failures(run)
        lasted = without_breaks(breaks, ended) - began
        facts["rate"] = facts["done"] / lasted if lasted > 0 else None
        facts["recent"] = recently(run) if facts["status"] == "running" else NOTHING_LATELY
        most, mean = at_once(_spans(run), breaks)
        facts["at_once"] = {"most": most, "mean": mean}
        facts["damage"] = [damage._asdict() for damage in run.damage]
        return facts


def _spans(run: Run) -> list[tuple[float, float]]:
    query = f"select began, began + seconds from ({rows_of(run)})"
    known = "where typeof(began + seconds) = 'real'"  # a damaged page can hold anything
    return run.connection.execute(f"{query} {known}").fetchall()


def _breaks(run: Run) -> list[Span]:
    """When nobody ran the run, between its first result and its last, or now."""
    spans = _spans(run)
    if not spans:
        return []
    first = min(began for began, _ in spans)
    # results that were given up, too, had run
    earlier = "select ended - seconds, ended from earlier where ended - seconds > ?"
    spans += run.connection.execute(earlier, (first,)).fetchall()
    if run.writer is not None:
        spans.append((max(taken_up(run.folder), first), time.time()))
    return breaks_in(spans)


def _is_training(folder: Path) -> bool:
    try:
        return is_training(folder)
    except OSError:  # no permission to look
        return False


def _series(
    run: Run, began: float | None, ended: float | None, points: int, breaks: Sequence[Span]
) -> dict[str, Any]:
    """Over time, in steps of the same length: what ended, succeeded, cost and was worth."""
    if began is None or ended is None:
        return {"began": None, "step": 1.0, "count": 0, "points": []}
    step, worth = max((without_breaks(breaks, ended) - began) / points, 1e-6), worth_of("reward")
    cuts = (f" - (began >= {end!r}) * {end - start!r}" for start, end in breaks)
    moment = f"began + seconds - :began{''.join(cuts)}"
    query = f"""
    select min(max(cast(({moment}) / :step as integer), 0), :last) as place,
        count(*), sum(status = 'success'), sum(tokens), count({worth}), sum({worth}), sum(cost)
    from ({rows_of(run)}) group by place order by place
    """
    values = {"began": began, "step": step, "last": points - 1}
    found = run.connection.execute(query, values).fetchall()
    rows = [list(row) for row in found]
    return {"began": began, "step": step, "count": points, "points": rows}


def _spark(run: Run, facts: Mapping[str, Any]) -> list[float | None]:
    """The mean reward as the run went on; where there is none, how many ended."""
    scored = facts["reward"] is not None
    rows = rows_of(run)
    query = f"select min(began + seconds), max(began + seconds) from ({rows})"
    first, last = run.connection.execute(query).fetchone()
    if first is None:
        return []
    points = _series(run, first, max(last, first + 1e-3), SPARKS, facts["breaks"])["points"]
    curve: list[float | None] = [None if scored else 0.0] * SPARKS
    for place, count, _, _, counted, total, _ in points:
        curve[place] = (total / counted if counted else None) if scored else float(count)
    return curve


def _failures(run: Run) -> list[list[Any]]:
    """By status and kind of error, the most frequent first."""
    query = f"""
    select status, failure, count(*) as times from ({rows_of(run)})
    where status != 'success' group by status, failure order by times desc limit {MOST_KINDS}
    """
    return [list(row) for row in run.connection.execute(query)]
