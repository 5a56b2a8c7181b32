"""The folder of a training, and those in it for what it does beside its own run."""

from __future__ import annotations

from pathlib import Path

from aworld.errors import ConfigError
from aworld.store import lock, schema

CONFIG = "train.json"  # tells a training from any other run
EVALUATIONS = "evaluations"  # each in a folder of its own


def check_place(folder: Path, hint: str) -> None:
    """It may be new, empty or that of a training. hint: how another is chosen."""
    others = {path.name for path in folder.iterdir()} if folder.exists() else set()
    others -= {lock.FILE}  # of one that was broken off before it began
    if others and CONFIG not in others:
        has_run = schema.FILE in others
        what = "a run, no training" if has_run else f"other things ({min(others)!r:.60})"
        raise ConfigError(f"{folder} holds {what}: {hint}")


def is_training(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def unused(folder: Path) -> Path:
    """This one, or another beside it, where a training that did not come to save has used it."""
    found, times = folder, 1
    while found.exists():
        times += 1
        found = folder.with_name(f"{folder.name}-{times}")
    return found
