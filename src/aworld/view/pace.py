"""How fast a run goes now, and when it will be over."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aworld.store import lock
from aworld.store.reader import Run

RECENT_SECONDS = 10  # that the pace is averaged over
LEAST_SECONDS = 1


def recent_ends(run: Run) -> list[list[int]]:
    """How many results were recorded in each second, lately."""
    query = "select cast(ended as integer), count(*) from results where ended > ? group by 1"
    since = time.time() - RECENT_SECONDS - LEAST_SECONDS
    return [list(row) for row in run.connection.execute(query, (since,))]


def rate_of(run: Mapping[str, Any], folder: Path, at: float) -> float:
    """Tasks per second at a moment of a run that goes on, by its figures."""
    since = int(max(at - RECENT_SECONDS, _taken_up(folder), run["began"] or 0.0))
    ended = sum(count for second, count in run["recent"] if second >= since)
    return ended / max(at - since, LEAST_SECONDS)


def time_left(run: Mapping[str, Any], rate: float) -> float | None:
    if run["total"] is None or not rate:
        return None
    return (run["total"] - run["done"]) / rate


def _taken_up(folder: Path) -> float:
    """When the process that runs it has begun: a run that was resumed is older."""
    try:
        return os.stat(folder / lock.FILE).st_mtime
    except OSError:
        return 0.0
