"""One process writes to a run; a second is told who the first is."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from pathlib import Path

from aworld.errors import StoreError
from aworld.store.durable import open_plain

FILE = "run.lock"
LOOKS = 5  # whoever asks who holds it, holds it for a moment

_held: set[RunLock] = set()


class RunLock:
    """Held as long as the process lives, or until it is released: a killed one leaves no lock."""

    def __init__(self, folder: Path):
        try:
            self._handle = open_plain(folder / FILE, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StoreError(f"{folder} cannot be locked: {error}") from None
        try:
            for look in range(LOOKS):
                try:
                    fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if look == LOOKS - 1:
                        raise
                    time.sleep(0.02)
            os.ftruncate(self._handle, 0)
            content = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
            os.pwrite(self._handle, content.encode(), 0)
        except OSError as error:
            os.close(self._handle)
            if not isinstance(error, BlockingIOError):
                raise StoreError(f"{folder} cannot be locked: {error}") from None
            who = _named(holder(folder))
            raise StoreError(f"{folder} is in use by {who}: wait until it has ended") from None
        _held.add(self)

    def release(self) -> None:
        if self in _held:
            _held.remove(self)
            os.close(self._handle)


def _let_go_in_a_fork() -> None:
    for lock in list(_held):
        lock.release()


# A fork of ours (not a worker: those are fresh programs) must not hold a lock after our death.
os.register_at_fork(after_in_child=_let_go_in_a_fork)


def holder(folder: Path) -> dict[str, object] | None:
    """Who writes to the run now, if anybody does."""
    try:
        handle = open_plain(folder / FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _read(handle)
        except OSError:
            return None
        return None
    finally:
        os.close(handle)


def _read(handle: int) -> dict[str, object]:
    try:
        found = json.loads(os.pread(handle, 1000, 0))
        return found if isinstance(found, dict) else {}
    except ValueError:
        return {}


def _named(found: dict[str, object] | None) -> str:
    if not found:
        return "another process"
    here = found.get("host") == socket.gethostname()
    return f"process {found.get('pid')}" + ("" if here else f" on {found.get('host')}")
