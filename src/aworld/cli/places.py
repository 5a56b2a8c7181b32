"""The folder of a run: which one, whether it is free, and what is typed to go on in it."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from aworld.core.shown import as_word
from aworld.errors import ConfigError, StoreError
from aworld.store import lock, schema
from aworld.store.folder import CONFIG
from aworld.store.live import LIVE, PAUSE
from aworld.train.folders import is_training

RUNS = Path("runs")
BLOBS = "blobs"
DATABASE = {f"{schema.FILE}{ending}" for ending in ("", "-wal", "-shm")}
FILES = {lock.FILE, CONFIG, *DATABASE, LIVE, PAUSE}  # of a run without results
UNFINISHED = re.compile(rf"\.{re.escape(CONFIG)}\.[0-9a-f]+\.unfinished")  # as `whole_file` has it


def check_named(out: str) -> None:
    if not out.strip():
        raise ConfigError("--out needs the name of a new folder: it is empty")


def check_free(folder: Path) -> None:
    """New, or empty; what is left of a run that was broken off before it began does not count."""
    if (folder / schema.FILE).exists():
        raise StoreError(
            f"{folder} holds a run already: go on with it by `{to_go_on(folder)}`, or choose "
            "another folder with --out"
        )
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file: choose a new folder with --out")
    others = [place.name for place in folder.iterdir()] if folder.exists() else []
    if lock.FILE in others:
        others = [name for name in others if not _is_left_over(name)]
    elif any(map(UNFINISHED.fullmatch, others)) or (others and (folder / lock.FILE).exists()):
        # it came while the folder was listed
        raise StoreError(
            f"another run is being started in {folder}: choose another folder with --out"
        )
    if others:
        raise StoreError(
            f"{folder} is not empty (it holds {min(others)!r}): choose a new folder with --out"
        )


def _is_left_over(name: str) -> bool:
    """Of a run that has recorded nothing."""
    return name in FILES or UNFINISHED.fullmatch(name) is not None


def to_go_on(folder: Path) -> str:
    """The command for it."""
    training = is_training(folder)
    return "aworld train CONFIG --resume" if training else f"aworld resume {as_word(folder)}"


def discard(folder: Path) -> bool:
    """Removes a run that has come to nothing, so that it can be started again. Whether it is gone:
    nobody else may have taken it up, and it must hold no result."""
    from aworld.store.reader import open_run

    try:
        held = lock.RunLock(folder)
    except StoreError:
        return False
    try:
        with open_run(folder) as run:
            if run.counts():
                return False
        for place in folder.iterdir():
            if _is_left_over(place.name):
                place.unlink()
        shutil.rmtree(folder / BLOBS, ignore_errors=True)
        folder.rmdir()
    except OSError:  # somebody has put something there meanwhile
        pass
    finally:
        held.release()
    return not (folder / schema.FILE).exists()


def free_folder(tasks: str | None) -> Path:
    """`runs/<date-time>-<what the tasks are called>`."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{stem_of(tasks or 'tasks')}"
    folder = RUNS / name
    count = 1
    while folder.exists():
        count += 1
        folder = RUNS / f"{name}-{count}"
    return folder


def stem_of(source: str) -> str:
    if source == "-":
        return "stdin"
    name = source.partition("?")[0].partition("#")[0]
    name = name.rpartition(":")[2] if not Path(source).exists() else name
    stem = Path(name.rstrip("/")).stem or "tasks"
    return re.sub(r"[^\w.-]+", "-", stem)[:60].strip(".-") or "tasks"
