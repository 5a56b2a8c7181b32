"""Builds the wheel and the sdist, and installs each extra in an environment of its own.

    python scripts/package.py [EXTRA ...]

What comes of it is in dist/; the table says how long each extra takes, how much it installs, and
whether `aworld doctor` finds it whole.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
FOR_OURSELVES = {"dev", "docs"}
CONSTRAINTS = ROOT / "constraints.txt"


def main(asked: list[str]) -> int:
    build()
    (wheel,) = DIST.glob("*.whl")
    (sdist,) = DIST.glob("*.tar.gz")
    for made in (wheel, sdist):
        print(f"{made.name}  {made.stat().st_size / 1000:,.0f} kB")
    known = metadata("aworld").get_all("Provides-Extra") or []
    good = True
    for extra in asked or ["", *sorted(set(known) - FOR_OURSELVES)]:
        with tempfile.TemporaryDirectory() as folder:
            good &= tried(wheel, extra, Path(folder))
    return 0 if good else 1


def build() -> None:
    for old in [*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]:
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, ROOT], check=True)


def tried(wheel: Path, extra: str, folder: Path) -> bool:
    """Whether the wheel with this extra can be installed, imported, and is found whole."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin/python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    needed = f"{wheel}[{extra}]" if extra else str(wheel)
    subprocess.run([*install, "--constraint", CONSTRAINTS, needed], check=True)
    seconds = time.perf_counter() - began
    said = subprocess.run(
        [folder / "bin/aworld", "doctor", "--json"], cwd=folder, capture_output=True, text=True
    )
    checks = {check["name"]: check for check in json.loads(said.stdout)["checks"]}
    whole = said.returncode == 0 and (not extra or checks[f"aworld[{extra}]"]["state"] == "ok")
    size = sum(path.stat().st_size for path in sites(folder)) / 1e6
    name = f"aworld[{extra}]" if extra else "aworld"
    print(f"{name:16} {'ok' if whole else 'NOT WHOLE':10} {seconds:6.1f} s {size:8,.0f} MB")
    return whole


def sites(folder: Path) -> Iterator[Path]:
    return (path for path in (folder / "lib").rglob("*") if path.is_file())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
