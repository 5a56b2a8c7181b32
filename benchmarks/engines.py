"""How fast the engine is, against the pools that Python has itself, side by side in one run.

    python benchmarks/engines.py [--repeat N] [--quick]

Figures are medians of N rounds; the rounds of all contenders are interleaved, so that a busy moment
of the machine hits them alike. Trust the ratios, not the seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from aworld import EchoAgent, RunConfig, Runners, Task
from aworld.engines import open_engine
from aworld.engines.base import Item, RuntimeEngine

WORKERS = 2
MEGABYTE = 1 << 20

Row = dict[str, Any]


# -- what is run; functions of this module, so that every pool can find them ---------------------


def echo(value: Any) -> Any:
    return value


def megabyte(value: int) -> bytes:
    return os.urandom(16) * (MEGABYTE // 16)


async def engine_echo(value: Any, call: Any) -> Any:
    return value


async def engine_megabyte(value: int, call: Any) -> bytes:
    return megabyte(value)


async def engine_wait(seconds: float, call: Any) -> float:
    await asyncio.sleep(seconds)
    return time.time()


async def agent_echo(value: Any) -> Any:
    return value


async def agent_megabyte(value: int) -> bytes:
    return megabyte(value)


async def agent_wait(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return time.time()


# -- how it is run -------------------------------------------------------------------------------


def config(tasks_per_worker: int = 16) -> RunConfig:
    return RunConfig(worker_num=WORKERS, tasks_per_worker=tasks_per_worker)


@contextmanager
def warm_engine(tasks_per_worker: int) -> Iterator[RuntimeEngine]:
    with open_engine(config(tasks_per_worker)) as engine:
        warm_up = [Item(0.05) for _ in range(4 * WORKERS)]
        assert len(list(engine.run(engine_wait, warm_up))) == len(warm_up)
        yield engine


@contextmanager
def warm_pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(WORKERS) as pool:
        list(pool.map(time.sleep, [0.05] * 4 * WORKERS))
        yield pool


def pool_submit(function: Callable[..., Any], values: list[Any]) -> float:
    with warm_pool() as pool:
        begin = time.perf_counter()
        futures = as_completed([pool.submit(function, value) for value in values])
        count = sum(future.result() is not None for future in futures)
        seconds = time.perf_counter() - begin
    assert count == len(values)
    return seconds


def pool_map(function: Callable[..., Any], values: list[Any]) -> float:
    with warm_pool() as pool:
        begin = time.perf_counter()
        count = sum(1 for _ in pool.map(function, values, chunksize=100))
        seconds = time.perf_counter() - begin
    assert count == len(values)
    return seconds


def through_engine(function: Any, values: list[Any], tasks_per_worker: int = 100) -> float:
    with warm_engine(tasks_per_worker) as engine:
        begin = time.perf_counter()
        count = sum(outcome.status == "success" for outcome in engine.run(function, items(values)))
        seconds = time.perf_counter() - begin
    assert count == len(values)
    return seconds


def items(values: list[Any]) -> Iterator[Item]:
    return (Item(value) for value in values)


def through_runners(agent: Any, values: list[Any], tasks_per_worker: int = 100) -> float:
    """The whole public path: making the tasks, starting and ending the workers included."""
    begin = time.perf_counter()
    tasks = [Task(input=value, agent=agent) for value in values]
    responses = Runners.sync_run_task(tasks, config(tasks_per_worker))
    seconds = time.perf_counter() - begin
    assert len(responses) == len(values)
    assert all(response.success for response in responses.values())
    return seconds


def streamed(agent: Any, values: list[Any], tasks_per_worker: int = 100) -> float:
    """The public path again, but no response is kept."""
    begin = time.perf_counter()
    tasks = [Task(input=value, agent=agent) for value in values]
    stream = Runners.stream_tasks(tasks, config(tasks_per_worker))
    count = sum(response.success for response in stream)
    seconds = time.perf_counter() - begin
    assert count == len(values)
    return seconds


def interleaved(contenders: dict[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repeat):
        for name, contender in contenders.items():
            times[name].append(contender())
    return {name: statistics.median(seconds) for name, seconds in times.items()}


# -- what is compared ----------------------------------------------------------------------------


def no_op_tasks(repeat: int, count: int) -> list[Row]:
    values = list(texts(count))
    times = interleaved(
        {
            "pool.submit": lambda: pool_submit(echo, values),
            "pool.map(100)": lambda: pool_map(echo, values),
            "engine": lambda: through_engine(engine_echo, values),
            "Runners": lambda: through_runners(agent_echo, values),
            "Runners, EchoAgent": lambda: through_runners(EchoAgent(), values),
        },
        repeat,
    )
    case = f"{count:,} no-op tasks, 1 kB in and out"
    submit, chunked = times["pool.submit"], times["pool.map(100)"]
    return [
        row(case, name, seconds, f"{submit / seconds:.1f}x submit, {chunked / seconds:.2f}x map")
        for name, seconds in times.items()
    ]


def waiting_tasks(repeat: int, count: int) -> list[Row]:
    in_flight, seconds = 100, 0.2
    ideal = count * seconds / (WORKERS * in_flight)
    peaks: dict[str, int] = {}

    def watched(name: str, run: Callable[[], float]) -> float:
        with peak_memory() as peak:
            result = run()
        peaks[name] = max(peaks.get(name, 0), peak[0])
        return result

    values = [seconds] * count
    times = interleaved(
        {
            "engine": lambda: watched(
                "engine", lambda: through_engine(engine_wait, values, in_flight)
            ),
            "Runners": lambda: watched(
                "Runners", lambda: through_runners(agent_wait, values, in_flight)
            ),
        },
        repeat,
    )
    case = f"{count:,} tasks that wait 200 ms, {WORKERS} x {in_flight} in flight"
    return [row(case, "ideal", ideal, "")] + [
        row(case, name, taken, f"{taken / ideal:.3f}x ideal, {peaks[name]} MB in all processes")
        for name, taken in times.items()
    ]


def mixed_durations(repeat: int, count: int) -> list[Row]:
    """Each task waits 10 ms to 1 s; how long after the first one ends is its response in hand?"""
    values = [0.01 + 0.99 * ((7 * i) % count) / count for i in range(count)]
    lags: list[float] = []
    delays: list[float] = []

    def run() -> float:
        begin = time.perf_counter()
        tasks = [Task(input=value, agent=agent_wait) for value in values]
        first_ended: list[float] = []
        first_seen = 0.0
        for response in Runners.stream_tasks(tasks, config(100)):
            now = time.time()
            first_seen = first_seen or now
            first_ended.append(response.answer)
            delays.append(now - response.answer)
        lags.append(first_seen - min(first_ended))
        return time.perf_counter() - begin

    times = interleaved({"Runners": run}, repeat)
    ideal = time_without_overhead(values, WORKERS * 100)
    lag, delay = statistics.median(lags), statistics.quantiles(delays, n=100)[98]
    case = f"{count:,} tasks of 10 ms to 1 s, {WORKERS} x 100 in flight"
    note = f"first response {lag * 1000:.0f} ms after its end; 99% within {delay * 1000:.0f} ms"
    return [
        row(case, "ideal", ideal, ""),
        row(case, "Runners", times["Runners"], f"{times['Runners'] / ideal:.2f}x ideal; {note}"),
    ]


def large_results(repeat: int, count: int) -> list[Row]:
    values: list[Any] = list(range(count))
    times = interleaved(
        {
            "pool.submit": lambda: pool_submit(megabyte, values),
            "engine": lambda: through_engine(engine_megabyte, values, 16),
            "Runners, streamed": lambda: streamed(agent_megabyte, values, 16),
            "Runners, all kept (1 GB)": lambda: through_runners(agent_megabyte, values, 16),
        },
        repeat,
    )
    case = f"{count:,} results of 1 MB"
    submit = times["pool.submit"]
    return [
        row(case, name, taken, f"{submit / taken:.1f}x submit") for name, taken in times.items()
    ]


POOL_SCRIPT = """
import asyncio
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(1) as pool:
    assert pool.submit(abs, -1).result() == 1
"""
OUR_SCRIPT = """
from aworld import Runners
async def agent(value):
    return abs(value)
assert Runners.sync_run(-1, agent).answer == 1
"""


def fresh_script(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def cold_start(repeat: int) -> list[Row]:
    times = interleaved(
        {
            "pool": lambda: fresh_script(POOL_SCRIPT),
            "Runners": lambda: fresh_script(OUR_SCRIPT),
            "python -c pass": lambda: fresh_script("pass"),
            "import aworld": lambda: fresh_script("import aworld"),
            "import aworld, all names": lambda: fresh_script("from aworld import *"),
        },
        3 * repeat,
    )
    case = "a fresh script with one task, start to end"
    pool = times["pool"]
    return [row(case, name, taken, f"{taken / pool:.2f}x pool") for name, taken in times.items()]


def growth(counts: list[int]) -> list[Row]:
    """Neither the time per task nor the driver's memory may grow with the tasks. One round."""
    rows = []
    for count in counts:
        before = psutil.Process().memory_info().rss
        tasks = (Task(input=text, agent=agent_echo) for text in texts(count))
        begin = time.perf_counter()
        done = sum(response.success for response in Runners.stream_tasks(tasks, config(100)))
        seconds = time.perf_counter() - begin
        grown = (psutil.Process().memory_info().rss - before) / MEGABYTE
        assert done == count
        note = f"{seconds / count * 1e6:.0f} us a task, driver +{grown:.0f} MB"
        rows.append(row("from a generator, streamed", f"{count:,} tasks", seconds, note))
    return rows


# -- helpers -------------------------------------------------------------------------------------


def time_without_overhead(durations: list[float], slots: int) -> float:
    """When the last one ends, if each starts in the first slot that is free."""
    ends = [0.0] * slots
    for duration in durations:
        heapq.heapreplace(ends, ends[0] + duration)
    return max(ends)


def texts(count: int) -> Iterator[str]:
    """Strings of 1 kB, no two alike: pickle sends a repeated one only once."""
    return (f"{number:08d}" * 128 for number in range(count))


def row(case: str, name: str, seconds: float, note: str) -> Row:
    return {"case": case, "contender": name, "seconds": round(seconds, 4), "note": note}


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """Proportional memory of this process and its children, in MB: shared pages count once."""
    import threading

    peak = [0]
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            total = 0
            me = psutil.Process()
            for process in [me, *me.children(recursive=True)]:
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    pass
            peak[0] = max(peak[0], total >> 20)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tasks")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/engines.json")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    cases: dict[str, Callable[[], list[Row]]] = {
        "no-op": lambda: no_op_tasks(options.repeat, 10_000 // scale),
        "waiting": lambda: waiting_tasks(options.repeat, 2_000),
        "mixed": lambda: mixed_durations(options.repeat, 1_000),
        "large": lambda: large_results(options.repeat, 1_000 // scale),
        "cold": lambda: cold_start(options.repeat),
        "growth": lambda: growth([n // scale for n in (1_000, 10_000, 100_000)]),
    }
    rows = [r for name, case in cases.items() if options.only in name for r in case()]
    table = Table("case", "contender", "seconds", "note", title="aworld engines")
    previous = ""
    for r in rows:
        if previous and r["case"] != previous:
            table.add_section()
        table.add_row(
            "" if r["case"] == previous else r["case"],
            r["contender"],
            f"{r['seconds']:.3f}",
            r["note"],
        )
        previous = r["case"]
    Console(width=150).print(table)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    machine = {"python": platform.python_version(), "cpus": os.cpu_count()}
    options.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2))
    print(f"saved to {os.path.relpath(options.out)}")


if __name__ == "__main__":
    main()
