"""Everything that aworld raises.

    AWorldError
    ├── ConfigError     what was asked for cannot run; nothing has been started
    ├── InputError      the tasks broke off or went wrong half-way through an iterable
    └── EngineError     the engine could not start its workers, or lost the means to

    KeyboardInterrupt
    └── Interrupted     Ctrl-C; what had finished by then comes with it

    asyncio.CancelledError
    └── RunCancelled    the coroutine that awaited a run was cancelled (aworld.runner)

`InputError`, `EngineError`, `Interrupted` and `RunCancelled` carry `responses`: what is known of
every task that the run had taken up, so that nothing is lost with the error.

Whatever goes wrong *inside* a task is never raised: it comes back as data on its response.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class AWorldError(Exception):
    """The root of all errors that aworld raises."""


class ConfigError(AWorldError):
    """What was asked for cannot run. The message says what to do; nothing has been started."""


class InputError(AWorldError):
    """The iterable of tasks raised, or gave something that is no valid task."""

    responses: Mapping[str, Any] = {}


class EngineError(AWorldError):
    """The engine could not start its workers."""

    responses: Mapping[str, Any] = {}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. `responses` holds what had finished; the rest is `cancelled` in it."""

    def __init__(self, responses: Mapping[str, Any]):
        done = sum(response.status != "cancelled" for response in responses.values())
        super().__init__(f"{done} of {len(responses)} tasks had finished; see .responses")
        self.responses = responses


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Says that `name` is not known, which name was probably meant, and which there are."""
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"no {what} named {name!r}{meant} (known: {', '.join(names)})"
