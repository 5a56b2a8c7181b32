"""How a run stands: in numbers, over time, and by what went wrong."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aworld.errors import StoreError
from aworld.store import lock
from aworld.store.live import read_live
from aworld.store.overview import overview
from aworld.store.reader import Run
from aworld.view.library import Library

METRICS = "metrics.jsonl"
MOST_POINTS, LEAST_POINTS = 120, 10  # of a curve over time
SPARKS = 24
MOST_KINDS = 12

# A result with where and when it was made. `{scoring}` is a number of the run.
ROWS = """
select r.slot, r.status, {reward} as reward, r.seconds, r.tokens, r.cost, r.attempts, r.round,
    r.ended, c.worker, coalesce(c.failure, '') as failure,
    coalesce(c.began, r.ended - r.seconds) as began
from results r left join {circumstances} c on c.slot = r.slot
"""
UNKNOWN = "(select null as slot, null as worker, null as began, null as failure)"


def rows_of(run: Run) -> str:
    """The query that a page or a curve is made from."""
    reward = "r.reward"
    if run.scoring.number:
        scores = f"from scores s where s.scoring = {int(run.scoring.number)} and s.slot = r.slot"
        reward = f"(select s.value {scores})"
    named = "select 1 from sqlite_master where name = 'circumstances'"
    known = run.connection.execute(named).fetchone() is not None
    return ROWS.format(reward=reward, circumstances="circumstances" if known else UNKNOWN)


def summed_up(library: Library, name: str) -> dict[str, Any]:
    """A line in the list of runs."""
    return library.remembered("line", name, lambda: _line(library, name))


def whole(library: Library, name: str) -> dict[str, Any]:
    """All that a run's own page begins with."""
    return library.remembered("page", name, lambda: _page(library, name))


def now(library: Library, name: str) -> dict[str, Any]:
    """What is true of this moment only, and costs nothing to find out."""
    folder = library.folder(name)
    writer, live = lock.holder(folder), read_live(folder)
    if writer is None or live is None:
        return {"at": time.time(), "writer": writer, "running": None, "paused": False}
    return {
        "at": time.time(),
        "writer": writer,
        "running": [list(task) for task in live.running],
        "running_count": live.count,
        "paused": live.paused,
    }


def _line(library: Library, name: str) -> dict[str, Any]:
    folder = library.folder(name)
    try:
        with library.open(name) as run:
            return {**_facts(run, name), "spark": _spark(run)}
    except Exception as error:  # a damaged page can hold anything; the other runs are shown
        reason = str(error) if isinstance(error, StoreError) else f"it cannot be read: {error!r}"
        facts = {"id": name, "name": name, "created": folder.stat().st_mtime}
        return {**facts, "error": reason, "training": (folder / METRICS).is_file()}


def _facts(run: Run, name: str) -> dict[str, Any]:
    try:
        config = run.config
    except StoreError:  # its settings are unreadable, its results need not be
        config = {}
    settings, command = config.get("run", {}), config.get("command", {})
    query = f"select min(began), max(began + seconds), max(ended) from ({rows_of(run)})"
    began, ended, recorded = run.connection.execute(query).fetchone()
    return {
        "id": name,
        **asdict(overview(run)),
        "name": run.name if name == "." else name,
        "samples": run.samples,
        "engine": "imported" if "import" in config else settings.get("engine_name") or "local",
        "workers": settings.get("worker_num"),
        "per_worker": settings.get("tasks_per_worker"),
        "tasks_from": command.get("tasks"),
        "began": began,
        "ended": ended,
        "recorded": recorded,
        "training": (run.folder / METRICS).is_file(),
        "rewards": [scoring.name for scoring in run.scorings if scoring.name],
    }


def _page(library: Library, name: str) -> dict[str, Any]:
    with library.open(name) as run:
        facts = _facts(run, name)
        facts["agents"] = [agent for agent, *_ in run.agents().values()]
        points = max(LEAST_POINTS, min(MOST_POINTS, facts["done"] // 4))
        facts["series"] = _series(run, facts["began"], facts["ended"], points)
        facts["failures"] = _failures(run)
        facts["by_worker"] = _by_worker(run)
        facts["damage"] = [damage._asdict() for damage in run.damage]
        facts["config"] = run.config if facts["engine"] != "imported" else {}
        facts["verdicts"] = (Path(run.folder) / "verdicts.jsonl").is_file()
        return facts


def _series(run: Run, began: float | None, ended: float | None, points: int) -> dict[str, Any]:
    """Over time, in steps of the same length: what ended, succeeded, cost and was worth."""
    if began is None or ended is None:
        return {"began": None, "step": 1.0, "count": 0, "points": []}
    step = max((ended - began) / points, 1e-6)
    query = f"""
    select min(max(cast((began + seconds - :began) / :step as integer), 0), :last) as place,
        count(*), sum(status = 'success'), sum(tokens), count(reward), sum(reward), sum(cost)
    from ({rows_of(run)}) group by place order by place
    """
    values = {"began": began, "step": step, "last": points - 1}
    found = run.connection.execute(query, values).fetchall()
    rows = [list(row) for row in found]
    return {"began": began, "step": step, "count": points, "points": rows}


def _spark(run: Run) -> list[float | None]:
    """The mean reward as the run went on; where there is none, how many ended."""
    rows = rows_of(run)
    query = f"select min(began + seconds), max(began + seconds), count(reward) from ({rows})"
    first, last, scored = run.connection.execute(query).fetchone()
    if first is None:
        return []
    points = _series(run, first, max(last, first + 1e-3), SPARKS)["points"]
    curve: list[float | None] = [None if scored else 0.0] * SPARKS
    for place, count, _, _, rewarded, total, _ in points:
        curve[place] = (total / rewarded if rewarded else None) if scored else float(count)
    return curve


def _failures(run: Run) -> list[list[Any]]:
    """By status and kind of error, the most frequent first."""
    query = f"""
    select status, failure, count(*) as times from ({rows_of(run)})
    where status != 'success' group by status, failure order by times desc limit {MOST_KINDS}
    """
    return [list(row) for row in run.connection.execute(query)]


def _by_worker(run: Run) -> list[list[Any]]:
    query = f"""
    select worker, count(*), sum(seconds), sum(status != 'success')
    from ({rows_of(run)}) group by worker order by worker
    """
    return [list(row) for row in run.connection.execute(query)]
