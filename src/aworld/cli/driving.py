"""Drives a run to its end, shows how it goes, and says what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli.board import Board, as_time
from aworld.cli.display import display
from aworld.cli.output import console, print_json, say
from aworld.cli.places import discard
from aworld.cli.stopping import Stop, heard_by
from aworld.core.shown import as_word, harmless, plural
from aworld.errors import ConfigError, EngineError, InputError, RunError
from aworld.store.overview import Overview, overview

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
    damaged: int = 0  # records
    discarded: bool = False  # it could not start, and its folder is gone

    @property
    def exit_code(self) -> int:
        if self.stopped and self.run.done != self.run.total:
            return INTERRUPTED
        if isinstance(self.error, InputError) or self.run.total == 0:
            return BAD_INPUT
        complete = self.error is None and self.run.status == "complete" and not self.damaged
        succeeded = self.run.succeeded == self.run.done and not self.reward_raised
        return ALL_DONE if complete and succeeded else SOME_FAILED

    @property
    def reward_raised(self) -> bool:
        """For everything that was to be scored."""
        return self.run.is_unscored and bool(self.board.reward_errors)

    @property
    def resume(self) -> str | None:
        """The command that goes on with it, if anything is owed."""
        if self.run.status == "complete" or self.discarded:
            return None
        return f"aworld resume {as_word(self.run.folder)}"

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.run.to_dict(),
            "seconds": round(self.board.seconds, 3),
            "usage": self.board.stream.usage._asdict(),
            "stopped": self.stopped,
            "error": None if self.error is None else str(self.error),
            "reward_errors": dict(self.board.reward_errors),
            "damaged": self.damaged,
            "resume": self.resume,
        }


@contextmanager
def driven(
    stream: TaskStream, folder: Path, *, quiet: bool = False, resumed: bool = False
) -> Iterator[Ending]:
    """Every result is on disk before it is counted here. Of a resumed run, all are read again when
    it is complete: nothing is owed only where they are sound. Who has
    asked for its end and presses Ctrl-C once more does not cut off the words about it."""
    from aworld.store.reader import open_run
    from aworld.store.repair import examine

    with open_run(folder) as run:
        before = sum(run.counts().values())
        if run.total is not None and stream.total is not None:
            before = run.total - stream.total  # without those that are tried again
        board = Board(stream, scored=run.meta.get("reward") is not None, before=before)
    nothing_owed = stream.total == 0
    quiet = quiet or nothing_owed
    stop = Stop(stream, aloud=quiet or not console(error=True).is_terminal)
    with heard_by(stop.heard):
        error = _run(stream, board, stop, folder, quiet=quiet, resumed=resumed)
        stop.over()
        with open_run(folder) as run:
            ending = Ending(board, overview(run), bool(stop.asked), error)
        if isinstance(error, EngineError) and not resumed and not ending.run.done:
            ending.discarded = discard(folder)
        if resumed and ending.run.status == "complete":
            ending.damaged = len(examine(folder).damage)
        if nothing_owed and not ending.damaged:
            say(f"nothing is owed: all {before} results are recorded")
        yield ending


def _run(
    stream: TaskStream, board: Board, stop: Stop, folder: Path, *, quiet: bool, resumed: bool
) -> RunError | None:
    """To its end, or to the error that ended it."""
    try:
        with stream, display(board, stop, console(error=True), quiet=quiet):
            stream.open()
            stop.listen()
            for response in stream:
                board.add(response)
    except ConfigError:  # the engine cannot be as it was asked to be
        if not resumed:
            discard(folder)
        raise
    except RunError as error:
        return error
    except KeyboardInterrupt:  # it could not wait for the stopping
        pass
    return None


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

    if ending.discarded:
        return
    board, run, screen = ending.board, ending.run, console()
    title = f"{plural(len(board.ended), 'task')} in {as_time(board.seconds)}"
    if board.ended:
        screen.print(summary(board.ended, title=title))
    usage = board.stream.usage
    figures = [f"{run.progress} recorded"]
    if run.reward is not None:
        figures.append(f"mean reward {run.mean} ({harmless(run.scored_by)})")
    if usage.tokens:
        figures.append(f"{usage.tokens} tokens in {usage.model_calls} model calls")
    if usage.cost:
        figures.append(f"cost {usage.cost:.4g}")
    screen.print(f"{', '.join(figures)}: {run.folder}")
    if not ending.stopped and ending.resume is None:
        screen.print(f"see them: aworld show {as_word(run.folder)}")


def last_words(ending: Ending) -> None:
    """To standard error, whatever else is shown."""
    if ending.error is not None:
        say(f"aworld: {harmless(str(ending.error))}")
    if ending.run.total == 0:
        say("there were no tasks")
    if ending.run.is_unscored or ending.board.reward_errors:
        say(harmless(_why_unscored(ending)))
    if ending.damaged:
        folder = as_word(ending.run.folder)
        say(
            f"{damaged_in_words(ending.damaged)}: `aworld doctor {folder} --repair` owes them again"
        )
    if ending.discarded:
        say(f"nothing was started, and {ending.run.folder} is removed: run it again")
    if ending.resume is not None:
        owed = ending.run.total - ending.run.done if ending.run.total is not None else "some"
        say(f"{owed} are owed; go on with: {ending.resume}")


def _why_unscored(ending: Ending) -> str:
    """As far as it was seen in this process."""
    run, errors = ending.run, ending.board.reward_errors
    scored = f"{run.scored} of {run.done} scored by {run.scored_by!r}"
    if not errors:
        return f"{scored}: it gave None for all others" if ending.board.ended else scored
    reason, count = errors.most_common(1)[0]
    more = f", and {len(errors) - 1} more kinds of errors" if len(errors) > 1 else ""
    return f"{scored}: {reason} ({count} times){more}"


def damaged_in_words(count: int) -> str:
    return "1 record is damaged" if count == 1 else f"{count} records are damaged"
