"""One record of a run: checked, and put together from the places where its parts lie."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from aworld.core.task import Task, TaskResponse
from aworld.errors import DamagedError
from aworld.rewards.base import Scored
from aworld.store.blobs import Blobs
from aworld.store.encoding import decode
from aworld.store.packing import unpacked
from aworld.store.records import RESULT_COLUMNS, TASK_COLUMNS, ResultRow, Rollout, TaskRow, task_of
from aworld.store.schema import checksum
from aworld.store.scores import Scoring, scores_of

MOST_MESSAGES = 10_000  # that are kept: conversations share them


class RecordReader:
    """Each is as it was written, or a DamagedError; a LookupError where there is none."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        folder: Path,
        samples: int,
        scorings: list[Scoring],
    ):
        self._connection = connection
        self._samples = samples
        self._scorings = scorings
        self._blobs = Blobs(folder / "blobs")
        self._message = lru_cache(maxsize=MOST_MESSAGES)(self._read_message)

    def task(self, position: int) -> Task:
        with _unreadable_is_damaged():
            return self._task(position)

    def result(self, slot: int, scoring: Scoring) -> ResultRow:
        """Its reward is that of the scoring."""
        with _unreadable_is_damaged():
            return self._result(slot, scoring)

    def rollout(self, slot: int, scoring: Scoring) -> Rollout:
        with _unreadable_is_damaged():
            row = self._result(slot, scoring)
            query = "select body, crc from bodies where slot = ?"
            content = self._connection.execute(query, (slot,)).fetchone()
            if content is None:
                raise DamagedError("its trajectory is missing")
            try:
                task = self._task(slot // self._samples)
            except LookupError:
                raise DamagedError("its task is missing") from None
            return self._assembled(row, task, *content)

    def earlier(self, slot: int) -> list[Rollout]:
        """What was recorded for this slot, and given up for a later result; the first first."""
        task = self.task(slot // self._samples)
        query = (
            f"select {RESULT_COLUMNS}, crc, body, body_crc from earlier where slot = ? "
            "order by round"
        )
        found = []
        for *columns, crc, body, body_crc in self._connection.execute(query, (slot,)):
            row = ResultRow(*columns)
            if row.crc != crc:
                raise DamagedError("the figures of an earlier result are not what was written")
            found.append(self._assembled(row, task, body, body_crc))
        return found

    def _task(self, position: int) -> Task:
        query = f"select {TASK_COLUMNS}, crc from tasks where position = ?"
        found = self._connection.execute(query, (position,)).fetchone()
        if found is None:
            raise LookupError(f"there is no task at {position}")
        return task_of(TaskRow(*found[:-1]), found[-1], self._blobs)

    def _result(self, slot: int, scoring: Scoring) -> ResultRow:
        query = f"select {RESULT_COLUMNS}, crc from results where slot = ?"
        found = self._connection.execute(query, (slot,)).fetchone()
        if found is None:
            raise LookupError(f"there is no result of slot {slot}")
        row = ResultRow(*found[:-1])
        if row.crc != found[-1]:
            raise DamagedError("its status and figures are not what was written")
        if scoring.number:
            latest = self._scores(slot).get(scoring.name, Scored())
            row = row._replace(reward=latest.value)
        return row

    def _assembled(self, row: ResultRow, task: Task, body: bytes, crc: int) -> Rollout:
        if checksum((row.slot,), body) != crc:
            raise DamagedError("its trajectory is not what was written")
        sample = row.slot % self._samples
        response = TaskResponse(
            id=task.id if self._samples == 1 else f"{task.id}#{sample}",
            status=row.status,  # type: ignore[arg-type]
            time_cost=row.seconds,
            attempts=row.attempts,
            reward=row.reward,
            group_id=task.id,
            sample_index=sample,
        )
        unpacked(decode(body, self._blobs), self._message, response, task.id)
        if response.trajectory is not None:
            response.trajectory.reward = row.reward
        scores = self._scores(row.slot)
        return Rollout(row.slot, task, sample, response, row.reward, row.round, row.ended, scores)

    def _scores(self, slot: int) -> dict[str, Scored]:
        return scores_of(self._connection, self._scorings, slot)

    def _read_message(self, id: int) -> Any:
        query = "select body, crc from messages where id = ?"
        found = self._connection.execute(query, (id,)).fetchone()
        if found is None or checksum((id,), found[0]) != found[1]:
            raise DamagedError(f"message {id} of its conversation is not what was written")
        return decode(found[0], self._blobs)


@contextmanager
def _unreadable_is_damaged() -> Iterator[None]:
    """A damaged page can hold anything: none where bytes should be, a text where a number was."""
    try:
        yield
    except (sqlite3.DatabaseError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(f"it cannot be read: {error}") from None
