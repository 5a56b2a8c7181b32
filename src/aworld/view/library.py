"""The runs under a folder: found, summed up, and remembered until they change."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from aworld.core.shown import as_word
from aworld.errors import ConfigError, StoreError
from aworld.store import lock
from aworld.store.folder import CONFIG
from aworld.store.overview import KEPT, is_run
from aworld.store.reader import Run, open_run
from aworld.store.schema import FILE
from aworld.train.folders import CONFIG as TRAINING
from aworld.train.journal import METRICS

Found = TypeVar("Found")
Mark = tuple[int, ...]

DEEPEST = 4  # folders in folders
MOST_RUNS = 5_000
MOST_FOLDERS = 20_000
MOST_REMEMBERED = 10_000
NO_RUNS_IN = ("blobs", "checkpoints", "exports", "node_modules")
WATCHED = (FILE, f"{FILE}-wal", METRICS, CONFIG, TRAINING)


class NoRunError(ConfigError):
    """It may be there later."""


class Library:
    """All runs under `root`, which may be a run itself. Nothing in it is ever changed."""

    def __init__(self, root: Path, *, depth: int = DEEPEST):
        self.root = root.resolve()
        self._depth = depth
        self._remembered: dict[tuple[str, str], tuple[Mark, Any]] = {}
        self._making: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)

    def names(self) -> list[str]:
        """By the path from the root, with / between its parts; the root itself is '.'."""
        return [self._name_of(folder) for folder in _runs_under(self.root, self._depth)]

    def folder(self, name: str) -> Path:
        """Of a run by its name, which came from outside: it must not lead out of the root."""
        folder = Path(os.path.normpath(self.root / name))
        inside = folder == self.root or folder.is_relative_to(self.root)
        try:
            known = "\0" not in name and inside and is_run(folder)
            if known and not folder.resolve().is_relative_to(self.root):
                raise ConfigError(f"the run {name!r} is a link that leads out of {self.root}")
        except OSError:  # no name that a file could have
            known = False
        if not known:
            raise NoRunError(f"there is no run {name!r:.200} in {self.root}")
        return folder

    @contextmanager
    def open(self, name: str) -> Iterator[Run]:
        """Read-only. Where it is damaged, the error says what mends it."""
        folder = self.folder(name)
        try:
            with open_run(folder) as run:
                yield run
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{folder} is damaged ({error}): `aworld doctor {as_word(folder)} --repair` makes "
                "a sound run of what is left"
            ) from error

    def remembered(self, kind: str, name: str, make: Callable[[], Found]) -> Found:
        """What was made of the run as it is now. It is made once, whoever asks."""
        mark = self.mark(name)
        with self._making[kind, name]:
            known = self._remembered.get((kind, name))
            if known is not None and known[0] == mark:
                return known[1]
            made = make()
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[kind, name] = (mark, made)
            return made

    def mark(self, name: str) -> Mark:
        """Changes whenever the run does."""
        folder, mark = self.folder(name), []
        for file in WATCHED:
            try:
                found = os.stat(folder / file)
                mark += [found.st_mtime_ns, found.st_size, found.st_ino]
            except OSError:
                mark.append(0)
        return (*mark, lock.holder(folder) is not None)

    def _name_of(self, folder: Path) -> str:
        return folder.relative_to(self.root).as_posix()


def _runs_under(root: Path, depth: int) -> Iterator[Path]:
    """Near ones first; of a folder with very many others in it, not all are looked into."""
    places, looked, found = deque([(root, depth)]), 0, 0
    while places and looked < MOST_FOLDERS and found < MOST_RUNS:
        folder, deeper = places.popleft()
        looked += 1
        if is_run(folder):
            found += 1
            yield folder
        if deeper:
            places.extend((inside, deeper - 1) for inside in _folders_in(folder))


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                Path(entry.path)
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and not entry.name.startswith((".", *KEPT))
                and entry.name not in NO_RUNS_IN
            )
    except OSError:
        return []
