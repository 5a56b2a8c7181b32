"""`aworld cancel`: asks the process that runs a run to end it."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Annotated

import typer

from aworld.cli import options

if TYPE_CHECKING:
    from aworld.store.reader import Run

PAUSE = 0.5  # two signals at once would count as one
PATIENCE = 10.0


def cancel(
    run: options.RunFolder,
    now: Annotated[
        bool, typer.Option("--now", help="Stop what runs, too; else it comes to its end first.")
    ] = False,
    json: options.AsJson = False,
) -> int:
    """End a run that goes on somewhere on this machine. It can be resumed."""
    from aworld.cli.finding import found_run
    from aworld.cli.output import print_json, say
    from aworld.cli.places import to_go_on
    from aworld.train.folders import is_training

    with found_run(run) as opened:
        writer = opened.writer
        if writer is None:
            say(f"nobody runs {opened.folder}: there is nothing to cancel")
            return 1
        pid, host = writer.get("pid"), writer.get("host")
        if host != socket.gethostname() or not isinstance(pid, int):
            say(f"process {pid} on {host} runs {opened.folder}: cancel it there")
            return 1
        training = is_training(opened.folder)
        ended = _ask(pid, opened, now=now, once=training)
        if json:
            print_json({"folder": str(opened.folder), "pid": pid, "ended": ended})
        elif ended:
            say(f"process {pid} has ended; go on with: {to_go_on(opened.folder)}")
        elif training:
            say(f"process {pid} was asked to stop, and is still at it")
        else:
            say(f"process {pid} finishes what runs, and begins nothing more")
    return 0


def _ask(pid: int, run: Run, *, now: bool, once: bool) -> bool:
    """Whether it has ended by the time that this returns. A training is asked once: it then breaks
    off its step, and begins no other."""
    os.kill(pid, signal.SIGINT)
    if once:
        return _ends_within(PATIENCE, run)
    if _ends_within(PAUSE, run):
        return True
    if not now:
        return False
    try:
        os.kill(pid, signal.SIGINT)
    except ProcessLookupError:
        return True
    return _ends_within(PATIENCE, run)


def _ends_within(seconds: float, run: Run) -> bool:
    deadline = time.monotonic() + seconds
    while run.writer is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
