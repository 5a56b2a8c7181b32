"""How things end. An error is data: exception objects need not survive between processes."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, get_args

from aworld.core.shown import cut_in_the_middle

Status = Literal["success", "failed", "truncated", "timeout", "crashed", "cancelled", "skipped"]
STATUSES: tuple[Status, ...] = get_args(Status)
TRIED = ("failed", "truncated", "timeout", "crashed")  # not those that never ran or were cancelled

LONGEST_MESSAGE = 10_000
LONGEST_TRACEBACK = 50_000


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """What went wrong: the kind of error, its message and where it came from."""

    kind: str
    message: str
    traceback: str = ""


def describe_error(error: BaseException) -> ErrorInfo:
    """Never raises, however broken the exception is."""
    kind = type(error).__name__
    if type(error).__module__ not in ("builtins", "__main__", "aworld.errors"):
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
    try:
        message = str.__str__(str(error))  # a str of a class of its own need not travel
    except BaseException as broken:
        message = f"(its message cannot be shown: {type(broken).__name__})"
    try:
        trace = "".join(traceback.format_exception(error))
    except BaseException:
        trace = "".join(traceback.format_tb(error.__traceback__))
    message = cut_in_the_middle(message, LONGEST_MESSAGE)
    return ErrorInfo(kind, message, cut_in_the_middle(trace, LONGEST_TRACEBACK))


def worth(status: str, reward: float | None) -> float | None:
    """What a result adds to a mean: its reward, 0 if it was tried and has none. None: it does not
    count, because it never ran to its end or its reward is not known."""
    return 0.0 if reward is None and status in TRIED else reward


def first_line(error: BaseException) -> str:
    """What an error of somebody else's says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
