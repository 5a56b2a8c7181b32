"""Files that are whole or not there, on disk before anybody is told, and no trap when read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Takes the place of `path` when the block ends; what was there stays until then."""
    unfinished = path.with_name(f".{path.name}.{os.urandom(4).hex()}.unfinished")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def open_plain(path: Path, flags: int) -> int:
    """Neither a link nor a pipe: the folder may come from a stranger."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is no plain file")
    return handle


def read_plain_file(path: Path) -> bytes:
    with open(open_plain(path, os.O_RDONLY), "rb") as file:
        return file.read()


def sync(path: Path) -> None:
    """A file, or a folder: then the names in it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
