"""What can be done to a run from the page: pause it, end it, run again what failed."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from aworld.core.failure import TRIED
from aworld.errors import ConfigError, StoreError
from aworld.store import lock
from aworld.store.folder import read_config
from aworld.store.live import ask_to_pause, read_live
from aworld.store.reader import open_run
from aworld.store.schema import FILE
from aworld.train.folders import is_training

LAST_WORDS = 2_000  # characters of what a command that failed has said
HEARD_SECONDS = 1.5  # until a process has said that it was asked to end
SOME_FAILED = 1
HAVE_RUN = (0, SOME_FAILED, 130)  # exit codes of a command that has run tasks
CRASH = re.compile(  # a traceback at the very end: not one that an agent has logged
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*\S.*\s*\Z", re.MULTILINE
)


class Control:
    """Acts on runs by the same means as the command line. It remembers what it has started."""

    def __init__(self) -> None:
        self._started: dict[Path, _Started] = {}
        self._cancelled: dict[Path, int] = {}  # the process that was asked to end it
        self._acting = threading.Lock()

    def act(self, folder: Path, action: str) -> dict[str, Any]:
        if action not in ACTIONS:
            raise ConfigError(f"there is no action {action!r:.40}: {', '.join(ACTIONS)}")
        with self._acting:
            return ACTIONS[action](self, folder)

    def state(self, folder: Path) -> dict[str, Any] | None:
        """Of what was started from here for this run."""
        started = self._started.get(folder)
        if started is not None and started.is_outdated():
            self._started.pop(folder, None)
            return None
        return None if started is None else started.state()

    def is_cancelling(self, folder: Path) -> bool:
        """Whether it was asked to end, from here or by others, and is still at it."""
        writer = lock.holder(folder)
        if writer is None:
            return False
        live = read_live(folder)
        return writer.get("pid") == self._cancelled.get(folder) or bool(live and live.cancelling)

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
        if self.is_cancelling(folder):  # a second signal would stop what runs
            raise ConfigError("it was asked to end already: `stop` ends what runs, too")
        ask_to_pause(folder, False)  # a paused run could not come to its end
        os.kill(pid, signal.SIGINT)
        self._cancelled[folder] = pid
        if is_training(folder):
            words = "it breaks off its step, and begins no other"
            return {"said": f"process {pid} was asked to stop: {words}"}
        return {"said": f"process {pid} finishes what runs, and begins nothing more"}

    def _stop(self, folder: Path) -> dict[str, Any]:
        pid = _writer(folder)
        if is_training(folder):
            raise ConfigError("a training is ended by `cancel`: it breaks off its step at once")
        if not self.is_cancelling(folder):
            self._cancel(folder)
        deadline = time.monotonic() + HEARD_SECONDS  # two signals at once would count as one
        while time.monotonic() < deadline and lock.holder(folder) is not None:
            live = read_live(folder)
            if live is not None and live.cancelling:
                os.kill(pid, signal.SIGINT)
                break
            time.sleep(0.02)
        else:
            if lock.holder(folder) is not None:  # it tells nothing of itself
                os.kill(pid, signal.SIGINT)
        return {"said": f"process {pid} stops now: what has finished is kept"}

    def _resume(self, folder: Path) -> dict[str, Any]:
        return self._start(folder)

    def _retry(self, folder: Path) -> dict[str, Any]:
        return self._start(folder, TRIED)

    def _start(self, folder: Path, retried: Sequence[str] = ()) -> dict[str, Any]:
        if lock.holder(folder) is not None:
            raise ConfigError("the run goes on already: wait until it is over, or cancel it first")
        if is_training(folder):
            raise ConfigError("a training goes on by `aworld train CONFIG --resume`")
        if "import" in read_config(folder):
            raise ConfigError("there is nothing to run again: it was imported, not run")
        options = ["--retry", ",".join(retried)] if retried else []
        command = ["resume", str(folder), "--quiet", *options]
        asked = read_config(folder).get("command", {})
        self._started[folder] = _Started(folder, command, asked, retried)
        return {"said": f"started: aworld {' '.join(command)}"}


class _Started:
    """A command of its own: it goes on when the view is closed."""

    def __init__(
        self, folder: Path, command: list[str], asked: dict[str, Any], retried: Sequence[str]
    ):
        self._folder = folder
        self._retried = retried
        self._began, self._ended = time.time(), 0.0
        self._has_run = False
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
        self._has_run = _has_recorded(self._folder, self._began)
        self._ended = time.time()
        self._code = process.returncode

    def state(self) -> dict[str, Any]:
        if self._code is None:
            return {"going": True}
        facts = {"going": False, "code": self._code, "said": self._said.strip()}
        facts |= {"signal": max(-self._code, 0), "again": bool(self._retried)}
        return {**facts, "ran": self._has_run}

    def is_outdated(self) -> bool:
        """It has run the run, whatever came of the tasks; or somebody else has, since."""
        if self._code is None:
            return False
        crashed = self._code == SOME_FAILED and CRASH.search(self._said)
        if self._code in HAVE_RUN and not crashed:
            return True
        return lock.holder(self._folder) is not None or _written(self._folder) > self._ended


def _has_recorded(folder: Path, since: float) -> bool:
    query = "select 1 from results where ended > ? limit 1"
    try:
        with open_run(folder) as run:
            return run.connection.execute(query, (since,)).fetchone() is not None
    except (StoreError, sqlite3.Error, OSError):
        return False


def _written(folder: Path) -> float:
    """When something was last recorded. Readers, too, make a log, but an empty one."""
    moments = [0.0]
    for name in (FILE, f"{FILE}-wal"):
        try:
            found = os.stat(folder / name)
        except OSError:
            continue
        if found.st_size:
            moments.append(found.st_mtime)
    return max(moments)


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
    "stop": Control._stop,
    "resume": Control._resume,
    "retry": Control._retry,
}
