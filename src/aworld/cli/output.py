"""Where the command's words go: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from aworld.core.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 1_000  # columns of a file or a pipe: nothing is cut or wrapped there


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
    print(text, flush=True)
