"""Runs all tests, two at a time: those with clusters beside the others; who is done first helps.

python scripts/run_tests.py [options of pytest]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO

TESTS = Path("tests")
CLUSTERS = ("agents", "engines", "exports", "models", "policies")
CLUSTERS += ("rewards", "serve", "sources", "store", "tools")
# The longest come first: what is left at the end is short, whoever takes it.
OTHERS = ("train", "test_docs.py", "view", "cli")
NO_TESTS = 5  # pytest's code where the options have chosen none


def main() -> int:
    jobs = deque([str(TESTS / name)] for name in OTHERS)
    jobs.append(_rest())
    codes: list[int] = []
    with tempfile.TemporaryFile() as shown_later:
        clusters = [str(TESTS / name) for name in CLUSTERS]
        helper = threading.Thread(target=_beside, args=(clusters, jobs, codes, shown_later))
        helper.start()
        with suppress(IndexError):  # until none is left
            while True:
                codes.append(_run(jobs.popleft(), None))
        helper.join()
        shown_later.seek(0)
        sys.stdout.buffer.write(shown_later.read())
    return int(any(code not in (0, NO_TESTS) for code in codes))


def _rest() -> list[str]:
    named = {*CLUSTERS, *OTHERS}
    found = sorted(place for place in TESTS.iterdir() if place.name not in named)
    return [str(place) for place in found if place.is_dir() or place.name.startswith("test_")]


def _beside(
    clusters: list[str], jobs: deque[list[str]], codes: list[int], output: IO[bytes]
) -> None:
    codes.append(_run(clusters, output))
    with suppress(IndexError):
        while True:
            codes.append(_run(jobs.pop(), output))


def _run(places: list[str], output: IO[bytes] | None) -> int:
    # not by a shell's &: what it starts so hears no Ctrl-C, and neither do the tests of it
    command = [sys.executable, "-m", "pytest", *sys.argv[1:], *places]
    error = None if output is None else subprocess.STDOUT
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=error, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
