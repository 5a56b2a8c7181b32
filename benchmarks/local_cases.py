"""The local engine against the pools that Python has itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

import psutil
from contenders import FRESH_SCRIPT, config, recorded, streamed, through_engine, through_runners
from measuring import (
    Peak,
    Row,
    Suite,
    Timing,
    fresh_script,
    interleaved,
    row,
    time_without_overhead,
    timed,
    wait_for_all_workers,
    watched,
)
from workloads import (
    MEGABYTE,
    WORKERS,
    agent_echo,
    agent_megabyte,
    agent_wait,
    echo,
    engine_echo,
    engine_megabyte,
    engine_wait,
    megabyte,
    texts,
    who_works,
)

from aworld import EchoAgent, Runners, Task

POOL_SCRIPT = """
import asyncio
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(1) as pool:
    assert pool.submit(abs, -1).result() == 1
"""


def suite(repeat: int, scale: int) -> Suite:
    cases = {
        "local no-op": lambda: no_op_tasks(repeat, 10_000 // scale),
        "local waiting": lambda: waiting_tasks("local", repeat, 2_000),
        "local mixed": lambda: mixed_durations(repeat, 1_000),
        "local large": lambda: large_results(repeat, 1_000 // scale),
        "local cold": lambda: cold_start(3 * repeat),
        "local growth": lambda: growth([n // scale for n in (1_000, 10_000, 100_000)]),
    }
    return Suite(cases)


# -- Python's own pools --------------------------------------------------------------------------


@contextmanager
def warm_pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(WORKERS) as pool:
        wait_for_all_workers(lambda: pool.map(who_works, [0.05] * 4 * WORKERS))
        yield pool


def pool_submit(function: Callable[[Any], Any], values: Sequence[Any]) -> Timing:
    with warm_pool() as pool:
        return timed(
            len(values),
            lambda: as_completed([pool.submit(function, value) for value in values]),
            lambda future: future.result() is not None,
        )


def pool_map(function: Callable[[Any], Any], values: Sequence[Any]) -> Timing:
    with warm_pool() as pool:
        return timed(
            len(values),
            lambda: pool.map(function, values, chunksize=100),
            lambda value: value is not None,
        )


# -- what is compared ----------------------------------------------------------------------------


def no_op_tasks(repeat: int, count: int) -> list[Row]:
    values = list(texts(count))
    timings = interleaved(
        {
            "pool.submit": lambda: pool_submit(echo, values),
            "pool.map(100)": lambda: pool_map(echo, values),
            "engine": lambda: through_engine(engine_echo, values, config()),
            "Runners": lambda: through_runners(agent_echo, values, config()),
            "Runners, with store": lambda: recorded(agent_echo, values, config()),
            "Runners, EchoAgent": lambda: through_runners(EchoAgent(), values, config()),
        },
        repeat,
    )
    case = f"{count:,} no-op tasks, 1 kB in and out"
    submit, chunked = timings["pool.submit"].last, timings["pool.map(100)"].last
    return [
        row(case, name, taken, f"{submit / taken:.1f}x submit, {chunked / taken:.2f}x map")
        for name, (_, taken) in timings.items()
    ]


def waiting_tasks(engine: str, repeat: int, count: int) -> list[Row]:
    in_flight, seconds = 100, 0.2
    ideal = count * seconds / (WORKERS * in_flight)
    values, conf = [seconds] * count, config(engine, in_flight)
    peaks = {"engine": Peak(), "Runners": Peak()}

    def in_engine() -> Timing:
        with watched(peaks["engine"]):
            return through_engine(engine_wait, values, conf)

    def in_runners() -> Timing:
        with watched(peaks["Runners"]):
            return through_runners(agent_wait, values, conf)

    timings = interleaved({"engine": in_engine, "Runners": in_runners}, repeat)
    where = "" if engine == "local" else f"{engine}: "
    case = f"{where}{count:,} tasks that wait 200 ms, {WORKERS} x {in_flight} in flight"
    return [row(case, "ideal", ideal, "")] + [
        row(case, name, taken, f"{taken / ideal:.3f}x ideal, {peaks[name].note()}")
        for name, (_, taken) in timings.items()
    ]


def mixed_durations(repeat: int, count: int) -> list[Row]:
    """Each task waits 10 ms to 1 s; how long after the first one ends is its response in hand?"""
    values = [0.01 + 0.99 * ((7 * i) % count) / count for i in range(count)]
    lags: list[float] = []
    delays: list[float] = []

    def run() -> Timing:
        begin = time.perf_counter()
        tasks = [Task(input=value, agent=agent_wait) for value in values]
        first_ended: list[float] = []
        first_seen = 0.0
        for response in Runners.stream_tasks(tasks, config()):
            now = time.time()
            first_seen = first_seen or now
            first_ended.append(response.answer)
            delays.append(now - response.answer)
        lags.append(first_seen - min(first_ended))
        seconds = time.perf_counter() - begin
        return Timing(seconds, seconds)

    taken = interleaved({"Runners": run}, repeat)["Runners"].last
    ideal = time_without_overhead(values, WORKERS * 100)
    lag, delay = statistics.median(lags), statistics.quantiles(delays, n=100)[98]
    case = f"{count:,} tasks of 10 ms to 1 s, {WORKERS} x 100 in flight"
    note = f"first response {lag * 1000:.0f} ms after its end; 99% within {delay * 1000:.0f} ms"
    return [
        row(case, "ideal", ideal, ""),
        row(case, "Runners", taken, f"{taken / ideal:.2f}x ideal; {note}"),
    ]


def large_results(repeat: int, count: int) -> list[Row]:
    values, conf = range(count), config(tasks_per_worker=16)
    timings = interleaved(
        {
            "pool.submit": lambda: pool_submit(megabyte, values),
            "engine": lambda: through_engine(engine_megabyte, values, conf),
            "Runners, streamed": lambda: streamed(agent_megabyte, values, conf),
            "Runners, all kept (1 GB)": lambda: through_runners(agent_megabyte, values, conf),
        },
        repeat,
    )
    case = f"{count:,} results of 1 MB"
    submit = timings["pool.submit"].last
    return [
        row(case, name, taken, f"{submit / taken:.1f}x submit")
        for name, (_, taken) in timings.items()
    ]


def cold_start(repeat: int) -> list[Row]:
    timings = interleaved(
        {
            "pool": lambda: fresh_script(POOL_SCRIPT),
            "Runners": lambda: fresh_script(FRESH_SCRIPT.format(engine="local")),
            "python -c pass": lambda: fresh_script("pass"),
            "import aworld": lambda: fresh_script("import aworld"),
            "import aworld, all names": lambda: fresh_script("from aworld import *"),
        },
        repeat,
    )
    case = "a fresh script with one task, start to end"
    pool = timings["pool"].last
    return [
        row(case, name, taken, f"{taken / pool:.2f}x pool") for name, (_, taken) in timings.items()
    ]


def growth(counts: list[int]) -> list[Row]:
    """Neither the time per task nor the driver's memory may grow with the tasks. One round."""
    rows = []
    for count in counts:
        before = psutil.Process().memory_info().rss
        tasks = (Task(input=text, agent=agent_echo) for text in texts(count))
        begin = time.perf_counter()
        done = sum(response.success for response in Runners.stream_tasks(tasks, config()))
        seconds = time.perf_counter() - begin
        grown = (psutil.Process().memory_info().rss - before) / MEGABYTE
        assert done == count
        note = f"{seconds / count * 1e6:.0f} us a task, driver +{grown:.0f} MB"
        rows.append(row("from a generator, streamed", f"{count:,} tasks", seconds, note))
    return rows
