"""A worker as a process of this machine: a fresh interpreter.

It does not import the caller's `__main__` again, as multiprocessing would: scripts need no
`__main__` guard, and notebooks work.
"""

from __future__ import annotations

import marshal
import os
import pickle
import signal
import subprocess
import sys
import threading

from aworld.engines import wire
from aworld.engines.base import Invitation

# marshal is built in: no file of the user's can stand in its way
WORKER_CODE = """\
import marshal, sys
lifeline = open(0, "rb", buffering=0, closefd=False)
sys.path[:] = marshal.load(lifeline)
from aworld.engines.process_main import main
main(lifeline)
"""


# For glibc: what large results have used is used again, not given back and asked for anew.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "16777216", "MALLOC_TRIM_THRESHOLD_": "67108864"}


class WorkerProcess:
    """A process that leads a group of its own: Ctrl-C does not reach it, killing reaches it all."""

    def __init__(self, invitation: Invitation):
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        name = f"aworld-worker-{invitation.worker}"
        mine = [entry for entry in sys.path if isinstance(entry, str)]
        path = [*mine, *(entry for entry in invitation.path if entry not in mine)]
        inherited = () if invitation.socket_fd is None else (invitation.socket_fd,)
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-P", "-c", WORKER_CODE, name, invitation.job_name],
            stdin=subprocess.PIPE,
            env=os.environ | KEEP_MEMORY,
            start_new_session=True,
            pass_fds=inherited,
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
