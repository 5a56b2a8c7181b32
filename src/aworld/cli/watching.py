"""The live view beside a run that this command drives: `--view`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def watched(folder: Path, *, wanted: bool = True) -> Iterator[None]:
    """Says where the view is; at a terminal it stays when the run is over, until Ctrl-C."""
    if not wanted:
        yield
        return
    from aworld.cli.output import say
    from aworld.core.shown import as_word
    from aworld.store.overview import is_run
    from aworld.view.opening import open_view

    with open_view(folder) as view:
        say(f"see it: {view.url}")
        yield
        if sys.stdin.isatty() and sys.stderr.isatty():
            say(f"still to be seen until Ctrl-C: {view.url}")
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                pass
    if is_run(folder):  # not where it could not start
        say(f"to see it again: aworld view {as_word(folder)}")
