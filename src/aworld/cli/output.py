"""Where the command's words go: results to standard output, all else to standard error."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from aworld.core.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 1_000  # columns of a file or a pipe: nothing is cut or wrapped there
STDOUT, STDERR = 1, 2

_for_json: TextIO | None = None  # what standard output was, where it is for one object alone


class Patient(io.FileIO):
    """A run goes on, and ends as it would, although nobody takes what it says any more."""

    failure: OSError | None = None

    def write(self, data: Any, /) -> int | None:
        if self.failure is None:
            try:
                return super().write(data)
            except OSError as error:
                if isinstance(error, BlockingIOError):
                    raise
                self.failure = error
        return memoryview(data).nbytes


def be_patient() -> None:
    """With the streams of this process, also where whoever started it has closed them."""
    for number in (0, STDOUT, STDERR):
        try:
            os.fstat(number)
        except OSError:  # else the next file that is opened would take its place
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)
            if nowhere != number:
                os.close(nowhere)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = _stream(STDOUT, sys.stdout)
    sys.stderr = _stream(STDERR, sys.stderr)


def why_unwritten() -> str:
    """Why results did not get to where they were to go; not, if their reader has seen enough."""
    output = _for_json or sys.stdout
    try:
        output.flush()
    except ValueError:  # somebody's code has closed it
        return ""
    failure = getattr(getattr(getattr(output, "buffer", None), "raw", None), "failure", None)
    if failure is None or failure.errno == errno.EPIPE:
        return ""
    return failure.strerror or str(failure)


def keep_for_json(wanted: bool) -> bool:
    """From now on whatever anybody prints, in this process or a worker, is no result."""
    global _for_json
    if wanted and _for_json is None:
        sys.stdout.flush()
        _for_json = _stream(os.dup(STDOUT), sys.stdout)
        os.dup2(STDERR, STDOUT)
    return wanted


def console(*, error: bool = False) -> Console:
    """It takes text as it is: no markup, no highlighting, no emoji."""
    from rich.console import Console

    made = Console(stderr=error, markup=False, highlight=False, emoji=False, soft_wrap=False)
    if not made.is_terminal:
        made.width = WIDE
    return made


def say(text: str) -> None:
    """A line for the person who waits, never for the program that reads."""
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """One object, in ASCII: it can be piped, and looked at in a terminal."""
    data = plain(value)
    try:
        text = json.dumps(data, indent=2, allow_nan=False)
    except ValueError:  # JSON has no NaN
        text = json.dumps(json.loads(json.dumps(data), parse_constant=lambda _: None), indent=2)
    print(text, file=_for_json or sys.stdout, flush=True)


def _stream(number: int, like: TextIO | None) -> TextIO:
    raw = Patient(number, "w", closefd=False)
    encoding = "utf-8" if like is None else like.encoding
    lines = number == STDERR or raw.isatty()
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, encoding, errors="replace", line_buffering=lines)
