"""A recorded run in one line: found by its folder or its name, and summed up quickly."""

from __future__ import annotations

import difflib
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli.job import RUNS
from aworld.core.failure import STATUSES
from aworld.errors import StoreError
from aworld.store.schema import FILE

if TYPE_CHECKING:
    from aworld.store.reader import Run

SUMS = """
select status, count(*), sum(tokens), sum(cost), count(value), sum(value)
from (select r.status, r.tokens, r.cost, {value} as value from results r) group by status
"""


@dataclass(frozen=True)
class Overview:
    folder: str
    status: str  # running, complete or unfinished
    done: int
    total: int | None
    counts: dict[str, int]
    reward: float | None  # the mean; what was tried and has none counts as 0
    scored_by: str
    tokens: int
    cost: float
    created: float

    @property
    def succeeded(self) -> int:
        return self.counts.get("success", 0)

    @property
    def progress(self) -> str:
        return f"{self.done}/{'?' if self.total is None else self.total}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def overview(run: Run) -> Overview:
    """From the columns of its list alone: no trajectory is read."""
    from aworld.rewards.combined import TRIED

    scoring = run.scoring.number
    latest = f"select s.value from scores s where s.scoring = {scoring} and s.slot = r.slot"
    query = SUMS.format(value=f"({latest})" if scoring else "r.reward")
    rows = {status: sums for status, *sums in run.connection.execute(query)}
    counts = {status: rows[status][0] for status in STATUSES if status in rows}
    values = sum(row[3] for row in rows.values())
    values += sum(rows[status][0] - rows[status][3] for status in TRIED if status in rows)
    reward = None
    if run.scoring.name and values:
        reward = sum(row[4] or 0.0 for row in rows.values()) / values
    done = sum(counts.values())
    status = "complete" if done == run.total else "unfinished"
    return Overview(
        folder=str(run.folder),
        status="running" if run.writer is not None else status,
        done=done,
        total=run.total,
        counts=counts,
        reward=reward,
        scored_by=run.scoring.name,
        tokens=sum(row[1] for row in rows.values()),
        cost=sum(row[2] for row in rows.values()),
        created=run.meta.get("created") or 0.0,
    )


def summed_up(folder: Path) -> dict[str, Any]:
    """As data for a list, in which a damaged run is named as well."""
    from aworld.store.reader import open_run

    try:
        with open_run(folder) as run:
            return {"name": run.name, **overview(run).to_dict()}
    except (StoreError, sqlite3.DatabaseError) as error:
        name, created = folder.absolute().name, folder.stat().st_mtime
        return {"name": name, "folder": str(folder), "created": created, "error": str(error)}


def is_run(folder: Path) -> bool:
    return (folder / FILE).is_file()


def runs_in(folder: Path) -> list[Path]:
    """It may be a run itself."""
    if is_run(folder):
        return [folder]
    if not folder.is_dir():
        return []
    return sorted(place for place in folder.iterdir() if is_run(place))


def found_run(name: str, *, reward: str | None = None) -> Run:
    """By its folder, or by its name among the others."""
    from aworld.store.reader import open_run

    return open_run(run_folder(name), reward=reward)


def known_folder(name: str) -> Path | None:
    return next((folder for folder in (Path(name), RUNS / name) if is_run(folder)), None)


def run_folder(name: str) -> Path:
    known = known_folder(name)
    if known is not None:
        return known
    place = Path(name)
    others = runs_in(place.parent) + (runs_in(RUNS) if place.parent != RUNS else [])
    close = difflib.get_close_matches(place.name, [run.name for run in others], n=1)
    meant = next((f"; did you mean {run}?" for run in others if [run.name] == close), "")
    reason = f"there is no {FILE} in it" if place.is_dir() else "there is no such folder"
    raise StoreError(f"{name} holds no run: {reason}{meant}")
