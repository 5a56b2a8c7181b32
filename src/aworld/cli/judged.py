"""What a training has made of its rollouts: the verdicts in its folder, and what has none yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from aworld.cli.finding import unknown_task
from aworld.core.shown import as_word
from aworld.errors import ConfigError, StoreError
from aworld.train.folders import EVALUATIONS
from aworld.train.ids import original
from aworld.train.journal import VERDICTS, read_journal
from aworld.train.verdicts import Verdict

if TYPE_CHECKING:
    from aworld.store.reader import Run

KEYS = {one.name for one in fields(Verdict)}

Place = tuple[str, int]  # the id that a task was run under, and the sample


class Judged(NamedTuple):
    """One episode: its verdict and the step that it is of, or why there is none."""

    id: str
    sample: int
    step: int | None = None
    verdict: Verdict | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        if self.verdict is not None:
            return {**self.verdict.to_dict(), "step": self.step}
        known = {"task_id": self.id, "sample": self.sample}
        return {**known, "trained": False, "step": None, "reason": self.reason}

    def __str__(self) -> str:
        if self.verdict is not None:
            return f"step {self.step}: {self.verdict}"
        return f"{self.id} #{self.sample}: no verdict: {self.reason}"


@dataclass
class Sum:
    """Of all episodes of a training."""

    steps: int = 0
    trained: int = 0
    reasons: Counter[str] = field(default_factory=Counter)  # why others did not
    without: int = 0  # are recorded, and have no verdict

    def to_dict(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "trained": self.trained,
            "not_trained": dict(self.reasons.most_common()),
            "no_verdict": self.without,
        }


def check_training(folder: Path) -> None:
    if (folder / VERDICTS).is_file():
        return
    show = f"`aworld show {as_word(folder)}` shows it"
    inside = folder.absolute().relative_to(training) if (training := _around(folder)) else None
    if inside is None:
        raise ConfigError(
            f"{folder} is no training: nothing in it was trained on. {show}; `aworld train` trains"
        )
    if inside.parts[0] == EVALUATIONS:
        what = "an evaluation: held-out tasks never train"
    else:
        what = "a warm-up: what earned enough there was imitated, all alike"
    raise ConfigError(f"{folder} is {what}. {show}; `aworld why` tells of the training around it")


def _around(folder: Path) -> Path | None:
    """The training that a run is a part of."""
    above = folder.absolute().parents
    return next((place for place in above[:2] if (place / VERDICTS).is_file()), None)


def lines(folder: Path) -> Iterator[tuple[int, Verdict]]:
    """Every verdict, with its step."""
    path = folder / VERDICTS
    try:
        for line in read_journal(path):
            known = {key: value for key, value in line.items() if key in KEYS}
            yield int(line["step"]), Verdict(**known)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: {error!r:.200}") from None


def summed(run: Run) -> Sum:
    found, judged = Sum(), set[Place]()
    for step, verdict in lines(run.folder):
        found.steps = max(found.steps, step)
        judged.add((verdict.group_id, verdict.sample))
        if verdict.trained:
            found.trained += 1
        else:
            found.reasons[verdict.reason] += 1
    found.without = max(sum(run.counts().values()) - len(judged), 0)
    return found


def episodes_of(run: Run, ids: dict[str, int], sample: int | None) -> list[Judged]:
    """ids: those that are asked for, with their positions in the run."""
    wanted = range(run.samples) if sample is None else (sample,)
    verdicts: dict[Place, list[Judged]] = {}
    for step, verdict in lines(run.folder):
        if verdict.group_id in ids:
            place = verdict.group_id, verdict.sample
            verdicts.setdefault(place, []).append(Judged(*place, step, verdict))
    done = _done(run, ids)
    found: list[Judged] = []
    for name, position in sorted(ids.items(), key=lambda pair: pair[1]):
        for one in wanted:
            if (name, one) in verdicts:
                found += verdicts[name, one]
            else:
                recorded = position * run.samples + one in done
                found.append(Judged(name, one, reason=_why_none(run, recorded)))
    return found


def _why_none(run: Run, recorded: bool) -> str:
    alive = run.writer is not None
    if not recorded:
        return "it runs now, or waits to" if alive else "it has not run: the training ended before"
    if alive:
        return "it is recorded, and waits for its group and for its step"
    return "it is recorded, but the training ended before its step (`aworld train CONFIG --resume`)"


def _done(run: Run, ids: dict[str, int]) -> set[int]:
    """The slots of these tasks that have a result."""
    found: set[int] = set()
    for position in ids.values():
        slots = (position * run.samples, (position + 1) * run.samples)
        query = "select slot from results where slot >= ? and slot < ?"
        found.update(slot for (slot,) in run.connection.execute(query, slots))
    return found


def chosen(run: Run, task: str) -> dict[str, int]:
    """The ids that a task was run under, with their positions: all of `q7`, or `q7@3` alone."""
    known = {name: position for position, name, *_ in run.task_marks()}
    if task in known:
        return {task: known[task]}
    found = {name: position for name, position in known.items() if original(name) == task}
    if found:
        return found
    raise unknown_task(run, task, sorted(set(map(original, known)) | known.keys()))
