"""The table at the end, as Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence

import psutil
from part import TASKS_PER_WORKER, WORKERS, Memory, Part

NAMES = {"local": "local", "ray": "Ray", "spark": "Spark"}
FAULTS = {"worker": "workers", "node": "nodes", "executor": "executors", "driver": "drivers"}


def report(parts: Sequence[Part], *, command: str) -> str:
    good = all(part.is_good for part in parts)
    machine = f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 1e9:.0f} GB"
    lines = [
        "# Soak",
        "",
        f"Made by `{command}`, on a machine with {machine}, with Python "
        f"{platform.python_version()}. The tasks wait 10 to 500 ms and answer 1 to 20 kB; each run "
        "is recorded and open in the view, which is asked for its page once a second. Workers, "
        "nodes, executors and the driver itself are killed with SIGKILL at random times; a killed "
        "driver is started again and resumes the run. Ray has two nodes, of which one is killed "
        "and comes back after a while; Spark has two executors.",
        "",
        "Nothing was lost, nothing doubled." if good else "**Something went wrong: see below.**",
        "",
        f"| | {' | '.join(NAMES[part.engine] for part in parts)} |",
        f"|---|{'---:|' * len(parts)}",
    ]
    lines += [f"| {name} | {' | '.join(map(cell, parts))} |" for name, cell in ROWS.items()]
    for part in parts:
        if part.problems:
            lines += ["", f"## {NAMES[part.engine]}: what went wrong", ""]
            lines += [f"- {' '.join(problem.split())}" for problem in part.problems]
    return "\n".join([*lines, ""])


def counted(cell: Callable[..., object]) -> Callable[[Part], str]:
    """Of the tally; a part that was never counted has none."""
    return lambda part: "?" if part.counted is None else f"{cell(part.counted)}"


def duration(part: Part) -> str:
    return f"{part.seconds // 60:.0f} min {part.seconds % 60:.0f} s"


def in_flight(part: Part) -> str:
    found = part.seen.in_flight or [0]
    return f"{sum(found) / len(found):.0f}, {max(found)}"


def memory(found: Memory) -> str:
    return "?" if found.first is None else f"{found.first:.0f}, {found.last:.0f} MB"


def statuses(found: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {status}" for status, number in found.items()) or "none"


def killed(kind: str) -> Callable[[Part], str]:
    return lambda part: str(part.faults[kind] or "")


ROWS: dict[str, Callable[[Part], str]] = {
    "tasks": counted(lambda tally: f"{tally.tasks:,}"),
    "time": duration,
    "tasks a second": lambda part: (
        f"{part.counted.tasks / part.seconds:.1f}" if part.counted else "?"
    ),
    f"in flight: on average, at most (room for {WORKERS * TASKS_PER_WORKER})": in_flight,
    "longest time without a result": lambda part: f"{part.pause:.0f} s",
    **{f"{name} killed": killed(kind) for kind, name in FAULTS.items()},
    "results by status": counted(lambda tally: statuses(tally.statuses)),
    "attempts in all, of one task at most": counted(
        lambda tally: f"{tally.attempts:,}, {tally.most_attempts}"
    ),
    "**results lost**": counted(lambda tally: len(tally.lost)),
    "**results doubled**": counted(lambda tally: len(tally.doubled)),
    "wrong answers": counted(lambda tally: len(tally.wrong)),
    "memory of the driver: at the start, at the end": lambda part: memory(part.driver),
    "memory of a worker": lambda part: memory(part.worker),
    "memory of the view": lambda part: memory(part.view),
    "answers of the view, refused ones": lambda part: (
        f"{part.seen.answers:,}, {len(part.seen.refused)}"
    ),
    "its slowest answer": lambda part: f"{part.seen.slowest:.2f} s",
}
