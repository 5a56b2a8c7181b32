"""A recorded run, found by its folder or its name, and what is asked for in it."""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aworld.cli.places import RUNS
from aworld.core.failure import first_line
from aworld.core.shown import as_word
from aworld.errors import ConfigError, DamagedError, StoreError
from aworld.store.overview import is_run, runs_in
from aworld.store.schema import FILE

if TYPE_CHECKING:
    from aworld.store.reader import Run

MOST_IDS = 10_000  # among which a mistyped one is looked for


@contextmanager
def found_run(name: str, *, reward: str | None = None) -> Iterator[Run]:
    """By its folder, or by its name among the others."""
    from aworld.store.reader import open_run

    folder = run_folder(name)
    with damage_told(folder), open_run(folder, reward=reward) as run:
        try:
            yield run
        except ConfigError as error:
            if not run.damage:
                raise
            raise _damaged(folder, error) from error  # what is missing may be what was asked for


@contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Where a run cannot be read because it is damaged, the error says what mends it."""
    try:
        yield
    except (
        *(sqlite3.DatabaseError, StoreError),
        *(AttributeError, TypeError, ValueError, LookupError),  # of what a damaged page may hold
    ) as error:
        if "--repair" in str(error):
            raise
        _check_can_be_opened(folder)
        is_sure = isinstance(error, (sqlite3.DatabaseError, DamagedError))
        if not (is_sure or _is_damaged(folder)):
            raise  # as it is: in use, no room, or a mistake of ours
        raise _damaged(folder, error) from error


def _check_can_be_opened(folder: Path) -> None:
    """What cannot be is refused by a repair as well: the words of that refusal say what to do."""
    from aworld.store.reader import open_run

    try:
        open_run(folder).close()
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{folder} cannot be read: {first_line(error)}") from error


def _damaged(folder: Path, error: Exception) -> DamagedError:
    return DamagedError(
        f"{folder} is damaged ({first_line(error)}): `aworld doctor {as_word(folder)} --repair` "
        "makes a sound run of what is left"
    )


def _is_damaged(folder: Path) -> bool:
    from aworld.store.repair import examine

    try:
        return bool(examine(folder).damage)
    except Exception:  # not even that can be found out
        return True


def known_folder(name: str) -> Path | None:
    return next((folder for folder in (Path(name), RUNS / name) if is_run(folder)), None)


def run_folder(name: str) -> Path:
    known = known_folder(name)
    if known is not None:
        return known
    place = Path(name)
    others = runs_in(place.parent) + (runs_in(RUNS) if place.parent != RUNS else [])
    close = difflib.get_close_matches(place.name, [run.name for run in others], n=1)
    meant = next((f"; did you mean {run}?" for run in others if [run.name] == close), "")
    reason = f"there is no {FILE} in it" if place.is_dir() else "there is no such folder"
    raise StoreError(f"{name} holds no run: {reason}{meant}")


def unknown_task(run: Run, given: str, ids: Iterable[str]) -> ConfigError:
    """ids: those that could have been meant."""
    close = difflib.get_close_matches(given, list(islice(ids, MOST_IDS)), n=3)
    meant = f"; did you mean {', '.join(map(repr, close))}?" if close else ""
    listed = f"`aworld show {as_word(run.folder)}` lists them"
    return ConfigError(f"no task named {given!r:.80} in {run.folder}{meant} ({listed})")


def check_sample(run: Run, sample: int) -> None:
    if not 0 <= sample < run.samples:
        raise ConfigError(f"there is no sample {sample}: {run.folder} has 0 to {run.samples - 1}")
