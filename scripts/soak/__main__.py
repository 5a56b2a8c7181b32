"""Runs many tasks on each engine while things are killed, and counts what came back.

python scripts/soak [--minutes 60] [--tasks 100000] [--engines local,ray,spark] [--seed 1]
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from part import Part, Soaking
from places import PLACES
from report import report
from view import View

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "soak.md"


def main() -> int:
    asked = arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: all is ended in order
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="soak-"))
    (folder / "runs").mkdir(parents=True)
    try:
        parts = soak(asked, folder)
    except KeyboardInterrupt:
        print(f"interrupted; all that was started has been ended. Runs and logs: {folder}")
        return 130
    text = report(parts, command=command(asked))
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(text)
    print(text)
    good = all(part.is_good for part in parts)
    if good and asked.folder is None:
        shutil.rmtree(folder)
    else:
        print(f"runs and logs: {folder}")
    return 0 if good else 1


def soak(asked: argparse.Namespace, folder: Path) -> list[Part]:
    seconds = 60 * asked.minutes / len(asked.engines)
    shares = shared(asked.tasks, len(asked.engines))
    view = View(folder / "runs", folder / "view.log")
    try:
        return [
            Soaking(engine, count, seconds, asked.seed, folder).run(view)
            for engine, count in zip(asked.engines, shares, strict=True)
        ]
    finally:
        view.close()


def shared(tasks: int, engines: int) -> list[int]:
    return [tasks // engines + (number < tasks % engines) for number in range(engines)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of all engines together")
    parser.add_argument("--tasks", type=int, default=100_000, help="of all engines together")
    parser.add_argument("--engines", type=named, default=list(PLACES), help="in this order")
    parser.add_argument("--seed", default="1", help="of what is killed when")
    parser.add_argument("--folder", type=Path, help="a new one, which is kept")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the table is written")
    return parser.parse_args()


def named(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in PLACES or names.count(name) > 1:
            raise argparse.ArgumentTypeError(f"name each once, of: {', '.join(PLACES)}")
    return names


def command(asked: argparse.Namespace) -> str:
    said = f"python scripts/soak --minutes {asked.minutes:g} --tasks {asked.tasks}"
    return f"{said} --engines {','.join(asked.engines)} --seed {asked.seed}"


if __name__ == "__main__":
    sys.exit(main())
