"""What a run's rows say, on their way in and out of its file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from aworld.core.plain import printable
from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.errors import DamagedError
from aworld.rewards.base import Scored
from aworld.store.blobs import Blobs
from aworld.store.encoding import decode, encode, json_of
from aworld.store.schema import checksum


class ResultRow(NamedTuple):
    """A result without what is long: enough for a list, and for statistics."""

    slot: int
    status: str
    reward: float | None
    seconds: float
    tokens: int
    cost: float
    attempts: int
    round: int  # how many earlier results of this slot were given up for this one
    ended: float

    @property
    def crc(self) -> int:
        return checksum(self[:])


NO_MINUS_ZERO = 0.0  # added to -0.0 it gives 0.0, which is what SQLite would make of it
RESULT_COLUMNS = ", ".join(ResultRow._fields)


class Circumstances(NamedTuple):
    """Where and when a result was made, and what kind of error ended it."""

    slot: int
    worker: int | None
    began: float | None
    failure: str  # the kind of error; empty where there was none

    @property
    def crc(self) -> int:
        return checksum(self[:])


class TaskRow(NamedTuple):
    """A task, in the order in which it was handed over."""

    position: int
    id: str
    agent: int
    fingerprint: bytes
    body: bytes

    @property
    def crc(self) -> int:
        return checksum(self[:3], self.fingerprint, self.body)


TASK_COLUMNS = ", ".join(TaskRow._fields)


@dataclass(slots=True)
class Rollout:
    """One sample of one task, as it was recorded."""

    slot: int  # its place in the run
    task: Task  # without its agent
    sample: int
    response: TaskResponse
    reward: float | None = None
    round: int = 0
    ended: float = 0.0
    scores: dict[str, Scored] = field(default_factory=dict)  # given after the run, by their names

    @property
    def trajectory(self) -> Trajectory:
        """An empty one, with the status, where the worker could not give any."""
        response = self.response
        if response.trajectory is not None:
            return response.trajectory
        return Trajectory(self.task.id, "", status=response.status, reward=self.reward)


def task_content(task: Task) -> bytes:
    content = {
        "input": task.input,
        "tools": task.tools,
        "ground_truth": task.ground_truth,
        "metadata": task.metadata,
        "timeout": task.timeout,
        "has_given_id": task.has_given_id,
    }
    return json_of(content)


def task_fingerprint(task: Task) -> bytes:
    """The same for the same question, whoever is to answer it."""
    return _fingerprint(task, task_content(task))


def _fingerprint(task: Task, content: bytes) -> bytes:
    """Of what JSON knows it is its JSON; else of a form that is the same in every process."""
    parts = (task.input, task.ground_truth, task.metadata)
    if type(task.input) is not str or task.ground_truth is not None or task.metadata:
        try:
            json.dumps(parts)
        except (TypeError, ValueError, RecursionError):
            from aworld.agents.identity import canonical

            content = canonical(parts).encode("utf-8", "replace")
    return blake2b(content, digest_size=16).digest()


def task_row(position: int, task: Task, agent: int, blobs: Blobs) -> TaskRow:
    content = task_content(task)
    body = encode(content, blobs)
    return TaskRow(position, task.id, agent, _fingerprint(task, content), body)


def task_of(row: TaskRow, crc: int, blobs: Blobs) -> Task:
    if row.crc != crc:
        raise DamagedError(f"the task at {row.position} is not what was written")
    content = decode(row.body, blobs)
    try:
        has_given_id = content.pop("has_given_id")
        task = Task(id=row.id, **content)
    except (TypeError, KeyError, AttributeError) as error:
        raise DamagedError(f"the task at {row.position} has another form: {error!r}") from None
    task.has_given_id = has_given_id
    return task


def circumstances(slot: int, response: TaskResponse) -> Circumstances:
    began = None if response.began is None else response.began + NO_MINUS_ZERO
    failure = "" if response.error is None else printable(response.error.kind)
    return Circumstances(slot, response.worker, began, failure)


def result_row(slot: int, response: TaskResponse, round: int, ended: float) -> ResultRow:
    trajectory, usage = response.trajectory, response.usage
    tokens = 0 if trajectory is None else trajectory.token_count
    return ResultRow(
        slot,
        response.status,
        None if response.reward is None else float(response.reward) + NO_MINUS_ZERO,
        float(response.time_cost) + NO_MINUS_ZERO,
        tokens or usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        float(usage.get("cost", 0.0)) + NO_MINUS_ZERO,
        response.attempts,
        round,
        ended,
    )
