"""Folders for what a training does beside its own run."""

from __future__ import annotations

from pathlib import Path


def unused(folder: Path) -> Path:
    """This one, or another beside it, where a training that did not come to save has used it."""
    found, times = folder, 1
    while found.exists():
        times += 1
        found = folder.with_name(f"{folder.name}-{times}")
    return found
