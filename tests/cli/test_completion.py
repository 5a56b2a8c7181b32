"""Shell completion: the script is printed, and runs, rewards, engines and formats are offered."""

from __future__ import annotations

import subprocess

import pytest
from shell import COMMAND, environment


def asked(shell, **variables):
    return subprocess.run(
        COMMAND,
        cwd=shell.folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout


def offered(shell, line: str) -> list[str]:
    words = line.split(" ")
    return asked(
        shell,
        _AWORLD_COMPLETE="complete_bash",
        COMP_WORDS="\n".join(words),
        COMP_CWORD=str(len(words) - 1),
    ).split()


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_for_the_shell_is_printed(shell, name):
    assert "_AWORLD_COMPLETE" in asked(shell, _AWORLD_COMPLETE=f"source_{name}")


def test_names_are_offered(shell):
    assert offered(shell, "aworld res") == ["resume", "rescore"]
    assert offered(shell, "aworld run x --reward exact") == ["exact_match"]
    assert offered(shell, "aworld run x --engine s") == ["spark"]
    assert offered(shell, "aworld export x --to trl-") == ["trl-sft", "trl-dpo", "trl-kto"]
    assert offered(shell, "aworld resume x --retry time") == ["timeout"]


def test_runs_are_offered(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:echo", "--out", "runs/first", "-q")
    assert offered(shell, "aworld show runs/f") == ["runs/first"]
    assert "runs/" in offered(shell, "aworld show r")
