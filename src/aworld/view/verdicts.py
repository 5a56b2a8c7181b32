"""Which rollouts a training has learned from, and why not from the others."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from aworld.train.journal import VERDICTS, readable_lines


def last_verdict_on(folder: Path, task: str, sample: int) -> dict[str, Any] | None:
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
    for line in readable_lines(path):
        sample = line.get("sample")
        if isinstance(sample, int):
            found[str(line.get("task_id")), sample] = line
    return found
