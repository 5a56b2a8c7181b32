"""Which rollouts a training has learned from, and why not from the others."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from aworld.train.journal import VERDICTS, read_journal


def verdict_on(folder: Path, task: str, sample: int) -> dict[str, Any] | None:
    """None where the run is no training, or the rollout has not been looked at."""
    try:
        found = os.stat(folder / VERDICTS)
    except OSError:
        return None
    known = _verdicts(folder / VERDICTS, found.st_mtime_ns, found.st_size)
    return known.get((task, sample))


@lru_cache(maxsize=4)
def _verdicts(path: Path, changed: int, size: int) -> dict[tuple[str, int], dict[str, Any]]:
    """The last one on each: it may have been kept for a later step."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    try:
        for line in read_journal(path):
            found[str(line.get("task_id")), int(line.get("sample") or 0)] = line
    except (OSError, ValueError, TypeError, AttributeError):  # what can be read counts
        pass
    return found
