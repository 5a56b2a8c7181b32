"""Rollouts by workers that stay from the first step to the last: one long run, fed as it goes."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from aworld.config import RunConfig
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.engines import switchboard as switchboard  # now: a thread's import is not interrupted
from aworld.errors import TrainingError
from aworld.intake import Intake
from aworld.recorder import OWED, Recorder
from aworld.store import schema
from aworld.store.lock import RunLock
from aworld.stream import TaskStream
from aworld.train.buffer import ExperienceBuffer
from aworld.train.choosing import TaskChooser
from aworld.train.earlier import ENDED, GoingOn, Slots, earlier_tasks, go_on, recorded_tasks
from aworld.train.episodes import Episode
from aworld.train.ids import number_of

Group = list[Episode]

LOOK_AGAIN = 1.0  # seconds
TO_END = 5.0  # seconds for the engine to see that there are no more tasks


class Collector:
    """Hands tasks to the workers while fewer groups than are allowed are under way or wait to be
    trained on, and takes in what comes of them. All of it is recorded in `conf.run_dir`.

    lock      of that folder; it is released with the end of the run
    received  of a training that is gone on with: the results that were taken in before
    """

    def __init__(
        self,
        conf: RunConfig,
        chooser: TaskChooser,
        buffer: ExperienceBuffer,
        *,
        lock: RunLock,
        received: Slots | None = None,
    ):
        self._conf = conf
        self._lock = lock
        self._folder = Path(str(conf.run_dir))
        self._chooser = chooser
        self._buffer = buffer
        self._received = received or Slots()
        self._changed = threading.Condition()
        self._most = 0
        self._training = 0  # groups that were taken
        self._missing: dict[str, int] = {}  # samples of a group that have not come yet
        self._failures: Counter[str] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)  # that workers spent
        self._closed = False
        self._error: BaseException | None = None
        self._recorder: GoingOn | None = None
        goes_on = received is not None and (self._folder / schema.FILE).exists()
        if goes_on:
            chooser.go_to(recorded_tasks(self._folder, conf.samples))
        record_in = self._go_on if goes_on else self._begin
        self._stream = TaskStream(self._tasks(), conf, record_in=record_in)
        self._thread = threading.Thread(target=self._read, name="aworld-collector", daemon=True)
        self._thread.start()

    # -- the trainer's side ------------------------------------------------------------------------

    def allow(self, most: int) -> None:
        """So many groups may be under way from now on, those included that are being trained on."""
        with self._changed:
            self._most = most
            self._changed.notify_all()

    def take(self, count: int, check: Callable[[], None] = lambda: None) -> list[Group]:
        """Waits for so many groups, whole ones; gives them in the order of their tasks. `check` is
        called meanwhile: what it raises ends the waiting."""
        taken: list[Group] = []
        with self._changed:
            before = self._training
            while True:
                taken += self._buffer.complete_groups(
                    self._conf.samples, most=count - len(taken), patience=max(32, 2 * self._most)
                )
                self._training = before + len(taken)
                if len(taken) == count:
                    return sorted(taken, key=lambda group: number_of(group[0].group_id))
                if self._error is not None:
                    raise self._error
                if self._closed:
                    raise TrainingError("the rollouts have ended")
                check()
                self._changed.wait(LOOK_AGAIN)

    def finished(self, count: int) -> None:
        """So many of the groups that were taken are done with: others may begin."""
        with self._changed:
            self._training -= count
            self._changed.notify_all()

    def news(self) -> tuple[Counter[str], dict[str, float]]:
        """Since the last look: what went wrong in rollouts, how often; and how long they and their
        rewards took, all workers together."""
        with self._changed:
            failures, seconds = self._failures.copy(), dict(self._seconds)
            self._failures.clear()
            self._seconds.clear()
            return failures, seconds

    def save(self, path: Path) -> dict[str, Any]:
        """Saves the buffer; gives what else is needed to go on from there, as plain data."""
        with self._changed:
            self._buffer.save(path)
            return {"received": self._received.to_dict(), "chooser": self._chooser.state()}

    def close(self) -> None:
        """What is still under way is given up; where nothing is, the run is complete."""
        with self._changed:
            self._closed = True
            idle = not self._missing
            self._changed.notify_all()
        if idle:
            self._thread.join(TO_END)
        self._stream.close()
        self._thread.join()

    # -- the workers' side -------------------------------------------------------------------------

    def _tasks(self) -> Iterator[Task]:
        """Read by the engine, in a thread of its own: it may wait here."""
        if self._recorder is not None:
            yield from self._earlier(self._recorder)
        while self._wait_for_room():
            with self._changed:
                task = self._chooser.next()
                self._missing[task.id] = self._conf.samples
            yield task

    def _earlier(self, recorder: GoingOn) -> Iterator[Task]:
        for one in earlier_tasks(self._folder, self._chooser.agent_of, self._received):
            if one.missing:
                if not self._wait_for_room(one.task.id):
                    return
                with self._changed:
                    recorder.again |= one.again
                    self._missing[one.task.id] = one.missing
                    for slot, response in one.came:
                        self._receive(slot, response)
                    self._changed.notify_all()
            yield one.task

    def _wait_for_room(self, group_id: str = "") -> bool:
        """For one more group, or the rest of this one. False: there is nothing more to do."""
        with self._changed:
            while not self._closed:
                waiting = {episode.group_id for episode in self._buffer.episodes}
                under_way = waiting | self._missing.keys()
                if group_id in under_way or len(under_way) + self._training < self._most:
                    return True
                self._changed.wait()
            return False

    def _read(self) -> None:
        error: BaseException | None = None
        try:
            while (batch := self._stream.take()) is not None:
                with self._changed:
                    for ticket, response in batch:
                        if response.status not in OWED:  # those have not run: the run was ended
                            self._receive(ticket.slot, response)
                    self._changed.notify_all()
        except BaseException as raised:
            error = raised
        with self._changed:
            self._error, self._closed = error, True
            self._changed.notify_all()

    def _receive(self, slot: int, response: TaskResponse) -> None:
        self._received.add(slot)
        left = self._missing.pop(response.group_id, 0) - 1
        if left > 0:
            self._missing[response.group_id] = left
        if problem := problem_of(response):
            self._failures[problem] += 1
        trajectory = trajectory_of(response)
        self._seconds["rollout_seconds"] += response.time_cost
        self._seconds["score_seconds"] += trajectory.metadata.get("scored", {}).get("seconds", 0.0)
        self._buffer.add_trajectory(trajectory)
        self._chooser.record(response.group_id, response.reward)

    def _begin(self, conf: RunConfig, intake: Intake) -> Recorder:
        return Recorder.create(conf, intake, lock=self._lock)

    def _go_on(self, conf: RunConfig, intake: Intake) -> Recorder:
        self._recorder = go_on(self._folder, intake, self._lock)
        return self._recorder


def problem_of(response: TaskResponse) -> str:
    """What went wrong: a rollout that failed says so itself, any other lets its reward say it."""
    error = trajectory_of(response).metadata.get("scored", {}).get("error")
    if error and response.status in ENDED:
        return f"of the reward, {error['kind']}: {error['message']}"
    return "" if response.success else response.msg


def trajectory_of(response: TaskResponse) -> Trajectory:
    """What the worker could tell, placed in its group; an empty one where it could not."""
    place = {"group_id": response.group_id, "sample_index": response.sample_index}
    found = response.trajectory or Trajectory(response.group_id, "")
    return replace(
        found,
        status=response.status,
        success=response.success,
        reward=response.reward,
        metadata={**found.metadata, **place},
    )
