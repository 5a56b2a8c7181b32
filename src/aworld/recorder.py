"""What a run owes, and where its results go."""

from __future__ import annotations

import copy
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple, Self

from aworld.agents.identity import AgentIdentity, identify
from aworld.config import RunConfig
from aworld.core.task import Task, TaskResponse
from aworld.errors import ConfigError
from aworld.intake import MOST_REMEMBERED_AGENTS, Intake
from aworld.reception import Batch
from aworld.rewards.catalog import name_of
from aworld.store.folder import config_as_data
from aworld.store.lock import RunLock
from aworld.store.reader import Run
from aworld.store.records import task_fingerprint
from aworld.store.writer import Finished, RunWriter

OWED = ("cancelled", "skipped")  # such tasks have not run: they are owed, not recorded


class Mark(NamedTuple):
    """What tells whether a task is the one that the run began with."""

    id: str
    agent: int
    fingerprint: bytes


class Recorder:
    """Keeps a run in its folder. Tasks are taken up in one thread, results recorded in another."""

    def __init__(
        self,
        writer: RunWriter,
        run: Run,
        *,
        retry: Collection[str] = (),
        accept_changes: bool = False,
    ):
        self._writer = writer
        self._run = run
        self._accept_changes = accept_changes
        self.retried = tuple(retry)  # statuses
        # by agent; the agent is kept, so that its id stays its own
        self._identities: dict[int, tuple[Any, AgentIdentity]] = {}
        self._known_agents = run.agents()
        self._marks = {
            position: Mark(name, agent, digest)
            for position, name, agent, digest in run.task_marks()
        }
        self._done: dict[int, int | None] = {}  # by slot: None, or the round in which to try again
        for row in run.results():
            self._done[row.slot] = row.round + 1 if row.status in retry else None
        self._rounds = run.rounds()  # of those that were given up, and have no result now
        if run.damage:
            writer.remove(damage.slot for damage in run.damage)
        self._taken_up = 0
        self.knows_all = False  # the tasks that there are, before the first of them has run
        self.run_id: str = run.meta.get("run_id", "")

    @property
    def folder(self) -> Path:
        return self._writer.folder

    @classmethod
    def create(
        cls, conf: RunConfig, intake: Intake, command: Any = None, *, lock: RunLock | None = None
    ) -> Recorder:
        """For a new run. `command` is what the command line was asked for, if it was; `lock` that
        of the folder, if it is held already."""
        assert conf.run_dir is not None
        folder = Path(conf.run_dir)
        reward = None if intake.reward is None else name_of(intake.reward)
        config = {"run": config_as_data(conf)} | ({} if command is None else {"command": command})
        meta = {"samples": conf.samples, "reward": reward}
        writer = RunWriter.create(folder, meta, config, lock=lock)
        try:
            return cls(writer, Run(folder))._recording(intake)
        except BaseException:
            writer.close()
            raise

    @classmethod
    def resume(
        cls,
        folder: Path,
        intake: Intake,
        *,
        retry: Collection[str] = (),
        accept_changes: bool = False,
        lock: RunLock | None = None,
    ) -> Recorder:
        writer = RunWriter.open(folder, lock=lock)
        try:
            recorder = cls(writer, Run(folder), retry=retry, accept_changes=accept_changes)
            return recorder._recording(intake)
        except BaseException:
            writer.close()
            raise

    def _recording(self, intake: Intake) -> Self:
        total = self._run.meta.get("total")
        given = intake.task_count
        if None not in (total, given) and total != given and not self._accept_changes:
            raise ConfigError(
                f"the run has {total} tasks, and {given} are given: resume with the same tasks, "
                "start a new run, or accept the change (accept_changes=True, --accept-changes)"
            )
        intake.record_in(self)
        self.knows_all = given is not None
        return self

    def take_up(self, position: int, task: Task) -> Task:
        identity = self._identity(task)
        known = self._marks.get(position)
        self._taken_up = max(self._taken_up, position + 1)
        if known is not None:
            if not task.has_given_id and task.id != known.id:  # it had another random one
                task = copy.copy(task)
                task.id = known.id
            if not self._has_changed(position, task, identity, known):
                return task
        self._writer.note_task(position, task, self._writer.agent_number(*identity))
        return task

    def owed(self, slot: int) -> int | None:
        if slot in self._done:
            return self._done[slot]
        return self._rounds[slot] + 1 if slot in self._rounds else 0

    def response_at(self, slot: int) -> TaskResponse:
        return self._run.rollout_at(slot).response

    def record(self, batch: Batch, *, refused: bool = False) -> int:
        """Durable when it returns; gives how many bytes it is. What has not run (cancelled, skipped
        or refused by the model's server) is owed, and not recorded."""
        finished = [
            Finished(ticket.slot, response, ticket.round)
            for ticket, response in batch
            if response.status not in OWED and not (refused and _refused(response))
        ]
        return self._writer.record(finished) if finished else 0

    def flush(self, *, all_known: bool) -> None:
        """Writes the tasks that were taken up; there are no others, if all are known."""
        self._writer.flush()
        if all_known:
            self._writer.set_meta(total=max(self._taken_up, self._run.meta.get("total") or 0))

    def close(self) -> None:
        try:
            self._run.close()
            self._writer.flush()  # of a run that nobody ever looked at
        finally:
            self._writer.close()

    def _identity(self, task: Task) -> AgentIdentity:
        known = self._identities.get(id(task.agent))
        if known is None:
            if len(self._identities) >= MOST_REMEMBERED_AGENTS:
                del self._identities[next(iter(self._identities))]
            known = self._identities[id(task.agent)] = (task.agent, identify(task.agent))
        return known[1]

    def _has_changed(self, position: int, task: Task, agent: AgentIdentity, known: Mark) -> bool:
        """Raises if it has, unless changes are accepted."""
        if task.id != known.id:
            raise ConfigError(
                f"the task at {position} is {task.id!r}, it was {known.id!r} when the run began: "
                "resume with the same tasks in the same order"
            )
        other_task = task_fingerprint(task) != known.fingerprint
        name, _, code = self._known_agents.get(known.agent, ("?", "", agent.fingerprint))
        other_agent = agent.fingerprint != code
        if self._accept_changes:
            return other_task or other_agent
        if other_task:
            raise ConfigError(
                f"task {task.id!r} (at {position}) has changed since the run began: resume with "
                "the tasks as they were, start a new run, or accept the change "
                "(accept_changes=True, --accept-changes)"
            )
        if other_agent:
            raise ConfigError(
                f"the agent {name!r} of task {task.id!r} has changed since the run began: resume "
                "with the agent as it was, start a new run, or accept the change "
                "(accept_changes=True, --accept-changes)"
            )
        return False


def _refused(response: TaskResponse) -> bool:
    """The model's server did not let it in: it has not run, either."""
    return response.error is not None and response.error.kind == "AccessError"
