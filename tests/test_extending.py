"""The engine in docs/extending/engine.md is real: it is found by name and passes the suite."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aworld import ConfigError, RunConfig, Runners

ROOT = Path(__file__).parent.parent


@pytest.fixture
def package(tmp_path):
    """The page's engine in a package of its own, installed as its entry point says."""
    page = (ROOT / "docs/extending/engine.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)\nconf = ", page, re.DOTALL)
    (entry_points,) = re.findall(r"```toml\n\[project.entry-points.(.*?)```", page, re.DOTALL)
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package/__init__.py").touch()
    (tmp_path / "my_package/my_engine.py").write_text(code)
    info = tmp_path / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[" + entry_points.replace('"', ""))
    return tmp_path


def test_an_engine_of_another_package_is_found_by_its_entry_point(package, monkeypatch):
    monkeypatch.syspath_prepend(package)
    conf = RunConfig(engine_name="threads", worker_num=2)
    assert Runners.sync_run("hello", str.upper, conf).answer == "HELLO"
    with pytest.raises(ConfigError, match=r"did you mean 'threads'\? \(known: local, ray, spark,"):
        Runners.sync_run("hello", str.upper, RunConfig(engine_name="thread"))


@pytest.mark.slow
def test_the_engine_of_the_docs_passes_the_conformance_suite(package):
    engine = "my_package.my_engine.ThreadEngine"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--engine", engine, "--unkillable", "-k", engine, ROOT / "tests/engines"),
        ],
        env={"PYTHONPATH": str(package), "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 70
