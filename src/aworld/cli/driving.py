"""Drives a run to its end, shows how it goes, and says what came of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli.board import Board, as_time
from aworld.cli.display import display
from aworld.cli.output import console, print_json, say
from aworld.cli.overview import Overview, overview
from aworld.cli.stopping import Stop
from aworld.core.shown import harmless
from aworld.errors import InputError, RunError

if TYPE_CHECKING:
    from aworld.stream import TaskStream

ALL_DONE, SOME_FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


@dataclass
class Ending:
    """How a run came to its end."""

    board: Board
    run: Overview
    stopped: bool
    error: RunError | None = None

    @property
    def exit_code(self) -> int:
        if self.stopped and self.run.done != self.run.total:
            return INTERRUPTED
        if isinstance(self.error, InputError) or self.run.total == 0:
            return BAD_INPUT
        complete = self.error is None and self.run.status == "complete"
        return ALL_DONE if complete and self.run.succeeded == self.run.done else SOME_FAILED

    @property
    def resume(self) -> str | None:
        """The command that goes on with it, if anything is owed."""
        if self.run.status == "complete":
            return None
        return f"aworld resume {shlex.quote(self.run.folder)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.run.to_dict(),
            "seconds": round(self.board.seconds, 3),
            "usage": self.board.stream.usage._asdict(),
            "stopped": self.stopped,
            "error": None if self.error is None else str(self.error),
            "resume": self.resume,
        }


def drive(stream: TaskStream, folder: Path, *, quiet: bool = False) -> Ending:
    """Every result is on disk before it is counted here."""
    from aworld.store.reader import open_run

    with open_run(folder) as run:
        before = sum(run.counts().values())
        if run.total is not None and stream.total is not None:
            before = run.total - stream.total  # without those that are tried again
        board = Board(stream, scored=run.meta.get("reward") is not None, before=before)
    if stream.total == 0:
        say(f"nothing is owed: all {before} results are recorded")
        quiet = True
    stop, screen = Stop(stream), console(error=True)
    error: RunError | None = None
    live = screen.is_terminal and not quiet
    try:
        with stop.on_signals(aloud=not live), stream, display(board, stop, screen, quiet=quiet):
            stream.open()
            stop.listen()
            for response in stream:
                board.add(response)
    except RunError as raised:
        error = raised
    except KeyboardInterrupt:  # it could not wait for the stopping
        pass
    with open_run(folder) as run:
        return Ending(board, overview(run), bool(stop.asked), error)


def told(ending: Ending, *, as_json: bool) -> int:
    """Says what came of it; gives the exit code."""
    if as_json:
        print_json(ending.to_dict())
    else:
        report(ending)
    last_words(ending)
    return ending.exit_code


def report(ending: Ending) -> None:
    """A table of what came of the tasks, and what can be done next."""
    from aworld.progress import summary

    board, run, screen = ending.board, ending.run, console()
    title = f"{len(board.ended)} tasks in {as_time(board.seconds)}"
    if board.ended:
        screen.print(summary(board.ended, title=title))
    usage = board.stream.usage
    figures = [f"{run.progress} recorded"]
    if run.reward is not None:
        figures.append(f"mean reward {run.reward:.3f} ({harmless(run.scored_by)})")
    if usage.tokens:
        figures.append(f"{usage.tokens} tokens in {usage.model_calls} model calls")
    if usage.cost:
        figures.append(f"cost {usage.cost:.4g}")
    screen.print(f"{', '.join(figures)}: {run.folder}")
    if not ending.stopped and ending.resume is None:
        screen.print(f"see them: aworld show {shlex.quote(run.folder)}")


def last_words(ending: Ending) -> None:
    """To standard error, whatever else is shown."""
    if ending.error is not None:
        say(f"aworld: {harmless(str(ending.error))}")
    if ending.run.total == 0:
        say("there were no tasks")
    if ending.resume is not None:
        owed = ending.run.total - ending.run.done if ending.run.total is not None else "some"
        say(f"{owed} are owed; go on with: {ending.resume}")
