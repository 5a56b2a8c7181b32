"""The work that every contender does, and how it tells what came back. It needs Python alone."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

SECONDS = 0.05  # what an agent waits for its model
IN_FLIGHT = 50  # tasks at once in each of two workers, where one process can have several
WORKERS = 2
PROCESSES = 32  # where a process can have only one task: many more than cores, as they only wait


def wait(number: int) -> str:
    note_start()
    time.sleep(SECONDS)
    return result_of(number)


async def wait_async(number: int) -> str:
    note_start()
    await asyncio.sleep(SECONDS)
    return result_of(number)


def result_of(number: int) -> str:
    """1 kB, no two alike."""
    return f"{number:08d}" * 128


def note_start() -> None:
    """A byte for each task that has begun here: so a worker is found that can be killed."""
    if folder := os.environ.get("PEERS_STARTED"):
        with Path(folder, str(os.getpid())).open("ab") as file:
            file.write(b".")


def way_and_count() -> tuple[str, int]:
    return sys.argv[1], int(sys.argv[2])


def measured(count: int, start: Callable[[], Iterable[str | BaseException]]) -> None:
    """Takes the results as they come; an error in the place of one is a result that is lost."""
    expected = {result_of(number) for number in range(count)}
    found: set[str] = set()
    error = ""
    begin = time.perf_counter()
    try:
        for result in start():
            if isinstance(result, BaseException):
                error = type(result).__name__
            else:
                found.add(result)
    except Exception as broken:
        error = type(broken).__name__
    told = {
        "work_seconds": time.perf_counter() - begin,
        "good": len(found & expected),
        "error": error,
    }
    Path(os.environ["PEERS_REPORT"]).write_text(json.dumps(told))
