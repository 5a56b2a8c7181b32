"""Writes a run to disk. What it has recorded is durable when `record` returns."""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from aworld.core.shown import as_word
from aworld.core.task import Task, TaskResponse
from aworld.errors import StoreError
from aworld.rewards.base import Scored
from aworld.store import schema
from aworld.store import scores as scores_table
from aworld.store.blobs import Blobs
from aworld.store.encoding import encode
from aworld.store.folder import write_config
from aworld.store.lock import RunLock
from aworld.store.packing import SharedParts, packed
from aworld.store.records import circumstances, result_row, task_row
from aworld.store.schema import checksum

# An earlier result of the same task is kept, in a table of its own.
SET_ASIDE = """
insert into earlier select r.*, b.body, b.crc
from results r join bodies b on b.slot = r.slot where r.slot = ?
"""
ROWS_AT_ONCE = 500
REPLACED = ("tasks", "meta", "circumstances")  # what is newer takes the place of what is there


class Finished(NamedTuple):
    """A response and its place in the run."""

    slot: int
    response: TaskResponse
    round: int = 0


class RunWriter:
    """The one writer of a run, in the driver. One thread records; others may note tasks."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, lock: RunLock):
        self.folder = folder
        self._connection = connection
        self._writing = threading.Lock()
        self._lock = lock
        self._blobs = Blobs(folder / "blobs")
        self._tasks: deque[tuple[int, Task, int]] = deque()  # for the next transaction
        self._shared = self._known_parts()
        (self._recorded,) = connection.execute("select count(*) from results").fetchone()
        self._agents = {
            fingerprint: number
            for number, fingerprint in connection.execute("select number, fingerprint from agents")
        }

    @classmethod
    def create(
        cls,
        folder: Path,
        meta: dict[str, Any],
        config: Mapping[str, Any] | None = None,
        *,
        lock: RunLock | None = None,
    ) -> RunWriter:
        """A new run. Where it cannot be made, nothing is left of it. lock: that of the folder, if
        it is held already; the writer releases it."""
        with _clear_errors(folder, "start the run again"):
            folder.mkdir(parents=True, exist_ok=True)
            lock = lock or RunLock(folder)
            try:
                if schema.is_begun(folder):
                    raise StoreError(
                        f"{folder} holds a run already: go on with it by Runners.resume or "
                        "`aworld resume`, or choose another folder"
                    )
                if config is not None:
                    write_config(folder, config)
                facts = {"run_id": os.urandom(8).hex(), "created": time.time(), **meta}
                return cls(folder, schema.create(folder, facts), lock)
            except BaseException:
                lock.release()
                raise

    @classmethod
    def open(cls, folder: Path, *, lock: RunLock | None = None) -> RunWriter:
        schema.require(folder)
        with _clear_errors(folder):
            lock = lock or RunLock(folder)
            try:
                return cls(folder, schema.open_to_write(folder), lock)
            except BaseException:
                lock.release()
                raise

    def set_meta(self, **values: Any) -> None:
        with self._transaction() as run:
            _insert(run, "meta", [schema.meta_row(key, value) for key, value in values.items()])

    def remove(self, slots: Iterable[int]) -> None:
        """Results that are damaged: they are owed again."""
        with self._transaction() as run:
            self._remove(run, [(slot,) for slot in slots])

    def _remove(self, run: sqlite3.Connection, slots: list[tuple[int]]) -> None:
        run.executemany("delete from bodies where slot = ?", slots)
        run.executemany("delete from scores where slot = ?", slots)
        run.executemany("delete from circumstances where slot = ?", slots)
        self._recorded -= run.executemany("delete from results where slot = ?", slots).rowcount

    def agent_number(self, name: str, spec: str, fingerprint: str) -> int:
        number = self._agents.get(fingerprint)
        if number is None:
            number = max(self._agents.values(), default=-1) + 1
            self._agents[fingerprint] = number
            row = (number, name, spec, fingerprint)
            with self._transaction() as run:
                _insert(run, "agents", [(*row, checksum(row))])
        return number

    def note_task(self, position: int, task: Task, agent: int) -> None:
        """It is written together with what is recorded next."""
        self._tasks.append((position, task, agent))

    def record(self, finished: Iterable[Finished]) -> int:
        """All in one transaction, durable when it returns; gives how many bytes it is."""
        now, size = time.time(), 0
        results: list[tuple[Any, ...]] = []
        bodies: list[tuple[int, bytes, int]] = []
        around: list[tuple[Any, ...]] = []
        given_up: list[tuple[int]] = []
        tasks: list[tuple[Any, ...]] = []
        with _clear_errors(self.folder):
            for slot, response, round_number in finished:
                result = result_row(slot, response, round_number, now)
                whole = packed(response, self._shared)
                size += len(whole)  # big values included
                body = encode(whole, self._blobs)
                results.append((*result, result.crc))
                bodies.append((slot, body, checksum((slot,), body)))
                made = circumstances(slot, response)
                around.append((*made, made.crc))
                if round_number:
                    given_up.append((slot,))
            while self._tasks:
                task = task_row(*self._tasks.popleft(), self._blobs)
                tasks.append((*task, task.crc))
        new = [
            (row, digest, part, checksum((row,), part)) for row, digest, part in self._shared.new
        ]
        self._shared.new.clear()
        with self._transaction() as run:
            if given_up:
                run.executemany(SET_ASIDE, given_up)
                self._remove(run, given_up)
            _insert(run, "tasks", tasks)
            _insert(run, "messages", new)
            _insert(run, "results", results)
            _insert(run, "bodies", bodies)
            _insert(run, "circumstances", around)
            self._recorded += len(results)
            _insert(run, "meta", [schema.meta_row("recorded", self._recorded)])
        return size

    def add_scoring(self, name: str, spec: str, scores: Iterable[tuple[int, Scored]]) -> None:
        with self._transaction() as run:
            scores_table.add_scoring(run, name, spec, scores)

    def flush(self) -> None:
        """Writes the tasks that were noted."""
        if self._tasks:
            self.record([])

    def close(self) -> None:
        try:
            self._connection.close()
        finally:
            self._lock.release()

    def _known_parts(self) -> SharedParts:
        known, last = {}, 0
        for number, digest, body, crc in self._connection.execute("select * from messages"):
            last = max(last, number)
            if checksum((number,), body) == crc:  # nothing new is to refer to a damaged one
                known[digest] = number
        return SharedParts(known, last)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing, _clear_errors(self.folder):
            self._connection.execute("begin immediate")
            try:
                yield self._connection
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise


def _insert(run: sqlite3.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Many rows in a statement: after each statement the other threads have a turn, and take it."""
    way = "insert or replace" if table in REPLACED else "insert"
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        marks = f"({', '.join('?' * len(part[0]))})"
        statement = f"{way} into {table} values {', '.join([marks] * len(part))}"
        run.execute(statement, list(chain.from_iterable(part)))


class _clear_errors:  # noqa: N801 - used like a function; a class is quicker than a generator
    """A full disk and the like, in one line that says what to do."""

    __slots__ = ("_folder", "_then")

    def __init__(self, folder: Path, then: str = "resume the run"):
        self._folder = folder
        self._then = then

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, (sqlite3.Error, OSError)):
            return
        said = str(error)
        no_room = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        if no_room or "disk is full" in said:
            raise StoreError(
                f"no room is left in {self._folder}: what was finished until now is safe; make "
                f"room, then {self._then} ({said})"
            ) from error
        hint = ""
        if "malformed" in said:
            repair = f"aworld doctor {as_word(self._folder)} --repair"
            hint = f"; `{repair}` makes a sound run of what is left"
        raise StoreError(f"{self._folder} cannot be written: {said}{hint}") from error
