"""The local engine: worker processes of this machine, each a fresh interpreter.

A fresh interpreter does not import the caller's `__main__` again, as multiprocessing would: scripts
need no `__main__` guard, and notebooks work.
"""

from __future__ import annotations

import marshal
import os
import pickle
import signal
import subprocess
import sys
import threading
from dataclasses import replace

from aworld.config import RunConfig
from aworld.engines import wire
from aworld.engines.base import Invitation, RuntimeEngine, Worker
from aworld.errors import ConfigError

# marshal is built in: no file of the user's can stand in its way
WORKER_CODE = """\
import marshal, sys
lifeline = open(0, "rb", buffering=0, closefd=False)
sys.path[:] = marshal.load(lifeline)
from aworld.engines.local_worker import main
main(lifeline)
"""


class LocalRuntime(RuntimeEngine):
    """Runs tasks in processes of this machine, or in this very process to debug them."""

    can_reuse_process = True

    def __init__(self, conf: RunConfig):
        super().__init__(conf)
        if not conf.in_local:
            raise ConfigError("the local engine is always local: leave in_local=True")
        self.in_process = conf.reuse_process or conf.worker_num == 0
        if self.in_process and conf.memory_limit_mb is not None:
            raise ConfigError("memory_limit_mb needs worker processes: set worker_num to 1 or more")
        if self.in_process:
            return
        if sys.platform == "win32":
            raise ConfigError("worker processes need Linux or macOS: use WSL, or set worker_num=0")
        if not sys.executable:
            raise ConfigError("no Python interpreter is known to start workers: set sys.executable")

    @property
    def worker_num(self) -> int:
        return max(1, super().worker_num)

    def start_worker(self, invitation: Invitation) -> Worker:
        if self.in_process:
            return ThreadWorker(replace(invitation, owns_process=False))
        return ProcessWorker(invitation, self.conf.job_name)


class ProcessWorker:
    """A process that leads a group of its own: Ctrl-C does not reach it, killing reaches it all."""

    def __init__(self, invitation: Invitation, job_name: str):
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        name = f"aworld-worker-{invitation.worker}"
        path = [entry for entry in sys.path if isinstance(entry, str)]
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-P", "-c", WORKER_CODE, name, job_name],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._ended = False
        assert self._process.stdin is not None
        # The pipe stays open as long as this process lives: its end tells the worker to go.
        self._process.stdin.write(marshal.dumps(path) + pickle.dumps(invitation))
        self._process.stdin.flush()

    def wait(self) -> str:
        if hasattr(os, "waitid"):
            # Not reaped yet, the process keeps its number, and the group can be killed safely.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:  # macOS before Python 3.13
            self._process.wait()
        self.kill()
        with self._lock:
            self._ended = True
            code = self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        return describe_exit(code)

    def kill(self) -> None:
        with self._lock:
            if not self._ended:
                try:
                    os.killpg(self._process.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):  # it has ended
                    pass


class ThreadWorker:
    """A worker in this process. It cannot be killed: one that does not stop is left behind."""

    def __init__(self, invitation: Invitation):
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(invitation,), name="aworld-in-process", daemon=True
        )
        self._thread.start()

    def _serve(self, invitation: Invitation) -> None:
        try:
            invitation.serve()
        finally:
            self._over.set()

    def wait(self) -> str:
        self._over.wait()
        return "was left behind"

    def kill(self) -> None:
        self._over.set()


def describe_exit(code: int) -> str:
    if code == wire.EXIT_OUT_OF_MEMORY:
        return "grew past memory_limit_mb, and was ended"
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (out of memory, or killed by hand)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"
