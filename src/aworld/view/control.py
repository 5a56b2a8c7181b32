"""What can be done to a run from the page: pause it, end it, run again what failed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError
from aworld.store import lock
from aworld.store.folder import read_config
from aworld.store.live import ask_to_pause

RETRIED = "failed,timeout,crashed,truncated"
LAST_WORDS = 2_000  # characters of what a command that failed has said


class Control:
    """Acts on runs by the same means as the command line. It remembers what it has started."""

    def __init__(self) -> None:
        self._started: dict[Path, _Started] = {}
        self._acting = threading.Lock()

    def act(self, folder: Path, action: str) -> dict[str, Any]:
        if action not in ACTIONS:
            raise ConfigError(f"there is no action {action!r:.40}: {', '.join(ACTIONS)}")
        with self._acting:
            return ACTIONS[action](self, folder)

    def state(self, folder: Path) -> dict[str, Any] | None:
        """Of what was started from here for this run."""
        started = self._started.get(folder)
        return None if started is None else started.state()

    def _pause(self, folder: Path) -> dict[str, Any]:
        _writer(folder)
        ask_to_pause(folder, True)
        return {"said": "pausing: what runs comes to its end, nothing more begins"}

    def _go_on(self, folder: Path) -> dict[str, Any]:
        _writer(folder)
        ask_to_pause(folder, False)
        return {"said": "going on"}

    def _cancel(self, folder: Path) -> dict[str, Any]:
        pid = _writer(folder)
        ask_to_pause(folder, False)  # a paused run could not come to its end
        os.kill(pid, signal.SIGINT)
        return {"said": f"process {pid} finishes what runs, and begins nothing more"}

    def _resume(self, folder: Path) -> dict[str, Any]:
        return self._start(folder, [])

    def _retry(self, folder: Path) -> dict[str, Any]:
        return self._start(folder, ["--retry", RETRIED])

    def _start(self, folder: Path, options: list[str]) -> dict[str, Any]:
        if lock.holder(folder) is not None:
            raise ConfigError("the run goes on already: wait until it is over, or cancel it first")
        if "import" in read_config(folder):
            raise ConfigError("there is nothing to run again: it was imported, not run")
        command = ["resume", str(folder), "--quiet", *options]
        self._started[folder] = _Started(command, read_config(folder).get("command", {}))
        return {"said": f"started: aworld {' '.join(command)}"}


class _Started:
    """A command of its own: it goes on when the view is closed."""

    def __init__(self, command: list[str], asked: dict[str, Any]):
        place = asked.get("directory")
        self._code: int | None = None
        self._said = ""
        process = subprocess.Popen(
            [sys.executable, "-m", "aworld", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=place if isinstance(place, str) and os.path.isdir(place) else None,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                self._said = (self._said + line.decode(errors="replace"))[-LAST_WORDS:]
        self._code = process.returncode

    def state(self) -> dict[str, Any]:
        if self._code is None:
            return {"going": True}
        return {"going": False, "code": self._code, "said": self._said.strip()}


def _writer(folder: Path) -> int:
    """The process that runs it, if that is on this machine."""
    found = lock.holder(folder)
    if found is None:
        raise ConfigError("nobody runs this run now")
    pid, host = found.get("pid"), found.get("host")
    if host != socket.gethostname() or not isinstance(pid, int) or pid <= 1:
        raise ConfigError(f"process {pid} on {host} runs it: do it there")
    return pid


ACTIONS: dict[str, Callable[[Control, Path], dict[str, Any]]] = {
    "pause": Control._pause,
    "go-on": Control._go_on,
    "cancel": Control._cancel,
    "resume": Control._resume,
    "retry": Control._retry,
}
