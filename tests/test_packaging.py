"""What is installed is all that is needed, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_KB = 1000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


def test_the_wheel_is_small_and_has_types_licences_and_the_pages_of_the_view(wheel):
    assert wheel.stat().st_size < MOST_KB * 1000
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"aworld/py.typed", "aworld/view/static/index.html"} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"aworld"}


@pytest.mark.slow
def test_it_runs_where_nothing_else_is_installed(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "clean"], check=True)
    bin_folder = tmp_path / "clean" / "bin"
    pip = [bin_folder / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, wheel], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    said = subprocess.run(
        [bin_folder / "aworld", "doctor", "--json"], cwd=tmp_path, capture_output=True, text=True
    )
    checks = {check["name"]: check for check in json.loads(said.stdout)["checks"]}
    assert checks["aworld[train]"]["advice"] == "pip install 'aworld[train]'"
    program = (
        "from aworld import Runners, RunConfig\n"
        "print(Runners.sync_run('hello', str.upper, RunConfig(worker_num=1)).answer)\n"
    )
    ran = subprocess.run(
        [bin_folder / "python", "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.stdout.strip() == "HELLO", ran.stderr
