"""What the rows say: the figure of each contender, and where a peer is ahead of us."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

Row = dict[str, Any]  # of one run: contender, group, ours, tasks, seconds, hangs, good, ...


class Measure(NamedTuple):
    what: str
    field: str  # of a row
    shown: str
    unit: str
    summary: Callable[[list[float]], float]

    def told(self, value: float | None) -> str:
        return "none" if value is None else f"{self.shown.format(value)} {self.unit}"


SECONDS = Measure("start to end", "seconds", "{:.2f}", "s", median)
WORK = Measure("once it has started", "work_seconds", "{:.2f}", "s", median)
MEMORY = Measure("memory", "memory_mb", "{:.0f}", "MB", max)


class Behind(NamedTuple):
    what: str
    tasks: int
    peer: str
    theirs: str
    name: str
    ours: str


def sizes(rows: list[Row]) -> list[int]:
    return sorted({row["tasks"] for row in rows if "killed" not in row})


def names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["contender"] for row in rows))


def values(rows: list[Row], measure: Measure, name: str, tasks: int) -> list[float]:
    """Of all runs that count. Watching memory costs time: a timing is taken without, if it can."""
    done = [
        row
        for row in rows
        if (row["contender"], row["tasks"]) == (name, tasks)
        and "killed" not in row
        and row["good"] == tasks
        and not row["hangs"]
    ]
    if measure is not MEMORY:
        done = [row for row in done if "memory_mb" not in row] or done
    return [row[measure.field] for row in done if measure.field in row]


def figure(rows: list[Row], measure: Measure, name: str, tasks: int) -> float | None:
    found = values(rows, measure, name, tasks)
    return measure.summary(found) if found else None


def pairs(rows: list[Row]) -> Iterator[tuple[str, str]]:
    """Each peer, with the one of us in its group."""
    ours = {row["group"]: row["contender"] for row in rows if row["ours"]}
    groups = {row["contender"]: row["group"] for row in rows if not row["ours"]}
    yield from ((peer, ours[group]) for peer, group in groups.items() if group in ours)


def behind(rows: list[Row]) -> list[Behind]:
    """Every figure in which a peer is better than the one of us in its group."""
    found = []
    for measure in (SECONDS, WORK, MEMORY):
        for tasks in sizes(rows):
            for peer, us in pairs(rows):
                theirs = figure(rows, measure, peer, tasks)
                mine = figure(rows, measure, us, tasks)
                if theirs is not None and (mine is None or theirs < mine):
                    told = (peer, measure.told(theirs), us, measure.told(mine))
                    found.append(Behind(measure.what, tasks, *told))
    return found + behind_after_kill(rows)


def behind_after_kill(rows: list[Row]) -> list[Behind]:
    """A peer that lost fewer results, or was sooner with as many."""
    killed = {row["contender"]: row for row in rows if row.get("killed")}
    found = []
    for peer, us in pairs(rows):
        if peer not in killed or us not in killed:
            continue
        theirs, mine = killed[peer], killed[us]
        tasks = mine["tasks"]
        if theirs["good"] > mine["good"]:
            told = (peer, f"{theirs['good']} results", us, f"{mine['good']} results")
            found.append(Behind("one worker killed", tasks, *told))
        elif theirs["good"] == mine["good"] and theirs["seconds"] < mine["seconds"]:
            told = (peer, SECONDS.told(theirs["seconds"]), us, SECONDS.told(mine["seconds"]))
            found.append(Behind("start to end, one worker killed", tasks, *told))
    return found
