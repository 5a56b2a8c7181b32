"""The documentation is built as a site: whole, strict, and with nothing fetched from elsewhere."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from aworld.cli.main import app
from aworld.core.plugins import load_dotted

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_in_the_menu(site):
    menu = (ROOT / "mkdocs.yml").read_text().split("nav:")[1]
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(re.findall(r"([\w./-]+\.md)$", menu, re.MULTILINE)) == sorted(map(str, pages))
    for page in pages:
        folder = site / page.parent / ("" if page.stem == "index" else page.stem)
        assert (folder / "index.html").exists(), page


def test_a_page_fetches_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page.read_text()
        )
        assert [one for one in loaded if "canonical" not in one] == [], page


PUBLIC = [
    *("aworld", "aworld.agents", "aworld.tools", "aworld.rewards", "aworld.store"),
    *("aworld.sources", "aworld.exports", "aworld.evaluation", "aworld.train"),
    *("aworld.train.algorithms", "aworld.policies", "aworld.serve", "aworld.view"),
]


def test_the_reference_has_every_public_name_once(site):
    """A heading of its own, at the place where the name is defined: a mention is not enough."""
    shown = [
        place
        for page in (site / "reference").rglob("*.html")
        for place in re.findall(r'<h3 id="(aworld[\w.]+)" class="doc', page.read_text())
    ]
    assert len(shown) == len(set(shown))
    by_name = {place.rpartition(".")[2]: load_dotted(place) for place in shown}
    assert len(by_name) == len(shown)
    for module in map(importlib.import_module, PUBLIC):
        missing = [
            name
            for name in module.__all__
            if name not in by_name or by_name[name] is not getattr(module, name)
        ]
        assert missing == [], module.__name__


def test_no_public_package_is_left_out_of_the_reference():
    packages = [
        ".".join(file.relative_to(ROOT / "src").parent.parts)
        for file in (ROOT / "src/aworld").rglob("__init__.py")
        if "\n__all__ = " in file.read_text()
    ]
    assert sorted(packages) == sorted(PUBLIC)


def test_a_name_of_the_reference_says_what_it_is(site):
    for page in (site / "reference").rglob("*.html"):
        for part in re.split(r'<h3 id="(?=aworld)', page.read_text())[1:]:
            text = part.partition("<h2")[0].partition('<div class="doc doc-contents')[2]
            text = re.split(r'<div class="doc doc-(?:contents|children|object)', text)[0]
            assert re.search(r"<p>\s*\S", text), part.partition('"')[0]


def test_every_command_of_the_shell_is_in_the_reference_with_all_it_takes():
    command: Any = get_command(app)
    page = (ROOT / "docs/reference/shell.md").read_text()
    sections = re.findall(r"^## aworld ?(\w*)\n(.*?)(?=\n## |\Z)", page, re.MULTILINE | re.DOTALL)
    known = {"": command, **command.commands}
    assert [name for name, _ in sections] == list(known)
    for name, section in sections:
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        assert rows == [_row(given) for given in known[name].params], name
        assert not name or f"\n{_one_line(known[name].help)}\n" in section


def _row(given: Any) -> str:
    """How the page writes an option or an argument."""
    names = [*given.opts, *given.secondary_opts]
    if given.param_type_name == "argument":
        names = (given.metavar or given.name.upper()).strip("[]").split("|")
    default = names[0] if given.default is True else given.default
    shown = "" if default in (None, False) else f"`{default}`"
    called = ", ".join(f"`{name}`" for name in names)
    return f"| {called} | {shown} | {_one_line(given.help)} |"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
