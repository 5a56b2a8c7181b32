"""The code in the README and the docs runs, and prints what it says it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = {
    page.name: "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
    for page in PAGES
    if "```python" in page.read_text()
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE.keys())
def test_the_code_of_a_page_runs_from_its_top_to_its_end(code, tmp_path):
    script = tmp_path / "page.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"print\(.*\)  # (.*)", code)
    assert done.stdout.splitlines() == promised


def test_the_commands_in_the_readme_do_what_it_says(tmp_path):
    (script,) = re.findall(r"```sh\n(cat .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=os.environ | here,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "8/8 recorded, mean reward 1.000" in done.stdout + done.stderr
    assert "8 rows: " in done.stdout + done.stderr


def test_no_page_has_a_gap():
    for page in PAGES:
        assert not re.search(r"\b(TODO|TBD|FIXME|[A-Z]+_TABLE)\b", page.read_text()), page.name


def test_there_is_code_to_run():
    assert len(CODE) >= 3


def test_every_file_that_the_docs_link_to_exists():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_setting_is_in_the_readme_and_in_the_docstring():
    from dataclasses import fields

    from aworld import RunConfig

    readme = (ROOT / "README.md").read_text()
    for field in fields(RunConfig):
        assert f"| `{field.name}` |" in readme
        assert f"\n    {field.name} " in (RunConfig.__doc__ or "")


def test_every_room_in_the_picture_exists_and_every_room_is_in_the_picture():
    page = (ROOT / "docs/architecture.md").read_text()
    named = set(re.findall(r"(\w+\.py)\b", page.split("```")[3]))
    modules = {path.name for path in (ROOT / "src/aworld").rglob("*.py")}
    inside_core_and_packages = {p.name for p in (ROOT / "src/aworld/core").glob("*.py")}
    assert named <= modules
    assert modules - inside_core_and_packages - {"__init__.py"} <= named


def test_every_example_is_tested():
    assert EXAMPLES.keys() == {path.name for path in (ROOT / "examples").glob("*.py")}


EXAMPLES = {
    "01_parallel_tasks.py": r"200/200 done, 0 running, 7 failed",
    "02_agent_with_tools.py": r"(1[6-9]|20) of 20 right",
    "03_parallel_search.py": r"by_title, by_words,",
    "04_any_framework.py": r"task19 .* success",
    "05_train_on_cpu.py": r"0% after imitation, (9[05]|100)% after",
}


@pytest.mark.parametrize(("name", "seen"), EXAMPLES.items())
def test_the_example_runs_and_shows_what_it_promises(name, seen):
    for name_of_model in ("LLM_MODEL_NAME", "LLM_BASE_URL"):
        assert name_of_model not in os.environ
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert re.search(seen, done.stdout + done.stderr), done.stdout
