"""Trains until all steps are done or somebody stops it, and says what came of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from aworld.cli.board import as_time
from aworld.cli.driving import ALL_DONE, INTERRUPTED, SOME_FAILED
from aworld.cli.output import console, print_json, say
from aworld.cli.stopping import SECONDS_TO_STOP, heard_by
from aworld.cli.train_file import TrainFile
from aworld.cli.train_job import TrainJob
from aworld.cli.train_screen import TrainScreen
from aworld.core.shown import as_word, harmless
from aworld.errors import RunError

if TYPE_CHECKING:
    from aworld.policies.base import Policy
    from aworld.train.episodes import Episode

STOPPING = "stopping: what is under way is given up, the last checkpoint is kept"


@dataclass
class TrainEnding:
    """How a training came to its end; the rest is read from its folder."""

    file: TrainFile
    seconds: float
    finished: bool = False  # also before its last step, where there is nothing left to learn
    stopped: bool = False
    error: RunError | None = None
    options: Sequence[str] = ()  # that it was given, as they are typed

    @property
    def checkpoint(self) -> Path | None:
        from aworld.train.checkpoints import checkpoints

        return next(reversed(checkpoints(self.file.run_dir)), None)

    @property
    def steps(self) -> int:
        """That are saved."""
        from aworld.train.checkpoints import read_state

        return 0 if self.checkpoint is None else int(read_state(self.checkpoint)["step"])

    @property
    def exit_code(self) -> int:
        if self.error is not None:
            return SOME_FAILED
        return INTERRUPTED if self.stopped and self.resume else ALL_DONE

    @property
    def resume(self) -> str | None:
        """The command that goes on with it, if there is a step left."""
        if self.finished or self.steps >= self.file.config.steps:
            return None
        return " ".join(["aworld train", as_word(self.file.path), *self.options, "--resume"])

    def history(self) -> list[dict[str, float]]:
        from aworld.train.journal import METRICS, read_journal

        path = self.file.run_dir / METRICS
        return list(read_journal(path)) if path.exists() else []

    def to_dict(self) -> dict[str, Any]:
        from aworld.train.journal import evaluations_of, start_of

        history, saved = self.history(), self.checkpoint
        steps = [line for line in history if "loss" in line]
        return {
            "folder": str(self.file.run_dir),
            "steps": self.steps,
            "of": self.file.config.steps,
            "seconds": round(self.seconds, 3),
            "start": start_of(history),
            "evaluations": evaluations_of(history),
            "first": steps[0] if steps else None,
            "last": steps[-1] if steps else None,
            "policy": None if saved is None else str(saved / "policy"),
            "stopped": self.stopped,
            "error": None if self.error is None else str(self.error),
            "resume": self.resume,
        }


def drive(
    job: TrainJob,
    policy: Policy,
    demonstrations: list[Episode],
    *,
    resume: bool,
    quiet: bool,
    options: Sequence[str],
) -> TrainEnding:
    from aworld.train import train

    screen = TrainScreen(job.file.config.steps, before=job.before, quiet=quiet or helps())
    ending = TrainEnding(job.file, 0.0, options=options)
    try:
        with screen, _signals(screen):
            train(
                job.agent,
                job.tasks,
                job.reward,
                job.file.config,
                policy=policy,
                held_out=job.held_out,
                demonstrations=demonstrations,
                worked_examples=job.worked_examples,
                trackers=[screen],
                resume=resume,
            )
        ending.finished = True
    except RunError as error:
        ending.error = error
    except KeyboardInterrupt:
        ending.stopped = True
    ending.seconds = screen.seconds
    return ending


@contextmanager
def _signals(screen: TrainScreen) -> Iterator[None]:
    """Ctrl-C or SIGTERM breaks off the step; whatever is open is closed on the way out."""
    asked_at = 0.0

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal asked_at
        if not asked_at:
            asked_at = time.monotonic()
            screen.asked = STOPPING
            if not (screen.is_live or helps()):
                os.write(2, f"\n{STOPPING}\n".encode())  # print may be what was interrupted
            raise KeyboardInterrupt
        if time.monotonic() - asked_at > SECONDS_TO_STOP:  # it could not wait for the stopping
            raise KeyboardInterrupt

    with heard_by(heard):
        yield


def helps() -> bool:
    """Of several processes that train together, one speaks for all."""
    return int(os.environ.get("RANK") or 0) > 0


def told(ending: TrainEnding, *, as_json: bool) -> int:
    """Says what came of it; gives the exit code."""
    if helps():
        return ending.exit_code
    if as_json:
        print_json(ending.to_dict())
    elif ending.error is None and not ending.stopped:
        _report(ending)
    if ending.error is not None:
        say(f"aworld: {harmless(' '.join(str(ending.error).split()))}")
    if ending.resume is not None:
        saved = f"{ending.steps} of {ending.file.config.steps} steps are saved"
        say(f"{saved}; go on with: {ending.resume}")
    return ending.exit_code


def _report(ending: TrainEnding) -> None:
    """Where everything is, and what can be done next."""
    facts, folder, screen = ending.to_dict(), as_word(ending.file.run_dir), console()
    first, last = facts["first"], facts["last"]
    gain = ""
    if first and last and "reward" in first and "reward" in last:
        gain = f": reward {first['reward']:.3f} in the first, {last['reward']:.3f} in the last"
    took = f" in {as_time(ending.seconds)}" if ending.seconds else ""
    screen.print(f"{facts['steps']} steps{took}{gain}")
    tests = [] if facts["start"] is None else [f"{facts['start']:.3f} before the warm-up"]
    tests += [f"{value:.3f} at step {step}" for step, value in facts["evaluations"].items()]
    if tests:
        most = tests if len(tests) <= 4 else [*tests[:2], "...", tests[-1]]
        screen.print(f"pass@1 on the held-out tasks: {', '.join(most)}")
    screen.print(f"all of it is in {ending.file.run_dir}")
    if facts["policy"]:
        screen.print(f"  the model, to be used:      aworld serve {as_word(facts['policy'])}")
    screen.print(f"  what trained, and what not: aworld why {folder} [TASK]")
    screen.print(f"  the rollouts:               aworld show {folder}")
