"""The tables of a run, and how its file is opened.

What is listed often (a status, a reward) stands apart from what is long (a trajectory), so that a
page of a large run is read at once. A result's place is its slot: the position of its task times
the samples of the run, plus its sample. Every record has a checksum over all that it says.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aworld.core.shown import as_word
from aworld.errors import StoreError

VERSION = 1
FILE = "run.db"
READY = "ready.db"  # of a repair that is all but done
AT_ONCE = 5_000  # bytes of a checksum

CIRCUMSTANCES = """
create table if not exists circumstances (
    slot integer primary key, worker integer, began real, failure text not null,
    crc integer not null)
"""

TABLES = f"""{CIRCUMSTANCES};
create table meta (
    key text primary key, value text not null, crc integer not null) without rowid;
create table tasks (
    position integer primary key, id text not null, agent integer not null,
    fingerprint blob not null, body blob not null, crc integer not null);
create index tasks_by_id on tasks (id);
create table agents (
    number integer primary key, name text not null, spec text not null, fingerprint text not null,
    crc integer not null);
create table results (
    slot integer primary key, status text not null, reward real, seconds real not null,
    tokens integer not null, cost real not null, attempts integer not null, round integer not null,
    ended real not null, crc integer not null);
create table bodies (slot integer primary key, body blob not null, crc integer not null);
create table earlier (
    slot integer, status text not null, reward real, seconds real not null,
    tokens integer not null, cost real not null, attempts integer not null, round integer not null,
    ended real not null, crc integer not null, body blob not null, body_crc integer not null,
    primary key (slot, round)) without rowid;
create table messages (
    id integer primary key, digest blob not null, body blob not null, crc integer not null);
create table scorings (
    id integer primary key, name text not null, spec text not null, at real not null,
    crc integer not null);
create table scores (
    scoring integer, slot integer, value real, body blob, crc integer not null,
    primary key (scoring, slot)) without rowid;
"""

KEYS = {
    "tasks": "position",
    "agents": "number",
    "results": "slot",
    "circumstances": "slot",
    "earlier": "slot, round",
    "messages": "id",
    "scorings": "id",
    "scores": "scoring, slot",
}

# From version to version: the statements that make of a file of that version one of the next.
MIGRATIONS: dict[int, str] = {}


def checksum(fields: tuple[Any, ...], *bodies: bytes) -> int:
    """Over all that a record says."""
    crc = zlib.crc32(repr(fields).encode("utf-8", "surrogatepass"))
    for body in bodies:
        if len(body) <= AT_ONCE:
            crc = zlib.crc32(body, crc)
            continue
        # In pieces: for a long one zlib lets other threads run, only to stop them a moment later.
        # Those that wait for their turn are then kept from it for a long time.
        whole = memoryview(body)
        for start in range(0, len(body), AT_ONCE):
            crc = zlib.crc32(whole[start : start + AT_ONCE], crc)
    return crc


def meta_row(key: str, value: Any) -> tuple[str, str, int]:
    text = json.dumps(value)
    return key, text, checksum((key, text))


def salvaged(connection: sqlite3.Connection, query: str, key: str) -> Iterator[tuple[Any, ...]]:
    """All rows that can be read: from the front up to a damaged page, and from the back."""
    try:
        yield from connection.execute(f"{query} order by {key}")
    except sqlite3.DatabaseError:
        seen_from_the_back = []
        backwards = ", ".join(f"{column} desc" for column in key.split(", "))
        try:
            for row in connection.execute(f"{query} order by {backwards}"):
                seen_from_the_back.append(row)
        except sqlite3.DatabaseError:
            pass
        yield from reversed(seen_from_the_back)


def has_circumstances(connection: sqlite3.Connection) -> bool:
    """The first runs had none."""
    named = "select 1 from sqlite_master where name = 'circumstances'"
    return connection.execute(named).fetchone() is not None


def require(folder: Path) -> None:
    try:
        found = (folder / FILE).is_file()
    except PermissionError:
        raise StoreError(f"no permission to read {folder}") from None
    if found and not os.access(folder / FILE, os.R_OK):
        raise StoreError(f"no permission to read {folder / FILE}")
    if found:
        return
    if (folder / "repaired" / READY).exists():
        raise StoreError(
            f"the repair of {folder} was broken off: `aworld doctor {as_word(folder)} --repair` "
            "ends it"
        )
    raise StoreError(f"{folder} holds no run: there is no {FILE} in it")


def remove(folder: Path) -> None:
    """What `create` makes, and the folder, if there is nothing else in it."""
    _remove_files(folder)
    if folder.is_dir():
        folder.rmdir()


def _remove_files(folder: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{FILE}{suffix}").unlink(missing_ok=True)


def create(folder: Path, meta: dict[str, Any]) -> sqlite3.Connection:
    """There as a whole or not at all."""
    connection = _connected(folder / FILE, "rwc")
    try:
        connection.execute("pragma page_size = 8192")
        _be_durable(connection)
        connection.execute("begin")
        for statement in TABLES.split(";"):
            connection.execute(statement)
        rows = [meta_row(key, value) for key, value in meta.items()]
        connection.executemany("insert into meta values (?, ?, ?)", rows)
        connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")
    except BaseException:
        connection.close()
        _remove_files(folder)
        raise
    return connection


def is_begun(folder: Path) -> bool:
    """Whether there is a file of a run. One whose creation was broken off is removed."""
    if (folder / "repaired" / READY).exists():
        return True
    if not (folder / FILE).exists():
        return False
    connection = _connected(folder / FILE, "rw")
    try:
        empty = connection.execute("select count(*) from sqlite_master").fetchone()[0] == 0
    except sqlite3.DatabaseError:
        return True
    finally:
        connection.close()
    if empty:
        _remove_files(folder)
    return not empty


def open_to_write(folder: Path) -> sqlite3.Connection:
    """Brings a run of an older aworld up to date."""
    connection = _connected(folder / FILE, "rw")
    _be_durable(connection)
    version = _version(connection, folder)
    connection.execute(CIRCUMSTANCES)  # the first runs had none
    while version < VERSION:
        connection.executescript(
            f"begin; {MIGRATIONS[version]} pragma user_version = {version + 1}; commit;"
        )
        version += 1
    return connection


def migrate(folder: Path) -> None:
    """Does nothing to a run that cannot be opened as a whole."""
    try:
        open_to_write(folder).close()
    except (StoreError, sqlite3.DatabaseError):
        pass


def open_to_read(folder: Path) -> sqlite3.Connection:
    """Sees a run while it is written. Nothing in the file is trusted, and nothing is changed."""
    connection, version = _opened(folder)
    if version < VERSION:
        connection.close()
        raise StoreError(
            f"{folder} was written by an older aworld: `aworld doctor {as_word(folder)} --repair` "
            "brings it up to date"
        )
    return connection


def check_readable(folder: Path) -> None:
    """Of whatever version. An error says why nothing can be made of it."""
    _opened(folder)[0].close()


def _opened(folder: Path) -> tuple[sqlite3.Connection, int]:
    path = folder / FILE
    connection = _connected(path, "ro")
    try:
        version = _version(connection, folder)
    except (sqlite3.OperationalError, StoreError) as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            connection = _copied(path)  # a folder that cannot be written to has no room for locks
        elif _is_cut(path):
            connection = _as_if_whole(path)
        else:
            raise
        version = _version(connection, folder)
    return connection, version


def lost(folder: Path, reason: str) -> StoreError:
    """Of a file whose first page, which leads to all others, cannot be read."""
    from aworld.store.folder import to_start_again

    return StoreError(
        f"{folder / FILE} is no run, or its beginning is damaged ({reason}): nothing is left to "
        f"repair; {to_start_again(folder)}"
    )


def _is_cut(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header = file.read(100)
    is_ours = header.startswith(b"SQLite format 3")
    return is_ours and path.stat().st_size < _whole_size(header)


def _whole_size(header: bytes) -> int:
    return int.from_bytes(header[16:18], "big") * int.from_bytes(header[28:32], "big")


def _as_if_whole(path: Path) -> sqlite3.Connection:
    """A copy with empty pages where the file was cut: the pages that are left can then be read."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / FILE
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file:
            file.truncate(_whole_size(file.read(100)))
        try:
            return _kept_open(_connected(copy, "ro&immutable=1"))
        except sqlite3.DatabaseError as error:  # not even its first page is whole
            raise lost(path.parent, str(error)) from None


def _copied(path: Path) -> sqlite3.Connection:
    """With what is still in its log: that counts, too."""
    log = path.with_name(f"{FILE}-wal")
    if not log.exists() or not log.stat().st_size:
        return _connected(path, "ro&immutable=1")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(path, Path(folder) / FILE)
        shutil.copyfile(log, Path(folder) / log.name)
        return _kept_open(_connected(Path(folder) / FILE, "rw"))


def _kept_open(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("select 1 from sqlite_master").fetchone()
    return connection  # its file may be unlinked now


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    if mode != "rwc":
        require(path.parent)
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=30, check_same_thread=False)
    connection.isolation_level = None  # transactions begin where the code says so
    connection.execute("pragma trusted_schema = off")
    connection.execute("pragma cell_size_check = on")
    return connection


def _be_durable(connection: sqlite3.Connection) -> None:
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("pragma wal_autocheckpoint = 8000")


def _version(connection: sqlite3.Connection, folder: Path) -> int:
    try:
        version = connection.execute("pragma user_version").fetchone()[0]
        found = connection.execute("select type, name from sqlite_master").fetchall()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise
        raise lost(folder, str(error)) from None
    if version > VERSION:
        raise StoreError(f"{folder} was written by a newer aworld (form {version}): upgrade aworld")
    if version == 0 and not found:
        raise lost(folder, "it is empty")
    if version == 0:
        raise StoreError(f"{folder / FILE} is no run of aworld's")
    if strange := {name for kind, name in found if kind not in ("table", "index")}:
        raise StoreError(f"{folder / FILE} holds what no run does: {', '.join(sorted(strange))}")
    return version
