"""Decides which worker runs what, and what becomes of everything when one dies.

Pure bookkeeping: it is told what happened and when, and answers with what to do. No I/O, no clock.

- Every entry that is added is settled exactly once.
- A worker is given what it can run at once, plus about PREFETCH_SECONDS of work at its own pace.
- When a worker dies under several running entries, each of them is a suspect. Suspects are run
  apart from all others, in halves of halves, until the one that kills is alone. Only a death that
  an entry suffers alone counts as an attempt; the rest repeat the attempt, with the same seed.
- A worker that is killed because of a known culprit makes nobody else a suspect.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from aworld.core.failure import ErrorInfo, Status
from aworld.engines.base import Shared
from aworld.engines.pickling import Payload
from aworld.engines.wire import BEAT_SECONDS

PREFETCH_SECONDS = 0.02
PACE_SECONDS = 0.005  # reports come in bursts: a shorter look would take a burst for the pace
MOST_PREFETCHED = 2000
MOST_PREFETCHED_BYTES = 1 << 20
GRACE_SECONDS = 0.5  # after its timeout, for a task to end by itself before its worker is killed
SILENT_SECONDS = 3 * BEAT_SECONDS  # no word for so long: the worker cannot even run a thread


@dataclass(slots=True, eq=False)
class Entry:
    """One item on its way."""

    index: int
    key: str
    payload: Payload
    size: int = 0
    timeout: float | None = None
    shared: Shared | None = None
    attempt: int = 1
    worker: int | None = None  # that it was last started on
    started_at: float = 0.0
    due: float = math.inf  # when its worker is killed if it still runs
    undelivered: int = 0  # how often its worker died before it could start it
    may_hog: bool = False  # it was there when a process was held by C code
    blocking: int = 0  # beats of its worker at which it blocked its neighbours


@dataclass(slots=True, eq=False)
class Settled:
    """An entry's end, with the value that came of it, if any."""

    index: int
    status: Status
    payload: Payload | None
    error: ErrorInfo | None
    seconds: float
    attempts: int
    worker: int | None = None  # that it was last started on
    started_at: float = 0.0


# What a worker says of an entry that it has finished: index, status, payload, error, seconds.
Result = tuple[int, Status, Payload | None, ErrorInfo | None, float]


@dataclass(slots=True, eq=False)
class Seat:
    """A connected worker: what it was given, and how it is doing."""

    worker: int
    queued: dict[int, Entry] = field(default_factory=dict)  # given, not started
    running: dict[int, Entry] = field(default_factory=dict)
    apart: bool = False  # runs suspects: gets nothing else until they are done
    doomed: bool = False  # is being killed: gets nothing more
    recalling: bool = False
    guilty: frozenset[int] | None = None  # known culprits of its death; None: nobody knows
    blocked_by: int | None = None  # the entry whose agent blocks the worker's event loop
    heard_at: float = 0.0
    counted_at: float = 0.0
    count: int = 0  # of entries finished since then
    pace: float = 0.0  # entries finished per second

    @property
    def load(self) -> int:
        return len(self.queued) + len(self.running)


class Dispatcher:
    def __init__(self, *, tasks_per_worker: int, max_attempts: int):
        self.tasks_per_worker = tasks_per_worker
        self.max_attempts = max_attempts
        self.paused = False  # what runs goes on, nothing more is given out
        self.seats: dict[int, Seat] = {}
        self.fresh: deque[Entry] = deque()
        self.suspects: deque[list[Entry]] = deque()  # each group is to be run apart
        self.settled: list[Settled] = []  # taken by the owner
        self.unfinished: dict[int, Entry] = {}
        self.unfinished_bytes = 0
        # when, entry, worker; may name entries that have ended
        self._deadlines: list[tuple[float, int, int]] = []

    # -- what happens ---------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.unfinished[entry.index] = entry
            self.unfinished_bytes += entry.size
            self.fresh.append(entry)

    def worker_joined(self, worker: int, now: float) -> None:
        self.seats[worker] = Seat(worker, heard_at=now, counted_at=now)

    def worker_reported(
        self, worker: int, started: Iterable[int], results: Iterable[Result], now: float
    ) -> None:
        seat = self.seats[worker]
        seat.heard_at = now
        seat.blocked_by = None
        for index in started:
            entry = seat.queued.pop(index, None)
            if entry is not None:
                self._started(seat, entry, now)
        finished = 0
        for index, status, payload, error, seconds in results:
            entry = seat.running.pop(index, None)
            if entry is not None:
                self._settle(entry, status, payload, error, seconds)
                finished += 1
        if finished:
            self._count_pace(seat, finished, now)
        if not seat.load:
            seat.apart = False

    def worker_returned(self, worker: int, indices: Iterable[int], now: float) -> None:
        """A worker gives back what it has not started."""
        seat = self.seats[worker]
        seat.heard_at = now
        seat.recalling = False
        returned = [seat.queued.pop(index) for index in indices if index in seat.queued]
        self._run_again(seat, returned)

    def worker_beat(self, worker: int, blocked_by: int | None, now: float) -> None:
        seat = self.seats[worker]
        seat.heard_at = now
        seat.blocked_by = blocked_by

    def worker_leaving(self, worker: int) -> None:
        """It can no longer be reached, or will soon be gone: it gets nothing more."""
        if worker in self.seats:
            self.seats[worker].doomed = True

    def worker_died(self, worker: int, reason: str, now: float) -> None:
        seat = self.seats.pop(worker, None)
        if seat is None:
            return
        queued, running = list(seat.queued.values()), list(seat.running.values())
        if seat.guilty is not None:
            for entry in running:
                if entry.index in seat.guilty:
                    self.suspects.append([entry])
            self._run_again(seat, [e for e in running if e.index not in seat.guilty])
        elif running:
            self._suspect(running, reason, now)
        elif queued:  # it could start none of them: one may be too large even to arrive
            self._suspect(queued, reason, None)
            return
        self._run_again(seat, queued)

    def abandon(self, status: Status, error: ErrorInfo) -> list[int]:
        """Settles all that is unfinished; returns the workers that must be killed for it."""
        busy = [seat for seat in self.seats.values() if seat.load]
        for seat in busy:
            seat.doomed = True
            seat.queued.clear()
            seat.running.clear()
        self.fresh.clear()
        self.suspects.clear()
        for entry in list(self.unfinished.values()):
            self._settle(entry, status, None, error)
        return [seat.worker for seat in busy]

    # -- what to do -----------------------------------------------------------------------------

    @property
    def running(self) -> int:
        return sum(len(seat.running) for seat in self.seats.values())

    @property
    def capacity(self) -> int:
        """How many entries the seats can hold, those given ahead included."""
        return sum(self._target(seat) for seat in self.seats.values())

    def assign(self, arriving: int = 0) -> list[tuple[int, list[Entry]]]:
        """Who gets what now. `arriving` workers are about to join: their share is kept for them."""
        orders: list[tuple[int, list[Entry]]] = []
        if self.paused:
            return orders
        open_seats: list[Seat] = []
        for seat in self.seats.values():
            if seat.doomed or seat.apart or seat.blocked_by is not None:
                continue
            if self.suspects and not seat.load:
                seat.apart = True
                orders.append((seat.worker, self._give(seat, self.suspects.popleft())))
            else:
                open_seats.append(seat)
        while self.fresh and open_seats:
            open_seats.sort(key=lambda seat: seat.load)
            total = len(self.fresh) + sum(seat.load for seat in open_seats)
            level = -(-total // (len(open_seats) + arriving))
            given = 0
            for seat in open_seats:
                share = min(level, self._target(seat)) - seat.load
                entries = self._take_fresh(share, seat)
                if entries:
                    given += len(entries)
                    orders.append((seat.worker, self._give(seat, entries)))
            if not given:
                break
        return orders

    def recalls(self) -> list[int]:
        """Workers that hold entries which another one could start at once."""
        if self.fresh or self.suspects:
            return []
        idle = any(
            seat.load < self.tasks_per_worker and not (seat.apart or seat.doomed)
            for seat in self.seats.values()
            if seat.blocked_by is None
        )
        if not idle:
            return []
        stuck = [seat for seat in self.seats.values() if self._is_stuck(seat)]
        for seat in stuck:
            seat.recalling = True
        return [seat.worker for seat in stuck]

    def overdue(self, now: float) -> list[int]:
        """Workers to kill now, because a task on them has outlived its timeout."""
        doomed = [seat.worker for seat in self.seats.values() if self._holds_a_hog(seat, now)]
        for worker in doomed:
            self.seats[worker].doomed = True
        while self._deadlines and self._deadlines[0][0] <= now:
            due, index, worker = heapq.heappop(self._deadlines)
            seat = self.seats.get(worker)
            entry = None if seat is None or seat.doomed else seat.running.get(index)
            if seat is not None and entry is not None and entry.due == due:
                self._judge(seat, now)
                doomed.append(seat.worker)
        return doomed

    # -- how ------------------------------------------------------------------------------------

    def _target(self, seat: Seat) -> int:
        return self.tasks_per_worker + min(int(seat.pace * PREFETCH_SECONDS), MOST_PREFETCHED)

    def _take_fresh(self, count: int, seat: Seat) -> list[Entry]:
        taken: list[Entry] = []
        size = 0
        while len(taken) < count and self.fresh:
            ahead = seat.load + len(taken) >= self.tasks_per_worker
            if ahead and size > MOST_PREFETCHED_BYTES:
                break
            entry = self.fresh.popleft()
            size += entry.size
            taken.append(entry)
        return taken

    def _give(self, seat: Seat, entries: list[Entry]) -> list[Entry]:
        for entry in entries:
            seat.queued[entry.index] = entry
        return entries

    def _started(self, seat: Seat, entry: Entry, now: float) -> None:
        seat.running[entry.index] = entry
        entry.worker, entry.started_at = seat.worker, now
        if entry.timeout is not None:
            entry.due = now + entry.timeout + GRACE_SECONDS
            heapq.heappush(self._deadlines, (entry.due, entry.index, seat.worker))
            if len(self._deadlines) > 2 * len(self.unfinished) + 64:
                self._forget_old_deadlines()

    def _forget_old_deadlines(self) -> None:
        self._deadlines = [
            (entry.due, entry.index, seat.worker)
            for seat in self.seats.values()
            for entry in seat.running.values()
            if entry.timeout is not None
        ]
        heapq.heapify(self._deadlines)

    def _count_pace(self, seat: Seat, count: int, now: float) -> None:
        seat.count += count
        elapsed = now - seat.counted_at
        if elapsed >= PACE_SECONDS:
            seat.pace += 0.5 * (seat.count / elapsed - seat.pace)
            seat.count, seat.counted_at = 0, now

    def _is_stuck(self, seat: Seat) -> bool:
        full = len(seat.running) >= self.tasks_per_worker or seat.blocked_by is not None
        return full and bool(seat.queued) and not (seat.apart or seat.doomed or seat.recalling)

    def _judge(self, seat: Seat, now: float) -> None:
        """A task on this seat is overdue: finds out whose fault it is."""
        seat.doomed = True
        overdue = {index for index, entry in seat.running.items() if entry.due <= now}
        if now - seat.heard_at > SILENT_SECONDS and len(seat.running) > 1:
            # Somebody holds the whole process, nobody knows who: all are suspects.
            for entry in seat.running.values():
                entry.may_hog = True
            return
        seat.guilty = frozenset(index for index in seat.running if index == seat.blocked_by)
        if seat.guilty:
            overdue &= seat.guilty  # the others could not be stopped in time: not their fault
        for index in overdue:
            self._time_out(seat.running.pop(index), now)

    def _holds_a_hog(self, seat: Seat, now: float) -> bool:
        """One of its suspects holds the process again: no need to wait for a deadline."""
        silent = now - seat.heard_at > SILENT_SECONDS
        hogs = silent and seat.apart and not seat.doomed and len(seat.running) > 1
        return hogs and any(entry.may_hog for entry in seat.running.values())

    def _time_out(self, entry: Entry, now: float) -> None:
        message = f"still running after {entry.timeout:g} s; its worker was ended"
        error = ErrorInfo("TimeoutError", message)
        self._settle(entry, "timeout", None, error, now - entry.started_at)

    def _suspect(self, entries: list[Entry], reason: str, now: float | None) -> None:
        """`now` is None for entries that had not started: no attempt of theirs is used up."""
        if len(entries) > 1:
            middle = len(entries) // 2
            self.suspects.extend((entries[:middle], entries[middle:]))
            return
        entry = entries[0]
        if now is None and entry.undelivered < self.max_attempts:
            entry.undelivered += 1
            self.suspects.append([entry])
        elif now is not None and entry.attempt < self.max_attempts:
            entry.attempt += 1
            self.suspects.append([entry])
        else:
            error = ErrorInfo("WorkerDied", f"its worker {reason}")
            seconds = 0.0 if now is None else now - entry.started_at
            self._settle(entry, "crashed", None, error, seconds)

    def _run_again(self, seat: Seat, entries: list[Entry]) -> None:
        if seat.apart and entries:
            self.suspects.append(entries)
        else:
            self.fresh.extendleft(reversed(entries))

    def _settle(
        self,
        entry: Entry,
        status: Status,
        payload: Payload | None,
        error: ErrorInfo | None = None,
        seconds: float = 0.0,
    ) -> None:
        del self.unfinished[entry.index]
        self.unfinished_bytes -= entry.size
        place = (entry.worker, entry.started_at)
        settled = Settled(entry.index, status, payload, error, seconds, entry.attempt, *place)
        self.settled.append(settled)
