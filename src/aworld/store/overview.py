"""A recorded run in one line, summed up quickly."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.core.failure import STATUSES, TRIED
from aworld.errors import StoreError
from aworld.store.schema import FILE
from aworld.store.scores import reward_column

if TYPE_CHECKING:
    from aworld.store.reader import Run

KEPT = ("damaged-", "repaired")  # folders inside that of a run

SUMS = """
select status, count(*), sum(tokens), sum(cost), count(value), count({worth}), sum({worth})
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
    scored: int  # have a reward
    counted: int  # of the mean
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

    @property
    def is_unscored(self) -> bool:
        """Something was to be scored, and nothing was."""
        return bool(self.scored_by) and not self.scored and self.counted < self.done

    @property
    def mean(self) -> str:
        """Over how many, where that is not all."""
        if self.reward is None:
            return "not known"
        over = "" if self.counted == self.done else f" over {self.counted} of {self.done}"
        return f"{self.reward:.3f}{over}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def worth_of(reward: str) -> str:
    """`worth` in SQL: what a result counts as in the mean reward of its run."""
    tried = ", ".join(f"'{status}'" for status in TRIED)
    return f"case when {reward} is null and status in ({tried}) then 0.0 else {reward} end"


def status_of(done: int, total: int | None, writer: Mapping[str, Any] | None) -> str:
    """'running', 'complete' or 'unfinished'."""
    if writer is not None:
        return "running"
    return "complete" if done == total else "unfinished"


def overview(run: Run) -> Overview:
    """From the columns of its list alone: no trajectory is read."""
    writer = run.writer  # before the results: it may end in between
    query = SUMS.format(value=reward_column(run.scoring.number), worth=worth_of("value"))
    rows = {status: sums for status, *sums in run.connection.execute(query)}
    counts = {status: rows[status][0] for status in STATUSES if status in rows}
    counted = sum(row[4] for row in rows.values())
    reward = None
    if run.scoring.name and counted:
        reward = sum(row[5] or 0.0 for row in rows.values()) / counted
    done = sum(counts.values())
    total = run.total
    return Overview(
        folder=str(run.folder),
        status=status_of(done, total, writer),
        done=done,
        total=total,
        counts=counts,
        reward=reward,
        scored=sum(row[3] for row in rows.values()),
        counted=counted,
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
    """Also where that may not be known: whoever opens it is told why it cannot be read."""
    try:
        return (folder / FILE).is_file()
    except PermissionError:
        return True


def runs_in(folder: Path) -> list[Path]:
    """It may be a run itself; then what was kept of it when it was repaired is none of its own."""
    if not folder.is_dir():
        return []
    inside = sorted(place for place in folder.iterdir() if is_run(place))
    if not is_run(folder):
        return inside
    return [folder, *(place for place in inside if not place.name.startswith(KEPT))]
