"""A recorded run in one line: found by its folder or its name, and summed up quickly."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli.job import RUNS
from aworld.cli.output import as_word
from aworld.core.failure import STATUSES, first_line
from aworld.errors import ConfigError, DamagedError, StoreError
from aworld.store.schema import FILE

if TYPE_CHECKING:
    from aworld.store.reader import Run

KEPT = ("damaged-", "repaired")  # folders inside that of a run

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
        scored=sum(row[3] for row in rows.values()),
        counted=values,
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
    """It may be a run itself; then what was kept of it when it was repaired is none of its own."""
    if not folder.is_dir():
        return []
    inside = sorted(place for place in folder.iterdir() if is_run(place))
    if not is_run(folder):
        return inside
    return [folder, *(place for place in inside if not place.name.startswith(KEPT))]


@contextmanager
def found_run(name: str, *, reward: str | None = None) -> Iterator[Run]:
    """By its folder, or by its name among the others."""
    from aworld.store.reader import open_run

    folder = run_folder(name)
    with damage_told(folder), open_run(folder, reward=reward) as run:
        try:
            yield run
        except ConfigError as error:
            if not run.damage:
                raise
            raise _damaged(folder, error) from error  # what is missing may be what was asked for


@contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Where a run cannot be read because it is damaged, the error says what mends it."""
    try:
        yield
    except (
        *(sqlite3.DatabaseError, StoreError),
        *(AttributeError, TypeError, ValueError, LookupError),  # of what a damaged page may hold
    ) as error:
        is_sure = isinstance(error, (sqlite3.DatabaseError, DamagedError))
        if "--repair" in str(error) or not (is_sure or _is_damaged(folder)):
            raise  # as it is: in use, no room, or a mistake of ours
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> DamagedError:
    return DamagedError(
        f"{folder} is damaged ({first_line(error)}): `aworld doctor {as_word(folder)} --repair` "
        "makes a sound run of what is left"
    )


def _is_damaged(folder: Path) -> bool:
    from aworld.store.repair import examine

    try:
        return bool(examine(folder).damage)
    except Exception:  # not even that can be found out
        return True


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
