"""How fast a run goes now, and when it will be over."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aworld.store import lock
from aworld.store.live import Live
from aworld.store.reader import Run

RECENT_SECONDS = 10  # that the pace is averaged over
LEAST_SECONDS = 1
NOTHING_LATELY: dict[str, list[list[float]]] = {"ends": [], "busy": []}


def recently(run: Run) -> dict[str, list[list[float]]]:
    """Lately: how many results were recorded in each second, and when something ran."""
    since = time.time() - RECENT_SECONDS - LEAST_SECONDS
    query = "select ended - seconds, ended from results where ended > ? order by 1"
    ends, busy = Counter[int](), list[list[float]]()
    for began, ended in run.connection.execute(query, (since,)):
        ends[int(ended)] += 1
        if busy and began - busy[-1][1] <= LEAST_SECONDS:
            busy[-1][1] = max(busy[-1][1], ended)
        else:
            busy.append([began, ended])
    return {"ends": [[second, count] for second, count in ends.items()], "busy": busy}


def rate_of(run: Mapping[str, Any], folder: Path, live: Live | None, at: float) -> float:
    """Tasks per second at a moment of a run that goes on, by its figures. Time in which nothing
    ran, as in a pause, is left out."""
    since = int(max(at - RECENT_SECONDS, taken_up(folder), run["began"] or 0.0))
    ended = sum(count for second, count in run["recent"]["ends"] if second >= since)
    running = [[task.began, at] for task in (() if live is None else live.running)]
    reach, idle = float(since), 0.0
    for start, end in sorted(run["recent"]["busy"] + running):
        if start - reach > LEAST_SECONDS:
            idle += start - reach
        reach = max(reach, end)
    return ended / max(at - since - idle, LEAST_SECONDS)


def time_left(run: Mapping[str, Any], rate: float, again: int = 0) -> float | None:
    """`again`: how many results are given up for others. Not known where nothing is owed, and yet
    something runs."""
    if run["total"] is None or not rate:
        return None
    return (run["total"] - run["done"] + again) / rate or None


def taken_up(folder: Path) -> float:
    """When the process that runs it has begun: a run that was resumed is older."""
    try:
        return os.stat(folder / lock.FILE).st_mtime
    except OSError:
        return 0.0
