"""How it is measured: contenders in turn, medians, memory of the processes, fresh scripts."""

from __future__ import annotations

import heapq
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil
from rich.console import Console
from rich.table import Table
from workloads import MEGABYTE, WORKERS

Row = dict[str, Any]
Result = TypeVar("Result")


class Suite(NamedTuple):
    """Cases by name, and where they run."""

    cases: dict[str, Callable[[], list[Row]]]
    missing: Callable[[], str] = str  # what has to be installed first
    opened: Callable[[], AbstractContextManager[None]] = nullcontext


class Timing(NamedTuple):
    """Seconds until results were in hand."""

    first: float
    last: float


def row(case: str, name: str, seconds: float, note: str) -> Row:
    return {"case": case, "contender": name, "seconds": round(seconds, 4), "note": note}


def timed(
    expected: int, start: Callable[[], Iterable[Result]], is_good: Callable[[Result], bool]
) -> Timing:
    """Starts it, takes its results and looks at each; what they come in is freed afterwards."""
    begin = time.perf_counter()
    results = start()
    first, good = 0.0, 0
    for result in results:
        first = first or time.perf_counter() - begin
        good += is_good(result)
    last = time.perf_counter() - begin
    assert good == expected, f"{good} of {expected} results are good"
    return Timing(first, last)


def interleaved(contenders: dict[str, Callable[[], Timing]], repeat: int) -> dict[str, Timing]:
    """Medians of all rounds."""
    return {
        name: Timing(*(statistics.median(seconds) for seconds in zip(*timings, strict=True)))
        for name, timings in rounds(contenders, repeat).items()
    }


def rounds(contenders: dict[str, Callable[[], Timing]], repeat: int) -> dict[str, list[Timing]]:
    timings: dict[str, list[Timing]] = {name: [] for name in contenders}
    for _ in range(repeat):
        for name, contender in contenders.items():
            timings[name].append(contender())
    return timings


def wait_for_all_workers(ask: Callable[[], Iterable[int]]) -> None:
    """Asks who works until each worker has answered: one may come seconds after the other."""
    for _ in range(100):
        if len(set(ask())) == WORKERS:
            return
    raise RuntimeError(f"there are fewer than {WORKERS} workers")


def fresh_script(code: str) -> Timing:
    with tempfile.TemporaryFile() as said:  # not a pipe: a process left behind could hold it open
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], stdout=said, stderr=said)
        seconds = time.perf_counter() - begin
        if done.returncode:
            said.seek(0)
            raise RuntimeError(f"the script failed:\n{code}\n{said.read().decode()}")
    return Timing(seconds, seconds)


def time_without_overhead(durations: list[float], slots: int) -> float:
    """When the last one ends, if each starts in the first slot that is free."""
    ends = [0.0] * slots
    for duration in durations:
        heapq.heapreplace(ends, ends[0] + duration)
    return max(ends)


@dataclass
class Peak:
    """Proportional memory in MB: pages that processes share count once."""

    ours: int = 0  # this process and aworld's workers
    others: int = 0  # all else that this process has started: a cluster, with what guards workers

    def note(self) -> str:
        cluster = f", {self.others} MB in the cluster's own processes" if self.others else ""
        return f"{self.ours} MB in driver and workers{cluster}"


@contextmanager
def watched(peak: Peak) -> Iterator[None]:
    """Raises the peak to what is in use meanwhile."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            ours, others = memory_in_use()
            peak.ours, peak.others = max(peak.ours, ours), max(peak.others, others)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def memory_in_use() -> tuple[int, int]:
    me = psutil.Process()
    ours, others = me.memory_full_info().pss, 0
    for process in me.children(recursive=True):
        try:
            used = process.memory_full_info().pss
            if any(part.startswith("aworld-worker-") for part in process.cmdline()):
                ours += used
            else:
                others += used
        except psutil.Error:  # it has ended
            pass
    return ours // MEGABYTE, others // MEGABYTE


def report(title: str, rows: list[Row], out: Path) -> None:
    """Shows the rows as a table, and saves them."""
    table = Table("case", "contender", "seconds", "note", title=title)
    previous = ""
    for row in rows:
        if previous and row["case"] != previous:
            table.add_section()
        table.add_row(
            "" if row["case"] == previous else row["case"],
            row["contender"],
            f"{row['seconds']:.3f}",
            row["note"],
        )
        previous = row["case"]
    Console(width=150).print(table)
    out.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "cpus": os.cpu_count()}
    out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2))
    print(f"saved to {os.path.relpath(out)}")
