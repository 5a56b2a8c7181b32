"""Everything that aworld raises.

    AWorldError
    ├── ConfigError     what was asked for cannot run; nothing has been started
    ├── TaskError       raised by a future of an executor whose call could not end
    ├── ModelError      a model did not answer
    ├── ToolError       for tools to raise: its message is what the model is told
    ├── TruncatedError  an agent was stopped by its max_steps or max_tokens before it had an answer
    ├── BudgetError     nothing more may be spent: the run's max_tokens or max_cost is reached
    └── RunError        a run could not go on
        ├── InputError      the tasks broke off or went wrong half-way through an iterable
        ├── EngineError     the engine could not start its workers, or lost the means to
        ├── AccessError     a model server refuses the key, or does not know the model
        ├── TrainingError   training could not go on; the last checkpoint is whole
        └── StoreError      a run's folder cannot be read or written: full, damaged, in use
            └── DamagedError    a record is not what was written

A `RunError` carries `responses`: what is known of every task that the run had taken up, so that
nothing is lost with the error. So do the `KeyboardInterrupt` that comes out of a run after Ctrl-C
and the `asyncio.CancelledError` that comes out of an awaited run which was cancelled.

Whatever goes wrong *inside* a task is never raised by a run: it comes back as data on its response.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aworld.core.failure import ErrorInfo, Status
    from aworld.core.task import TaskResponse


class AWorldError(Exception):
    """The root of all errors that aworld raises."""


class ConfigError(AWorldError):
    """What was asked for cannot run. The message says what to do; nothing has been started."""


class TaskError(AWorldError):
    """A call of an executor took its worker down, or its exception or result could not travel."""

    def __init__(self, error: ErrorInfo, status: Status = "failed"):
        super().__init__(error, status)
        self.error = error
        self.status = status

    def __str__(self) -> str:
        return f"{self.error.kind}: {self.error.message}"


class ModelError(AWorldError):
    """A model did not answer. `may_pass` says whether it is worth asking again."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        may_pass: bool = False,
        retry_after: float | None = None,
        unreachable: bool = False,
        refused: bool = False,
    ):
        super().__init__(message)
        self.status = status  # of the HTTP response, where there was one
        self.may_pass = may_pass
        self.retry_after = retry_after  # seconds that the server asks to wait
        self.unreachable = unreachable
        self.refused = refused  # the key or the model: no other call will do better
        self.asked_at = time.monotonic()  # when the server was asked, set by who asks


class ToolError(AWorldError):
    """Raise it in a tool to tell the model, in these words, what went wrong."""


class TruncatedError(AWorldError):
    """An agent was stopped by a limit of its own. `answer` is what there was until then."""

    def __init__(self, message: str, answer: object = None):
        super().__init__(message)
        self.answer = answer


class BudgetError(AWorldError):
    """Nothing more may be spent in this run."""


class RunError(AWorldError):
    """A run could not go on. `responses` holds what is known of the tasks it had taken up."""

    responses: Mapping[str, TaskResponse] = MappingProxyType({})


class InputError(RunError):
    """The iterable of tasks raised, or gave something that is no valid task."""


class EngineError(RunError):
    """The engine could not start its workers."""


class AccessError(RunError):
    """A model server refuses the key, or does not know the model."""


class TrainingError(RunError):
    """Training could not go on. What it says is what to do; the last checkpoint is whole."""


class StoreError(RunError):
    """A run's folder cannot be read or written: no room, no run, damaged, in use by another."""


class DamagedError(StoreError):
    """A record is not what was written."""


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Says that `name` is not known, which name was probably meant, and which there are."""
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"no {what} named {name!r}{meant} (known: {', '.join(names) or 'none'})"
