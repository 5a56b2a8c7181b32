"""Runs all tests in two halves side by side; the one with the clusters is shown when it has ended.

python scripts/run_tests.py [options of pytest]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

CLUSTERS = ("agents", "engines", "exports", "models", "policies")
CLUSTERS += ("rewards", "serve", "sources", "store", "tools")


def main() -> int:
    half = [f"tests/{name}" for name in CLUSTERS]
    rest = ["tests", *(f"--ignore={folder}" for folder in half)]
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    with tempfile.TemporaryFile() as shown_later:
        # not by a shell's &: what it starts so hears no Ctrl-C, and neither do the tests of it
        beside = subprocess.Popen(
            [*command, *half],
            stdout=shown_later,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        codes = [subprocess.run([*command, *rest], check=False).returncode, beside.wait()]
        shown_later.seek(0)
        sys.stdout.buffer.write(shown_later.read())
    return int(any(codes))  # a half that was killed has a negative one


if __name__ == "__main__":
    sys.exit(main())
