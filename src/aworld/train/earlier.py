"""What was recorded of a training that is gone on with: nothing of it is run twice for nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aworld.core.shown import as_word
from aworld.core.task import Task, TaskResponse
from aworld.errors import ConfigError
from aworld.intake import Intake
from aworld.recorder import Recorder
from aworld.store.lock import RunLock
from aworld.store.reader import Run, open_run
from aworld.store.records import Rollout

NO_ANSWER = ("ModelError", "AccessError")  # the server had gone: that says nothing of the model
ENDED = ("success", "truncated")


class Slots:
    """Places of a run, from 0 on, nearly all up to some point."""

    def __init__(self, below: int = 0, beyond: Collection[int] = ()):
        self._below = below
        self._beyond = set(beyond)

    def __contains__(self, slot: int) -> bool:
        return slot < self._below or slot in self._beyond

    def add(self, slot: int) -> None:
        self._beyond.add(slot)
        while self._below in self._beyond:
            self._beyond.remove(self._below)
            self._below += 1

    def to_dict(self) -> dict[str, Any]:
        return {"below": self._below, "beyond": sorted(self._beyond)}


@dataclass(slots=True)
class EarlierTask:
    """A task that was handed out before, and what came of it that was not taken in yet."""

    task: Task
    missing: int  # samples that were not taken in
    came: list[tuple[int, TaskResponse]]  # of these, those that there are, by slot
    again: dict[int, int] = field(default_factory=dict)  # slots that are run again, in which round


def earlier_tasks(
    folder: Path, agent_of: Callable[[str], Any], received: Slots
) -> Iterator[EarlierTask]:
    """All that were recorded, in their order. agent_of: who runs the task of an id."""
    with open_run(folder) as run:
        done = {row.slot for row in run.results()}
        for expected, (position, task) in enumerate(run.tasks()):
            if position != expected:
                raise ConfigError(
                    f"{folder} has lost its task {expected}: `aworld doctor {as_word(folder)} "
                    "--repair`, or start anew in another folder"
                )
            task.agent = agent_of(task.id)
            yield _earlier_task(run, position, task, done, received)


def _earlier_task(
    run: Run, position: int, task: Task, done: Collection[int], received: Slots
) -> EarlierTask:
    slots = range(position * run.samples, (position + 1) * run.samples)
    found = EarlierTask(task, sum(slot not in received for slot in slots), [])
    for slot in slots:
        if slot in done and slot not in received:
            rollout = run.rollout_at(slot)
            if _says_nothing(rollout):
                found.again[slot] = rollout.round + 1
            else:
                found.came.append((slot, rollout.response))
    return found


def _says_nothing(rollout: Rollout) -> bool:
    """Of the model: nobody asked it, or it did not come to answer."""
    error = rollout.response.error
    if error is not None and error.kind in NO_ANSWER:
        return True
    calls = (step.get("model_call") or {} for step in rollout.trajectory.steps)
    sampled = any(call.get("completion_ids") for call in calls)
    return rollout.response.status not in ENDED and not sampled


def recorded_tasks(folder: Path, samples: int) -> int:
    """How many there are."""
    with open_run(folder) as run:
        if run.samples != samples:
            raise ConfigError(f"{folder} has samples={run.samples}, not {samples}: leave it so")
        return sum(1 for _ in run.task_marks())


class GoingOn(Recorder):
    """Runs what is owed, and what is to be run `again`: slots and the round they are in."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.again: dict[int, int] = {}

    def owed(self, slot: int) -> int | None:
        return self.again.get(slot, super().owed(slot))


def go_on(folder: Path, intake: Intake, lock: RunLock) -> GoingOn:
    # the model's address is another one each time, and with it the agent
    recorder = GoingOn.resume(folder, intake, accept_changes=True, lock=lock)
    assert isinstance(recorder, GoingOn)
    return recorder
