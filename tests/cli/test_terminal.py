"""The command at a terminal: a pseudo-terminal, with a real Ctrl-C typed into it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import time

from shell import COMMAND, environment
from waiting import until

PATIENCE = 30.0


class Terminal:
    """Runs a command in it, and reads what a person would see."""

    def __init__(self, shell, *arguments):
        self.seen = ""
        pid, self._handle = pty.fork()
        if pid == 0:  # pragma: no cover
            os.chdir(shell.folder)
            command = [*COMMAND, *arguments]
            os.execve(command[0], command, environment() | {"TERM": "xterm", "COLUMNS": "120"})
        self._pid = pid

    def read_until(self, pattern: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.seen):
            assert time.monotonic() < deadline, self.seen
            assert self._read(), self.seen
        return self.seen

    def type(self, keys: str) -> None:
        os.write(self._handle, keys.encode())

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._handle)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self) -> bool:
        """False: there is no more."""
        try:
            if select.select([self._handle], [], [], 0.1)[0]:
                data = os.read(self._handle, 65536)
                self.seen += data.decode("utf-8", "replace")
                return bool(data)
            return True
        except OSError:  # the other end is closed
            return False


def test_a_person_sees_the_run_live_and_a_summary_at_the_end(shell):
    terminal = Terminal(
        *(shell, "run", "tasks.jsonl", "--agent", "agents.py:slow", "--workers", "1"),
        *("--per-worker", "2", "--reward", "exact_match", "--out", "runs/a"),
    )
    seen = terminal.read_until(r"2 running, 0 failed, [\d.]+ tasks/s, reward 1\.000, 0:0\d left")
    assert "\x1b[" in seen  # drawn again and again in the same place
    assert "━" in seen
    assert terminal.end() == 0
    assert "10/10 done" in terminal.seen
    assert "10/10 recorded, mean reward 1.000" in terminal.seen
    assert "aworld show runs/a" in terminal.seen


def test_ctrl_c_is_answered_on_the_screen(shell):
    terminal = Terminal(
        *(shell, "run", "tasks.jsonl", "--agent", "agents.py:waits_for_a_sign"),
        *("--workers", "1", "--per-worker", "2", "--out", "runs/a"),
    )
    until(lambda: shell.begun() == 2)  # before, they are given up at the first
    terminal.read_until("2 running")
    terminal.type("\x03")
    terminal.read_until("finishing what runs, nothing more is begun; Ctrl-C once more stops now")
    terminal.type("\x03")
    terminal.read_until("stopping now")
    assert terminal.end() == 130
    assert "10 are owed; go on with: aworld resume runs/a" in terminal.seen


def test_json_stays_clean_at_a_terminal(shell):
    terminal = Terminal(shell, "run", "tasks.jsonl", "--agent", "agents.py:echo", "--json", "-q")
    assert terminal.end() == 0
    assert json.loads(terminal.seen)["done"] == 10
