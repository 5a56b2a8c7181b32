"""The folder of a training, and those in it for what it does beside its own run."""

from __future__ import annotations

from pathlib import Path

CONFIG = "train.json"  # tells a training from any other run
EVALUATIONS = "evaluations"  # each in a folder of its own


def is_training(folder: Path) -> bool:
    return (folder / CONFIG).is_file()


def unused(folder: Path) -> Path:
    """This one, or another beside it, where a training that did not come to save has used it."""
    found, times = folder, 1
    while found.exists():
        times += 1
        found = folder.with_name(f"{folder.name}-{times}")
    return found
