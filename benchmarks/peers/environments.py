"""Makes an environment for each peer, and one for us: Ray is heavier where more is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import venv
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".venv-peers"
PLAIN, OURS = "python", "ours"  # the one without packages, and this project's own

VERSIONS = """
import json, sys
from importlib.metadata import version
print(json.dumps({name: version(name) for name in sys.argv[1:]}))
"""


@cache
def python_of(environment: str) -> Path:
    """Its interpreter. The environment is made first, if it is not as the files ask for."""
    folder = FOLDER / environment
    python = folder / "bin" / "python"
    wanted = requirements(environment)
    ready = folder / ".ready"  # what was asked for when all of it was installed
    if ready.exists() and ready.read_text() == wanted:
        return python
    print(f"making {os.path.relpath(folder)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=bool(wanted), symlinks=True)
    if wanted:
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command = [*install, "--requirement", file_of(environment)]
        subprocess.run(command, check=True, cwd=ROOT)  # where we are, too
    ready.write_text(wanted)
    return python


def requirements(environment: str) -> str:
    if environment == PLAIN:
        return ""
    asked = (ROOT / "pyproject.toml").read_text() if environment == OURS else ""
    return file_of(environment).read_text() + asked


def file_of(environment: str) -> Path:
    return HERE / "requirements" / f"{environment}.txt"


def versions(environment: str) -> dict[str, str]:
    """Of what was asked for, as it is installed."""
    asked = "" if environment == PLAIN else file_of(environment).read_text()
    names = re.findall(r"^\w[\w-]*", asked, re.MULTILINE)
    names += ["aworld"] * (environment == OURS)
    command = [str(python_of(environment)), "-c", VERSIONS, *names]
    # Elsewhere, so that no package is found by being in the current folder.
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    return json.loads(told.stdout)
