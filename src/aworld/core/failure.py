"""How things end. An error is data: exception objects need not survive between processes."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, get_args

Status = Literal["success", "failed", "truncated", "timeout", "crashed", "cancelled", "skipped"]
STATUSES: tuple[Status, ...] = get_args(Status)

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
        message = str(error)
    except BaseException as broken:
        message = f"(its message cannot be shown: {type(broken).__name__})"
    try:
        trace = "".join(traceback.format_exception(error))
    except BaseException:
        trace = "".join(traceback.format_tb(error.__traceback__))
    return ErrorInfo(kind, _shorten(message, LONGEST_MESSAGE), _shorten(trace, LONGEST_TRACEBACK))


def first_line(error: BaseException) -> str:
    """What an error of somebody else's says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _shorten(text: str, longest: int) -> str:
    # lone surrogates could be neither printed nor stored
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n... {len(text) - longest} characters left out ...\n{text[-half:]}"
