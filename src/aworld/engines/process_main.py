"""What a worker process does first."""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import sys
from io import FileIO, TextIOWrapper

from aworld.engines.base import Invitation
from aworld.engines.worker_process import KEEP_MEMORY


def main(stdin: FileIO) -> None:
    """`stdin` brings the invitation; its end means that the driver is gone."""
    invitation: Invitation = pickle.load(stdin)
    for name in KEEP_MEMORY:  # meant for this process, not for those that a task starts
        os.environ.pop(name, None)
    lifeline = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # input() in a task fails instead of hanging
    die_with_driver(lifeline)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, TextIOWrapper):  # what a task prints is seen even if it is killed
            output.reconfigure(line_buffering=True)
    try:
        invitation.serve()
    except (ConnectionError, EOFError) as error:
        sys.exit(f"aworld worker {invitation.worker}: the driver is gone ({error})")


def die_with_driver(lifeline: int) -> None:
    """The kernel ends this process and all that it has started when the driver is gone.

    It does so even when no line of Python can run any more. Where there is no such service, the
    worker's reader thread notices the closed connection.
    """
    if hasattr(fcntl, "F_SETSIG"):
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgid(0))
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
