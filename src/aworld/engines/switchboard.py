"""Carries out what the Dispatcher decides: feeds the workers and passes on what they send.

It runs an event loop in a thread of its own, so that deadlines hold and results are taken in
whatever the caller is doing: waiting, computing, or running another event loop.
"""

from __future__ import annotations

import asyncio
import errno
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pickle import PickleBuffer
from typing import Any

from aworld.core.failure import ErrorInfo, Status
from aworld.engines import pickling
from aworld.engines.base import Function, Item, NewsListener, Running, RuntimeEngine
from aworld.engines.dispatcher import GRACE_SECONDS, Dispatcher, Entry, Settled
from aworld.engines.feeder import Feeder
from aworld.engines.outcomes import OutcomeStream, wall_clock
from aworld.engines.roster import Member, Roster
from aworld.engines.wire import Message
from aworld.errors import ConfigError, EngineError

MOST_SHARED = 64  # shared values that a worker keeps
TICK_SECONDS = 0.1  # how often deadlines are looked at
LOOK_SECONDS = 1.0  # for an answer of the loop, unless it is closed
BEATS_TO_WARN = 4  # a first import may take shorter, and happens once
LATE_SECONDS = 0.5  # a tick that comes so late means that this process was held up

OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)

log = logging.getLogger("aworld")


@dataclass(slots=True, eq=False)
class EngineRun:
    """One call of `RuntimeEngine.run`."""

    number: int
    function: bytes
    seed: int
    dispatcher: Dispatcher
    outcomes: OutcomeStream
    on_news: NewsListener | None = None
    announcement: Any = None
    feeder: Feeder = field(init=False)
    error: EngineError | None = None

    def buffered(self) -> tuple[int, int]:
        """How many items and bytes the driver holds for this run."""
        size = self.dispatcher.unfinished_bytes + self.outcomes.ready_bytes
        return self.feeder.pulled - self.outcomes.taken, size

    def verdict(self) -> tuple[Status, ErrorInfo]:
        """What is said of tasks that were under way when the run was broken off."""
        if self.error is not None:
            return "crashed", ErrorInfo(type(self.error).__name__, str(self.error))
        return "cancelled", ErrorInfo("Cancelled", "the run was cancelled before this task ended")


class Switchboard:
    def __init__(self, engine: RuntimeEngine):
        self._engine = engine
        self._run_numbers = itertools.count()
        self._run: EngineRun | None = None
        self._busy = False
        self._pump_scheduled = False
        self._ticked_at = 0.0
        self._judge_from = 0.0
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_internal_error)
        self._roster = Roster(engine, self, self._loop)
        self._thread = threading.Thread(target=self._serve, name="aworld-switchboard", daemon=True)
        self._thread.start()
        listening = asyncio.run_coroutine_threadsafe(self._roster.listen(), self._loop)
        try:
            listening.result()
        except OSError as error:
            self._call(self._loop.stop)
            self._thread.join()
            raise EngineError(f"cannot listen on {engine.listen_host}: {error}") from error

    # -- called from any thread -----------------------------------------------------------------

    def run(
        self, function: Function, items: Iterable[Item], on_news: NewsListener | None = None
    ) -> OutcomeStream:
        if self._busy:
            raise ConfigError("this engine is running already: open a second one beside it")
        conf = self._engine.conf
        run = EngineRun(
            number=next(self._run_numbers),
            function=pickling.dumps(function, "function"),
            seed=int.from_bytes(os.urandom(4), "big") if conf.seed is None else conf.seed,
            dispatcher=Dispatcher(
                tasks_per_worker=conf.tasks_per_worker, max_attempts=conf.max_attempts
            ),
            outcomes=OutcomeStream(
                on_taken=lambda: run.feeder.look(),
                on_cancel=lambda: run.feeder.cancel(),
                on_announce=lambda announcement: self._call(self._announce, run, announcement),
                on_pause=lambda paused: self._call(self._pause, run, paused),
                on_look=lambda: self._running_now(run),
            ),
            on_news=on_news,
        )
        run.feeder = Feeder(
            items,
            window=2 * self._engine.worker_num * conf.tasks_per_worker,
            buffered=run.buffered,
            wake=self.look_again,
        )
        self._busy = True
        self._call(self._begin, run)
        run.feeder.start()
        return run.outcomes

    def close(self) -> None:
        """Ends the run and the workers; goes on by itself when the wait for it is interrupted."""
        self._call(self._begin_shut_down)
        self._thread.join()

    def look_again(self) -> None:
        """There is news: something may be to be done."""
        if not self._pump_scheduled:
            self._pump_scheduled = True
            self._call(self._pump)

    def _running_now(self, run: EngineRun) -> list[Running]:
        found: Future[list[Running]] = Future()
        self._call(self._look, run, found)
        try:
            return found.result(LOOK_SECONDS)
        except TimeoutError:  # it is over
            return []

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:  # the loop has closed: all is over
            pass

    # -- everything below runs in the loop's thread -----------------------------------------------

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _begin(self, run: EngineRun) -> None:
        self._run = run
        for member in self._roster.connected():
            run.dispatcher.worker_joined(member.number, self._loop.time())
        self._ticked_at = self._loop.time()
        self._tick(run)

    def _tick(self, run: EngineRun) -> None:
        """Holds the tasks to their deadlines, unless it is this process that was held up."""
        if run is not self._run:
            return
        now = self._loop.time()
        if now - self._ticked_at > LATE_SECONDS:  # what the workers said meanwhile is not read yet
            self._judge_from = now + GRACE_SECONDS
        self._ticked_at = now
        if now >= self._judge_from:
            for number in run.dispatcher.overdue(now):
                self._roster[number].kill()
        self._pump()
        self._loop.call_later(TICK_SECONDS, self._tick, run)

    def _pump(self) -> None:
        """Does all that can be done now."""
        self._pump_scheduled = False
        run = self._run
        if run is None:
            return
        dispatcher, feeder = run.dispatcher, run.feeder
        source_ended = feeder.ended  # read before the last items are taken in
        self._take_in(run)
        if feeder.cancelled:
            self._break_off(run)
        self._roster.bring_to(min(self._engine.worker_num, len(dispatcher.unfinished)))
        for number, entries in dispatcher.assign(self._roster.arriving()):
            self._send_items(self._roster[number], run, entries)
        for number in dispatcher.recalls():
            self._roster[number].send("recall")
        self._pass_on(run)
        feeder.widen(2 * dispatcher.capacity)
        if source_ended and not feeder.ready and not dispatcher.unfinished:
            self._end(run, run.error or feeder.error)

    def _take_in(self, run: EngineRun) -> None:
        entries: list[Entry] = []
        ready = run.feeder.ready
        while ready:
            entry = ready.popleft()
            if isinstance(entry, Settled):
                run.dispatcher.settled.append(entry)
            else:
                entries.append(entry)
        if entries:
            run.dispatcher.add(entries)

    def _pass_on(self, run: EngineRun) -> None:
        run.outcomes.running = run.dispatcher.running
        if run.dispatcher.settled:
            settled, run.dispatcher.settled = run.dispatcher.settled, []
            run.outcomes.put(settled)

    # -- how a run ends -------------------------------------------------------------------------

    def _end(self, run: EngineRun, error: BaseException | None = None) -> None:
        self._pass_on(run)
        self._run = None
        self._busy = False
        run.outcomes.end(error)

    def _break_off(self, run: EngineRun) -> None:
        for number in run.dispatcher.abandon(*run.verdict()):
            self._roster[number].kill()

    def _on_internal_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault of ours must end the run with an error, never leave it hanging."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in OUT_OF_FILES:
            log.warning("too few open files allowed (ulimit -n) for all the workers: %s", error)
            return  # those that could connect do the work; asyncio tries again
        loop.default_exception_handler(context)
        run = self._run
        if run is not None:
            cause = context.get("exception") or context["message"]
            run.error = EngineError(
                f"internal error: {cause!r}. This is a fault of aworld: please report it"
            )
            run.feeder.cancel()
            self._break_off(run)
            self._end(run, run.error)

    def _begin_shut_down(self) -> None:
        self._shutting_down = self._loop.create_task(self._shut_down())

    async def _shut_down(self) -> None:
        try:
            run = self._run
            if run is not None:
                run.feeder.cancel()
                self._pump()
            if run is not None and self._run is run:  # its source still blocks somewhere
                self._end(run)
            await self._roster.farewell()
        finally:
            self._loop.stop()

    def _pause(self, run: EngineRun, paused: bool) -> None:
        run.dispatcher.paused = paused
        self.look_again()

    def _look(self, run: EngineRun, found: Future[list[Running]]) -> None:
        found.set_result(
            [
                Running(entry.index, seat.worker, wall_clock(entry.started_at))
                for seat in run.dispatcher.seats.values()
                for entry in seat.running.values()
            ]
        )

    # -- what is said to workers ------------------------------------------------------------------

    def _send_items(self, member: Member, run: EngineRun, entries: list[Entry]) -> None:
        known = member.knows_shared
        if member.knows_run != run.number:
            member.knows_run = run.number
            member.send("function", run.seed, run.function)
            if run.announcement is not None:
                member.send("announcement", run.announcement)
        for entry in entries:
            shared = entry.shared
            if shared is not None and shared.key not in known:
                known[shared.key] = None
                member.send("shared", shared.key, PickleBuffer(shared.blob))
        items = [
            (e.index, e.attempt, e.key, e.timeout, e.shared and e.shared.key, e.payload)
            for e in entries
        ]
        member.send("items", items)
        while len(known) > MOST_SHARED:
            oldest = next(iter(known))
            del known[oldest]
            member.send("forget", oldest)

    def _announce(self, run: EngineRun, announcement: Any) -> None:
        run.announcement = announcement
        for member in self._roster.connected():
            if member.knows_run == run.number:
                member.send("announcement", announcement)

    # -- what the roster tells --------------------------------------------------------------------

    def worker_joined(self, member: Member) -> None:
        if self._run is not None:
            self._run.dispatcher.worker_joined(member.number, self._loop.time())
            self.look_again()

    def worker_leaving(self, member: Member) -> None:
        if self._run is not None:
            self._run.dispatcher.worker_leaving(member.number)

    def worker_died(self, member: Member) -> None:
        if self._run is not None:
            dispatcher, now = self._run.dispatcher, self._loop.time()
            dispatcher.worker_died(member.number, member.exit_reason, now)

    def no_worker_starts(self, reason: str) -> None:
        run = self._run
        if run is not None:
            run.error = EngineError(
                f"no worker can be started: the last one {reason}; see what it printed"
            )
            run.feeder.cancel()

    def worker_said(self, member: Member, message: Message) -> None:
        if self._run is None or member.number not in self._run.dispatcher.seats:
            return  # it speaks of an earlier run
        dispatcher = self._run.dispatcher
        now = self._loop.time()
        kind, *content = message
        if kind == "news":
            if self._run.on_news is not None:
                self._run.on_news(*content)
            return
        if kind == "report":
            started, results = content
            dispatcher.worker_reported(member.number, started, results, now)
        elif kind == "returned":
            dispatcher.worker_returned(member.number, content[0], now)
        elif kind == "beat":
            dispatcher.worker_beat(member.number, content[0], now)
            self._warn_of_blocking(dispatcher.unfinished.get(content[0]))
        self.look_again()

    def _warn_of_blocking(self, entry: Entry | None) -> None:
        if entry is None:
            return
        entry.blocking += 1
        if entry.blocking == BEATS_TO_WARN:
            log.warning(
                "task %s blocks the event loop that it shares with other tasks: make its agent "
                "a plain (sync) function, or await asyncio.to_thread(...) around what blocks",
                entry.key or f"#{entry.index}",
            )
