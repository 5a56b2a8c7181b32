"""Synchronous against asynchronous training: how long until the same reward is reached.

    python benchmarks/staleness.py [--seeds 3] [--staleness 1] [--reward 0.9]

Each is examples/05_train_on_cpu.py: synchronous, where every rollout waits for the newest weights,
and asynchronous, where it may be trained on when they are some steps old. Reached is a reward when
the mean of three steps is that high; seconds are those of the steps until then, the warm-up left
out. The divergence is that of the sampler from the trainer, per token.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

EXAMPLE = Path(__file__).parent.parent / "examples" / "05_train_on_cpu.py"
STEPS = 30  # more than it takes to a high reward
Steps = list[dict[str, float]]


def steps_of(seed: int, staleness: int) -> Steps:
    with tempfile.TemporaryDirectory() as folder:
        options = ["--seed", seed, "--staleness", staleness, "--steps", STEPS, "--folder", folder]
        command = [sys.executable, EXAMPLE, *options]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if "loss" in line]


def seconds_until(steps: Steps, reward: float) -> float | None:
    for end in range(3, len(steps) + 1):
        if statistics.mean(step["reward"] for step in steps[end - 3 : end]) >= reward:
            return sum(step["seconds"] for step in steps[:end])
    return None


def mean_of(steps: Steps, name: str) -> float:
    return statistics.mean(step[name] for step in steps if name in step)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--staleness", type=int, default=1)
    parser.add_argument("--reward", type=float, default=0.9)
    options = parser.parse_args()
    table = Table(
        "",
        "seed",
        f"seconds to {options.reward:g}",
        "all steps, s",
        "waiting",
        "versions old",
        "KL",
    )
    for seed in range(options.seeds):
        for staleness in (0, options.staleness):  # in turn: what else the machine does hits both
            steps = steps_of(seed, staleness)
            reached = seconds_until(steps, options.reward)
            seconds = sum(step["seconds"] for step in steps)
            waited = sum(step["wait_seconds"] for step in steps) / seconds
            table.add_row(
                f"asynchronous, {staleness} old" if staleness else "synchronous",
                str(seed),
                "not reached" if reached is None else f"{reached:.1f}",
                f"{seconds:.1f}",
                f"{waited:.0%}",
                f"{mean_of(steps, 'staleness'):.2f}",
                f"{mean_of(steps, 'sampler_kl'):.1e}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()
