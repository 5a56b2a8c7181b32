"""Reads a run, while it is written too."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from aworld.core.failure import STATUSES
from aworld.core.shown import as_word
from aworld.core.task import Task
from aworld.errors import ConfigError, DamagedError, StoreError, unknown_name
from aworld.store import lock, schema
from aworld.store.filters import chosen_slots
from aworld.store.folder import read_config, reward_in
from aworld.store.overview import status_of
from aworld.store.record_reader import RecordReader
from aworld.store.records import RESULT_COLUMNS, ResultRow, Rollout
from aworld.store.schema import checksum, salvaged
from aworld.store.scores import Scoring, scorings_of

if TYPE_CHECKING:
    from aworld.drawing import Picture

Found = TypeVar("Found")


class Damage(NamedTuple):
    """A record that is not what was written."""

    slot: int
    task: str  # its id, if that is known
    sample: int
    reason: str


def open_run(path: str | os.PathLike[str], *, reward: str | None = None) -> Run:
    """The run that was recorded in this folder. `reward` names the scores to go by, where it was
    scored more than once; else it is the latest."""
    return Run(Path(path), reward=reward)


class Run:
    """Reads only. Records that are damaged are left out, and named in `damage`."""

    def __init__(self, folder: Path, *, reward: str | None = None):
        self.folder = folder
        self.connection = schema.open_to_read(folder)
        self.damage: list[Damage] = []
        try:
            self.meta = self._read_meta()
            self.samples = max(1, int(self.meta.get("samples") or self._recorded_samples()))
            if "reward" not in self.meta:  # lost, if it had one
                self.meta["reward"] = self._configured_reward()
            in_run = self.meta["reward"]
            self.scorings = scorings_of(self.connection, str(in_run) if in_run else None)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise StoreError(f"{folder} cannot be read: {error}") from None
        self.scoring = self._chosen(reward)
        self._records = RecordReader(self.connection, folder, self.samples, self.scorings)

    @property
    def name(self) -> str:
        return self.folder.absolute().name

    @property
    def total(self) -> int | None:
        """How many results there will be, where that is known."""
        total = self.meta.get("total")
        if total is None:  # it may be known by now
            total = self._read_meta().get("total")
        return None if total is None else total * self.samples

    @property
    def writer(self) -> dict[str, Any] | None:
        """The process that writes to the run now: its pid and host."""
        return lock.holder(self.folder)

    @property
    def status(self) -> str:
        """'running', 'complete' or 'unfinished'."""
        writer = self.writer  # before the results: it may end in between
        return status_of(sum(self.counts().values()), self.total, writer)

    def _configured_reward(self) -> str | None:
        try:
            return reward_in(self.config)
        except StoreError:  # that is lost as well
            return None

    @property
    def config(self) -> dict[str, Any]:
        """What the run was asked to be."""
        return read_config(self.folder)

    def counts(self) -> dict[str, int]:
        """How many results there are of each status."""
        query = "select status, count(*) from results group by status"
        try:
            found = dict(self.connection.execute(query).fetchall())
        except sqlite3.DatabaseError as error:
            raise self._damaged_as_a_whole(error) from None
        return {status: found[status] for status in STATUSES if status in found}

    def results(
        self, where: str | None = None, *, offset: int = 0, limit: int | None = None
    ) -> list[ResultRow]:
        """A page of the list, without trajectories. `where` is a condition in SQL."""
        if where is None and not self.scoring.number:  # at once, if all of it is sound
            query = f"select {RESULT_COLUMNS}, crc from results order by slot limit ? offset ?"
            try:
                found = self.connection.execute(query, (-1 if limit is None else limit, offset))
                rows = [(ResultRow(*columns), crc) for *columns, crc in found]
                if all(row.crc == crc for row, crc in rows):
                    return [row for row, _ in rows]
            except (sqlite3.DatabaseError, OverflowError):
                pass
        return list(self._each(self._listed, where, offset, limit))

    def rollouts(
        self, where: str | None = None, *, offset: int = 0, limit: int | None = None
    ) -> Iterator[Rollout]:
        """Whole ones: task, trajectory and scores."""
        return self._each(self.rollout_at, where, offset, limit)

    def rollout(self, task_id: str, sample: int = 0) -> Rollout:
        found = self.rollout_at(self.position_of(task_id) * self.samples + sample)
        if found.task.id != task_id:
            raise DamagedError(f"{self.folder} is damaged: its index leads to another task")
        return found

    def earlier(self, task_id: str, sample: int = 0) -> list[Rollout]:
        """Results that were given up for a later one, the first first."""
        return self._records.earlier(self.position_of(task_id) * self.samples + sample)

    def rounds(self) -> dict[int, int]:
        """By slot: the last round of which a result was given up."""
        query = "select slot, max(round) from earlier group by slot"
        return dict(self.connection.execute(query).fetchall())

    def note_losses(self) -> None:
        """What is not there at all, and what leads to the wrong place: adds to `damage`."""
        try:
            ((verdict, *_), *_) = self.connection.execute("pragma integrity_check(1)").fetchall()
        except sqlite3.DatabaseError as error:
            verdict = str(error)
        if verdict != "ok":
            self._note_damage(-3, f"its file is not in order: {verdict}")
        found = sum(1 for _ in self._salvaged("slot", "results"))
        lost = self.meta.get("recorded", 0) - found
        if lost > 0:
            self._note_damage(-2, f"{lost} results of the run are missing")

    def tasks(self) -> Iterator[tuple[int, Task]]:
        """With their positions. A damaged one is left out, and named in `damage`."""
        for position in self._salvaged("position", "tasks"):
            task = self._unless_damaged(self.task_at, position, position * self.samples)
            if task is not None:
                yield position, task

    def position_of(self, task_id: str) -> int:
        query = "select position from tasks where id = ?"
        row = self.connection.execute(query, (task_id,)).fetchone()
        if row is None:
            known = self.connection.execute("select id from tasks limit 20").fetchall()
            raise ConfigError(unknown_name("task", task_id, [name for (name,) in known]))
        return row[0]

    def task_at(self, position: int) -> Task:
        return self._records.task(position)

    def rollout_at(self, slot: int) -> Rollout:
        return self._records.rollout(slot, self.scoring)

    def agents(self) -> dict[int, tuple[str, str, str]]:
        """Name, spec and fingerprint of each agent, by its number."""
        rows = salvaged(self.connection, "select * from agents", "number")
        return {row[0]: row[1:4] for row in rows if checksum(row[:4]) == row[4]}

    def task_marks(self) -> Iterator[tuple[int, str, int, bytes]]:
        """Position, id, agent and fingerprint of each task: what tells whether it has changed."""
        return self.connection.execute("select position, id, agent, fingerprint from tasks")

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    # -- in a notebook ---------------------------------------------------------------------------

    def timeline(self) -> Picture:
        """Which task ran when, and where: one line for each slot of a worker."""
        from aworld.store.showing import timeline

        return timeline(self)

    def reward_curve(self) -> Picture:
        """The mean reward of the latest results, as the run went on."""
        from aworld.store.showing import reward_curve

        return reward_curve(self)

    def _repr_html_(self) -> str:
        from aworld.store.showing import summary

        return summary(self)

    # -- many records ----------------------------------------------------------------------------

    def _listed(self, slot: int) -> ResultRow:
        return self._records.result(slot, self.scoring)

    def _each(
        self, read: Callable[[int], Found], where: str | None, offset: int, limit: int | None
    ) -> Iterator[Found]:
        for slot in self._slots(where, offset, limit):
            found = self._unless_damaged(read, slot, slot)
            if found is not None:
                yield found

    def _slots(self, where: str | None, offset: int, limit: int | None) -> list[int]:
        try:
            return chosen_slots(
                self.connection,
                where,
                samples=self.samples,
                scoring=self.scoring.number,
                offset=offset,
                limit=limit,
            )
        except sqlite3.DatabaseError as error:  # a page is damaged: look at each place alone
            if where is not None:
                raise self._damaged_as_a_whole(error) from None
            self._note_damage(-1, f"a page of its list of results cannot be read: {error}")
            slots = list(self._salvaged("slot", "results"))
            return slots[offset : None if limit is None else offset + limit]

    def _salvaged(self, key: str, table: str) -> Iterator[int]:
        for (place,) in salvaged(self.connection, f"select {key} from {table}", key):
            if isinstance(place, int):
                yield place

    def _unless_damaged(self, read: Callable[[int], Found], place: int, slot: int) -> Found | None:
        try:
            return read(place)
        except LookupError:
            return None
        except DamagedError as error:
            self._note_damage(slot, str(error))
            return None

    def _damaged_as_a_whole(self, error: Exception) -> DamagedError:
        return DamagedError(
            f"{self.folder} is damaged ({error}): `aworld doctor {as_word(self.folder)} --repair` "
            "makes a sound run of what is left"
        )

    def _note_damage(self, slot: int, reason: str) -> None:
        known = {damage.slot for damage in self.damage}
        if slot not in known:
            self.damage.append(Damage(slot, self._id_at(slot), slot % self.samples, reason))

    def _id_at(self, slot: int) -> str:
        try:
            return "" if slot < 0 else self.task_at(slot // self.samples).id
        except (DamagedError, LookupError):
            return ""

    def _read_meta(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        try:
            for key, value, crc in self.connection.execute("select key, value, crc from meta"):
                if checksum((key, value)) == crc:
                    found[key] = json.loads(value)
        except sqlite3.DatabaseError:
            pass
        if not found.keys() >= {"run_id", "samples"}:
            reason = "what it says of itself cannot be read"
            self.damage.append(Damage(-1, "", 0, reason))
        return found

    def _recorded_samples(self) -> int:
        return self.config.get("run", {}).get("samples", 1)

    def _chosen(self, reward: str | None) -> Scoring:
        if reward is None:
            return self.scorings[-1]
        for scoring in self.scorings:
            if scoring.name == reward:
                return scoring
        names = [scoring.name for scoring in self.scorings if scoring.name]
        raise ConfigError(unknown_name("reward of this run", reward, names))
