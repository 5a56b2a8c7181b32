"""How fast runs are written to disk and read again.

    python benchmarks/store.py [--repeat N] [--out FILE]

A result counts when it is durable. Reading is done by a fresh process.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contenders import config, recorded, through_runners
from measuring import Row, Timing, interleaved, report, row
from workloads import agent_echo, texts

from aworld import Task, TaskResponse, Trajectory
from aworld.store.writer import Finished, RunWriter

BATCH = 64  # as many results as come back at once from a busy run
TURNS = 5
OPEN_AND_LIST = """
import sys, time
begin = time.perf_counter()
from aworld.store import open_run
with open_run(sys.argv[1]) as run:
    counts, page = run.counts(), run.results(limit=50)
    tasks = [run.task_at(row.slot).id for row in page]
assert sum(counts.values()) == int(sys.argv[2]) and len(tasks) == 50
print(time.perf_counter() - begin)
"""


class Texts:
    """Words by chance: text that was never seen before."""

    def __init__(self, seed: int = 0):
        self._chance = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        lengths = [self._chance.randint(2, 9) for _ in range(3000)]
        self._words = ["".join(self._chance.choices(letters, k=length)) for length in lengths]

    def of(self, length: int) -> str:
        return " ".join(self._chance.choices(self._words, k=length // 6))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tasks")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/store.json")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    rows = durable_writes("20 kB", 300, options.repeat, 10_000 // scale)
    rows += durable_writes("80 kB, 20 kB of it new", 1500, options.repeat, 10_000 // scale)
    rows += public_path(options.repeat, 10_000 // scale)
    rows += opening(options.repeat, 100_000 // scale)
    report("aworld store", rows, options.out)


def durable_writes(size: str, length: int, repeat: int, count: int) -> list[Row]:
    texts = Texts()
    pieces = [texts.of(length) for _ in range(count * (2 * TURNS + 1))]
    system = {"role": "system", "content": texts.of(length)}
    tools = [{"type": "function", "function": {"name": "look", "description": texts.of(300)}}]
    taken, sizes = [], []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            seconds, on_disk = write_all(Path(folder) / "run", count, system, tools, pieces)
        taken.append(seconds)
        sizes.append(on_disk)
    usual = statistics.median(taken)
    case = f"{count:,} trajectories of {size}, made and written durably"
    note = (
        f"{count / usual:,.0f} a second, the fastest round {count / min(taken):,.0f}; "
        f"{statistics.median(sizes) / count / 1000:.1f} kB on disk for each, "
        f"{trajectory_size(system, tools, pieces):.1f} kB as plain JSON"
    )
    return [row(case, "store", usual, note)]


def write_all(
    folder: Path, count: int, system: Any, tools: Any, pieces: list[str]
) -> tuple[float, int]:
    writer = RunWriter.create(folder, {"samples": 1})
    begin = time.perf_counter()
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))
        writer.record(Finished(n, conversation(n, system, tools, pieces)) for n in numbers)
    seconds = time.perf_counter() - begin
    writer.close()
    return seconds, sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def conversation(number: int, system: Any, tools: Any, pieces: list[str]) -> TaskResponse:
    """Five turns with a tool: each call holds all messages before it."""
    said = iter(pieces[number * (2 * TURNS + 1) : (number + 1) * (2 * TURNS + 1)])
    messages: list[dict[str, Any]] = [system, {"role": "user", "content": next(said)}]
    steps = []
    for turn in range(TURNS):
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        reply = {"role": "assistant", "content": next(said), "tool_calls": [call]}
        result = {"role": "tool", "tool_call_id": "c", "content": next(said)}
        usage = {"prompt_tokens": 900, "completion_tokens": 300, "cost": 0.0}
        record = {
            "model": "m",
            "messages": list(messages),
            "tools": tools,
            "settings": {"temperature": 1.0},
            "reply": reply,
            "finish_reason": "tool_calls",
            "usage": usage,
            "began": 1.0,
            "ended": 2.0,
            "attempts": 1,
            "policy_version": None,
            "prompt_ids": None,
            "completion_ids": None,
            "logprobs": None,
        }
        step = {"step": turn, "agent": "a", "action": reply, "model_call": record, "reward": None}
        steps.append({**step, "observation": [result]})
        messages += [reply, result]
    trajectory = Trajectory(f"t{number}", "a", steps, "the answer", True)
    return TaskResponse(f"t{number}", "the answer", trajectory=trajectory)


def trajectory_size(system: Any, tools: Any, pieces: list[str]) -> float:
    import json

    whole = conversation(0, system, tools, pieces).trajectory
    assert whole is not None
    return len(json.dumps(whole.to_dict())) / 1000


def public_path(repeat: int, count: int) -> list[Row]:
    values = list(texts(count))
    contenders: dict[str, Callable[[], Timing]] = {
        "without store": lambda: through_runners(agent_echo, values, config()),
        "with store": lambda: recorded(agent_echo, values, config()),
    }
    timings = interleaved(contenders, repeat)
    plain = timings["without store"].last
    case = f"{count:,} no-op tasks, 1 kB in and out, through Runners"
    return [
        row(case, name, last, f"{plain / last:.2f}x as fast") for name, (_, last) in timings.items()
    ]


def opening(repeat: int, count: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "run"
        writer = RunWriter.create(folder, {"samples": 1, "total": count})
        for start in range(0, count, 1000):
            for n in range(start, start + 1000):
                writer.note_task(n, Task(f"question {n}", id=f"t{n}"), 0)
            writer.record(
                Finished(n, TaskResponse(f"t{n}", "x" * 1000)) for n in range(start, start + 1000)
            )
        writer.close()
        command = [sys.executable, "-c", OPEN_AND_LIST, str(folder), str(count)]
        taken = [float(subprocess.check_output(command)) for _ in range(repeat)]
    case = f"open a run of {count:,} tasks, count it and list its first page"
    return [row(case, "store", statistics.median(taken), "imports included")]


if __name__ == "__main__":
    main()
