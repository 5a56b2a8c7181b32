"""Where words go: programs read one JSON object, and nobody has to read to the end."""

from __future__ import annotations

import json
import shlex
import subprocess

import pytest
from shell import COMMAND, environment

LOUD = """
import os
print("while loading")
os.system("echo from a program")

async def agent(question):
    print("while answering")
    return question

def reward(task, trajectory):
    print("while scoring")
    return 1.0

def tasks():
    print("while giving tasks")
    yield {"id": "a", "input": "q"}
"""
RUN = ("run", "tasks.jsonl", "--agent", "agents.py:echo", "--workers", "1", "-q")


def in_a_shell(shell, command: str) -> subprocess.CompletedProcess[str]:
    """With `aworld` in its place, and a pipe failing as its first command does."""
    whole = f'set -o pipefail; aworld() {{ {shlex.join(COMMAND)} "$@"; }}; {command}'
    done = subprocess.run(
        ["bash", "-c", whole],
        cwd=shell.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_others_print_does_not_spoil_the_json(shell, workers):
    (shell.folder / "loud.py").write_text(LOUD)
    loud = ("loud.py:tasks", "--agent", "loud.py:agent", "--reward", "loud.py:reward")
    done = shell("run", *loud, "--workers", workers, "--out", "runs/a", "--json")
    assert json.loads(done.stdout)["reward"] == 1.0
    for said in ("loading", "giving tasks", "answering", "scoring"):
        assert f"while {said}" in done.stderr
    assert "from a program" in done.stderr
    if workers == "0":
        assert shell.json("run", *loud, "--dry-run")["agent"].endswith("loud.py:agent")
        assert shell.json("rescore", "a", "--reward", "loud.py:reward")["scored"] == 1
        assert shell.json("resume", "a")["done"] == 1
        assert shell.json("eval", *loud, "--workers", "0")["evaluation"]["reward"]["mean"] == 1.0


def test_a_reader_that_has_seen_enough_changes_no_exit_code(shell):
    run = shlex.join(RUN)
    assert in_a_shell(shell, f"aworld {run} --out runs/a | true").returncode == 0
    picky = run.replace("echo", "picky")
    assert in_a_shell(shell, f"aworld {picky} --out runs/b 2>&1 | true").returncode == 1
    assert shell.json("ls")["runs"][0]["done"] == 10
    for command in ("show a", "ls", "show a --json", "doctor a"):
        assert in_a_shell(shell, f"aworld {command} | true").returncode == 0, command


def test_a_run_ends_as_it_would_although_its_words_cannot_be_written(shell):
    run = shlex.join(RUN)
    done = in_a_shell(shell, f"aworld {run} --out runs/a > /dev/full")
    assert done.returncode == 0
    assert "standard output cannot be written to: No space left on device" in done.stderr
    assert in_a_shell(shell, f"aworld {run} --out runs/b --json > /dev/full").returncode == 0
    assert in_a_shell(shell, f"aworld {run} --out runs/c >&-").returncode == 0
    assert in_a_shell(shell, f"aworld {run} --out runs/d <&- >&- 2>&-").returncode == 0
    assert [run["done"] for run in shell.json("ls")["runs"]] == [10, 10, 10, 10]
    assert in_a_shell(shell, "aworld show a > /dev/full").returncode == 1  # it has done nothing
