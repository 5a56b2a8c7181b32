"""What a run tells of itself while it goes, and what it is told: files beside its database."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aworld.store.durable import read_plain_file

LIVE = "live.json"
PAUSE = "pause"
FRESH_SECONDS = 5.0  # older news is of a process that was killed, or is held up
MOST_RUNNING = 2_000  # tasks that are named; more are counted


class RunningTask(NamedTuple):
    """A place in the run that a worker is busy with."""

    slot: int
    worker: int
    began: float


@dataclass(frozen=True, slots=True)
class Live:
    """How a run stands at a moment."""

    running: tuple[RunningTask, ...] = ()
    count: int = 0  # of those that run, also where not all are named
    paused: bool = False
    cancelling: bool = False  # it begins nothing more
    retried: tuple[str, ...] = ()  # earlier results of these statuses are given up for others


def write_live(
    folder: Path,
    running: Sequence[RunningTask],
    *,
    paused: bool,
    cancelling: bool = False,
    retried: Sequence[str] = (),
) -> None:
    """There as a whole or not at all. It is no record: a full disk does not matter."""
    content = {
        "at": time.time(),
        "paused": paused,
        "cancelling": cancelling,
        "retried": list(retried),
        "count": len(running),
        "running": [list(task) for task in running[:MOST_RUNNING]],
    }
    unfinished = folder / f"{LIVE}.{os.getpid()}"
    try:
        unfinished.write_text(json.dumps(content), "utf-8")
        unfinished.replace(folder / LIVE)
    except OSError:
        unfinished.unlink(missing_ok=True)


def read_live(folder: Path) -> Live | None:
    """None where nobody has told anything lately."""
    try:
        found = json.loads(read_plain_file(folder / LIVE))
        if abs(time.time() - found["at"]) > FRESH_SECONDS:
            return None
        running = (RunningTask(int(s), int(w), float(b)) for s, w, b in found["running"])
        retried = tuple(map(str, found.get("retried", ())))
        state = (bool(found["paused"]), bool(found.get("cancelling")), retried)
        return Live(tuple(running), int(found["count"]), *state)
    except (OSError, ValueError, TypeError, LookupError):
        return None


def forget_live(folder: Path) -> None:
    for name in (LIVE, PAUSE):
        (folder / name).unlink(missing_ok=True)


def ask_to_pause(folder: Path, paused: bool) -> None:
    """Heard by the process that runs the run, within a second."""
    if paused:
        (folder / PAUSE).touch()
    else:
        (folder / PAUSE).unlink(missing_ok=True)


def is_to_pause(folder: Path) -> bool:
    return (folder / PAUSE).exists()
