"""What the shell offers when Tab is pressed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def run_folders(incomplete: str) -> Iterator[str]:
    """Runs, and the folders on the way to them."""
    from aworld.cli.places import RUNS
    from aworld.store.schema import FILE

    place = incomplete.rpartition("/")[0]
    for folder in {Path(place or "."), RUNS}:
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if (entry / FILE).is_file():
                yield str(entry)
            elif entry.is_dir() and not entry.name.startswith("."):
                yield f"{entry}/"


def rewards() -> Iterator[str]:
    from aworld.rewards.catalog import BUILT_IN

    yield from BUILT_IN


def engines() -> Iterator[str]:
    from aworld.engines import ENGINES

    yield from ENGINES


def formats() -> Iterator[str]:
    from aworld.exports.exporting import FORMATS

    yield from FORMATS


def statuses() -> Iterator[str]:
    from aworld.core.failure import STATUSES

    yield from STATUSES
