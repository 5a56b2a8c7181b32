"""A run whose records are damaged: every command says so, and what mends it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest
from shell import Shell

MEND = "aworld doctor runs/a --repair"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("shell"))
    run = ("run", "tasks.jsonl", "--agent", "agents.py:echo", "--reward", "exact_match")
    shell(*run, "--workers", "1", "--out", "runs/a", "-q")
    shutil.move(shell.folder / "runs", shell.folder / "sound")
    return shell


@pytest.fixture
def shell(recorded):
    """With a fresh copy of the run."""
    shutil.rmtree(recorded.folder / "runs", ignore_errors=True)
    shutil.copytree(recorded.folder / "sound", recorded.folder / "runs")
    return recorded


def change(shell, *statements):
    with closing(sqlite3.connect(shell.folder / "runs/a/run.db", isolation_level=None)) as run:
        for statement in statements:
            run.execute(statement)


def test_resume_does_not_say_that_nothing_is_owed(shell):
    change(shell, "update bodies set body = x'00' where slot in (2, 5)")
    done = shell("resume", "a", code=1)
    assert "nothing is owed" not in done.stderr
    assert f"2 records are damaged: `{MEND}` owes them again" in done.stderr
    assert shell.json("resume", "a", code=1)["damaged"] == 2
    shell("doctor", "a", "--repair")
    assert shell.json("resume", "a")["status"] == "complete"
    assert "nothing is owed" in shell("resume", "a").stderr
    names = [run["name"] for run in shell.json("ls", "runs/a")["runs"]]
    assert names == ["a"]  # what was kept of it is no other run


@pytest.mark.parametrize(
    "statement",
    [
        "drop table bodies",
        "drop table results",
        "drop table tasks",
        "update results set status = 7, tokens = 'many', cost = x'00'",
    ],
)
def test_there_is_one_line_that_tells_what_mends_it(shell, statement):
    change(shell, statement)
    commands = [("show", "a"), ("show", "a", "t1"), ("eval", "a"), ("compare", "a", "a")]
    commands += [("export", "a", "--to", "messages", "--overwrite")]
    for command in (*commands, ("resume", "a"), ("rescore", "a", "--reward", "contains")):
        done = shell(*command, code=None)
        if done.returncode == 2:
            assert len(done.stderr.splitlines()) == 1, done.stderr
            assert MEND in done.stderr


def test_a_file_that_is_no_database_any_more_is_named(shell):
    path = shell.folder / "runs/a/run.db"
    content = bytearray(path.read_bytes())
    content[8192 * 2 :] = b"\x55" * (len(content) - 8192 * 2)
    path.write_bytes(content)
    for command in (("show", "a"), ("eval", "a"), ("compare", "a", "a")):
        assert "--repair" in shell.refusal(*command)
