"""Finds the records of a run that are damaged, and makes a sound run of the others."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from aworld.store import schema
from aworld.store.lock import RunLock
from aworld.store.reader import Damage, Run
from aworld.store.records import TaskRow
from aworld.store.schema import checksum, salvaged

Row = tuple[Any, ...]

# Which rows of a table are what was written. Results and their bodies are looked at as a whole.
SOUND: dict[str, Callable[[Row], bool]] = {
    "agents": lambda row: checksum(row[:4]) == row[4],
    "scorings": lambda row: checksum(row[:4]) == row[4],
    "tasks": lambda row: TaskRow(*row[:-1]).crc == row[-1],
    "circumstances": lambda row: checksum(row[:4]) == row[4],
    "messages": lambda row: checksum((row[0],), row[2]) == row[3],
    "scores": lambda row: checksum(row[:3], row[3]) == row[4],
    "earlier": lambda row: checksum(row[:9]) == row[9] and checksum((row[0],), row[10]) == row[11],
}


class Findings(NamedTuple):
    sound: int  # results
    damage: list[Damage]


def examine(folder: Path) -> Findings:
    """Reads every record. Whoever writes to the run is not disturbed."""
    with Run(folder) as run:
        sound = sum(1 for _ in run.rollouts())
        for _ in run.tasks():
            pass
        run.note_losses()
        return Findings(sound, run.damage)


def repair(folder: Path) -> Findings:
    """Afterwards the damaged records are owed again. The files as they were are kept beside it."""
    unfinished = folder / "repaired"
    if (unfinished / schema.READY).exists():  # an earlier repair was broken off at its end
        lock = RunLock(folder)
        try:
            _put_in_place(folder, unfinished)
        finally:
            lock.release()
        return examine(folder)
    schema.require(folder)
    lock = RunLock(folder)
    try:
        schema.check_readable(folder)
        _keep(folder)
        schema.migrate(folder)
        schema.remove(unfinished)
        with Run(folder) as run:
            unfinished.mkdir(exist_ok=True)
            sound = _copy(run, unfinished)
            run.note_losses()
            damage = run.damage
        (unfinished / schema.FILE).rename(unfinished / schema.READY)
        _put_in_place(folder, unfinished)
    finally:
        lock.release()
    return Findings(sound, damage)


def _keep(folder: Path) -> None:
    when = time.strftime("%Y%m%d-%H%M%S")
    names = (f"damaged-{when}{suffix}" for suffix in chain([""], (f"-{n}" for n in count(1))))
    kept = next(folder / name for name in names if not (folder / name).exists())
    kept.mkdir()
    for suffix in ("", "-wal"):
        old = folder / f"{schema.FILE}{suffix}"
        if old.exists():
            shutil.copy2(old, kept / old.name)


def _copy(run: Run, folder: Path) -> int:
    meta = {"samples": run.samples, "run_id": os.urandom(8).hex(), **run.meta}
    meta.pop("recorded", None)
    new = schema.create(folder, meta)
    try:
        new.execute("begin")
        sound = _copy_rows(run, new)
        _insert(new, "meta", schema.meta_row("recorded", sound))
        new.execute("commit")
        new.execute("pragma wal_checkpoint(truncate)")
        new.execute("pragma journal_mode = delete")  # one file, to be renamed
    finally:
        new.close()
    return sound


def _copy_rows(run: Run, new: sqlite3.Connection) -> int:
    old = run.connection
    there = {name for (name,) in old.execute("select name from sqlite_master")}
    for table, is_sound in SOUND.items():
        if table not in there:  # of the first runs: they had no circumstances
            continue
        for row in salvaged(old, f"select * from {table}", schema.KEYS[table]):
            if _is(is_sound, row):
                _insert(new, table, row)
    sound = 0
    for rollout in run.rollouts():
        for table in ("results", "bodies"):
            query = f"select * from {table} where slot = ?"
            _insert(new, table, old.execute(query, (rollout.slot,)).fetchone())
        sound += 1
    return sound


def _is(sound: Callable[[Row], bool], row: Row) -> bool:
    try:
        return sound(row)
    except TypeError:  # a number where bytes were
        return False


def _insert(new: sqlite3.Connection, table: str, row: Row) -> None:
    marks = ", ".join("?" * len(row))
    new.execute(f"insert or ignore into {table} values ({marks})", row)


def _put_in_place(folder: Path, repaired: Path) -> None:
    """Can be broken off anywhere, and is then done again. The old log goes with the old file."""
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{schema.FILE}{suffix}").unlink(missing_ok=True)
    (repaired / schema.READY).rename(folder / schema.FILE)
    schema.remove(repaired)
