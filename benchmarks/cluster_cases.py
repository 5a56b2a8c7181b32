"""Our engines on Ray and on Spark, against Ray and Spark by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

from clusters import ByHand, Cluster
from contenders import FRESH_SCRIPT, config, recorded, streamed, through_engine, through_runners
from local_cases import waiting_tasks
from measuring import Row, Suite, Timing, fresh_script, interleaved, rounds, row
from workloads import (
    agent_echo,
    agent_megabyte,
    echo,
    engine_echo,
    engine_megabyte,
    megabyte,
    texts,
)


def suites(cluster: Cluster, repeat: int, scale: int) -> list[Suite]:
    name = cluster.name
    fresh = {f"{name} cold": lambda: cold_start(cluster, max(repeat, 3))}
    warm = {
        # first: whatever ran before in this process is in its peak of memory
        f"{name} waiting": lambda: waiting_tasks(name, repeat, 2_000),
        f"{name} no-op": lambda: no_op_tasks(cluster, repeat, 10_000 // scale),
        f"{name} large": lambda: large_results(cluster, repeat, 1_000 // scale),
    }
    return [Suite(fresh, cluster.missing), Suite(warm, cluster.missing, cluster.opened)]


def no_op_tasks(cluster: Cluster, repeat: int, count: int) -> list[Row]:
    values, conf = list(texts(count)), config(cluster.name)
    return compared(
        f"{cluster.name}: {count:,} no-op tasks, 1 kB in and out",
        by_hand(cluster.small, echo, values),
        {
            "engine": lambda: through_engine(engine_echo, values, conf),
            "Runners": lambda: through_runners(agent_echo, values, conf),
            "Runners, with store": lambda: recorded(agent_echo, values, conf),
        },
        repeat,
    )


def large_results(cluster: Cluster, repeat: int, count: int) -> list[Row]:
    values, conf = range(count), config(cluster.name, tasks_per_worker=16)
    return compared(
        f"{cluster.name}: {count:,} results of 1 MB",
        by_hand(cluster.large, megabyte, values),
        {
            "engine": lambda: through_engine(engine_megabyte, values, conf),
            "Runners, streamed": lambda: streamed(agent_megabyte, values, conf),
        },
        repeat,
    )


def cold_start(cluster: Cluster, repeat: int) -> list[Row]:
    timings = rounds(
        {
            "by hand": lambda: fresh_script(cluster.fresh_script),
            "Runners": lambda: fresh_script(FRESH_SCRIPT.format(engine=cluster.name)),
        },
        repeat,
    )
    taken = {name: [timing.last for timing in all_of] for name, all_of in timings.items()}
    usual, best = median(taken["by hand"]), min(taken["by hand"])
    case = f"{cluster.name}: a fresh script with one task, start to end"
    # The fastest too: ray.init waits in steps of a second, and a median hangs on how many.
    return [
        row(
            case,
            name,
            median(seconds),
            f"{median(seconds) / usual:.2f}x by hand; fastest of {repeat}: "
            f"{min(seconds):.2f} s, {min(seconds) / best:.2f}x",
        )
        for name, seconds in taken.items()
    ]


def by_hand(
    ways: dict[str, ByHand], function: Callable[[Any], Any], values: Sequence[Any]
) -> dict[str, Callable[[], Timing]]:
    return {name: partial(way, function, values) for name, way in ways.items()}


def compared(
    case: str,
    theirs: dict[str, Callable[[], Timing]],
    ours: dict[str, Callable[[], Timing]],
    repeat: int,
) -> list[Row]:
    """How many times as fast as the fastest of theirs, and when the first result was in hand."""
    timings = interleaved({**theirs, **ours}, repeat)
    best = min(timings[name].last for name in theirs)
    return [
        row(case, name, last, f"{best / last:.3g}x as fast{early(first, last)}")
        for name, (first, last) in timings.items()
    ]


def early(first: float, last: float) -> str:
    came_at_once = first > 0.9 * last
    return "" if came_at_once else f", first result after {first * 1000:.0f} ms"
