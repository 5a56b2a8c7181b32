"""A private directory for one program. What a killed process left behind, the next one removes."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "aworld-program-"
LOCK = "lock"
FRESH = 60.0  # seconds in which a directory may not have its lock yet


@contextmanager
def private_directory() -> Iterator[Path]:
    remove_leftovers()
    path = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel lets go of it, however this process ends
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@functools.cache  # once in each process
def remove_leftovers() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if time.time() - path.stat().st_mtime > FRESH and _is_abandoned(path / LOCK):
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # gone by now, or another user's
            pass


def _is_abandoned(lock: Path) -> bool:
    descriptor = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
