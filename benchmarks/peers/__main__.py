"""Our engines beside their peers, in one run: makes docs/figures.md.

    python benchmarks/peers [--repeat N] [--quick] [--only NAME] [--page] [--out FOLDER]

Each contender runs in fresh processes, in a virtual environment of its own. What takes long is run
once; what is quick is run again, N times in all, with the contenders in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import psutil
from cases import CONTENDERS, KILLED_SIZE, SIZES, Contender
from environments import python_of, versions
from page import written
from plots import bars, curves
from standings import Row
from watching import run

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
LIMIT_SECONDS = 120.0
LONG_SECONDS = 3.0  # what takes longer is run once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, help="of what takes under 3 seconds")
    parser.add_argument("--quick", action="store_true", help="1 and 32 tasks, each once")
    parser.add_argument("--only", default="", help="the contenders whose name contains this")
    parser.add_argument("--page", action="store_true", help="measure nothing: the page anew")
    parser.add_argument("--out", type=Path, help="folder of the page; of a whole run: docs")
    options = parser.parse_args()
    whole = not options.quick and not options.only
    lines = RESULTS / ("peers.jsonl" if whole else "peers-part.jsonl")
    if not options.page:
        chosen = [one for one in CONTENDERS if options.only in one.name]
        sizes, repeat = (SIZES[:2], 1) if options.quick else (SIZES, options.repeat)
        command = "make bench" if whole else f"python {shlex.join(sys.argv)}"
        machine = described(chosen, command)  # first: it makes the environments
        RESULTS.mkdir(parents=True, exist_ok=True)
        with lines.open("w") as file:
            for row in chain([{"machine": machine}], measurements(chosen, sizes, repeat)):
                print(json.dumps(row), file=file, flush=True)
    make_page(lines, options.out or (ROOT / "docs" if whole else RESULTS))


def measurements(contenders: list[Contender], sizes: tuple[int, ...], repeat: int) -> Iterator[Row]:
    """The first round is watched for its memory, which costs a little time: where a case is quick
    enough to be run again, only the rounds after it count as timings."""
    long: set[tuple[str, int]] = set()
    hanging: set[str] = set()  # with more tasks it would only hang again
    for turn in range(repeat + 1):
        for size in sizes:
            for contender in contenders:
                if contender.name in hanging or (contender.name, size) in long:
                    continue
                row = measured(contender, size, watch=turn == 0)
                yield row
                if row["hangs"]:
                    hanging.add(contender.name)
                if row["seconds"] > LONG_SECONDS:
                    long.add((contender.name, size))
    for contender in contenders:
        yield measured(contender, KILLED_SIZE, kill_after=KILLED_SIZE // 2)


def measured(contender: Contender, size: int, **how: Any) -> Row:
    python = python_of(contender.environment)
    found = run(python, contender.script, [contender.way, str(size)], limit=LIMIT_SECONDS, **how)
    row = {
        "contender": contender.name,
        "group": contender.group,
        "ours": contender.ours,
        "tasks": size,
        **found,
    }
    note = "hangs" if row["hangs"] else f"{row['seconds']:.2f} s, {row['good']} results"
    print(f"{contender.name}, {size} tasks{', one killed' * ('killed' in row)}: {note}", flush=True)
    return row


def described(contenders: list[Contender], command: str) -> dict[str, Any]:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return {
        "command": command,
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
        "java": java.split('"')[1],
        "versions": {
            environment: versions(environment)
            for environment in dict.fromkeys(one.environment for one in contenders)
        },
        "used": {one.name: [one.group, one.environment, one.used] for one in contenders},
    }


def make_page(lines: Path, folder: Path) -> None:
    first, *rows = map(json.loads, lines.read_text().splitlines())
    pictures = folder / "results"
    pictures.mkdir(parents=True, exist_ok=True)
    (pictures / "peers-seconds.svg").write_text(curves(rows))
    (pictures / "peers-memory.svg").write_text(bars(rows))
    page = folder / "figures.md"
    page.write_text(written(first["machine"], rows))
    print(f"wrote {os.path.relpath(page)}")


if __name__ == "__main__":
    main()
