"""Carries out what the Dispatcher decides: feeds the workers and passes on what they send.

It runs an event loop in a thread of its own, so that deadlines hold and results are taken in
whatever the caller is doing: waiting, computing, or running another event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from pickle import PickleBuffer
from typing import Any

from aworld.engines import pickling
from aworld.engines.base import Function, Item, RuntimeEngine
from aworld.engines.dispatcher import Dispatcher, Entry, Settled
from aworld.engines.feeder import Feeder
from aworld.engines.outcomes import OutcomeStream
from aworld.engines.roster import Member, Roster
from aworld.engines.wire import Message
from aworld.errors import ConfigError, EngineError

MOST_SHARED = 64  # shared values that a worker keeps

log = logging.getLogger("aworld")


@dataclass(slots=True, eq=False)
class Run:
    """One call of `RuntimeEngine.run`."""

    number: int
    function: bytes
    seed: int
    dispatcher: Dispatcher
    outcomes: OutcomeStream
    feeder: Feeder = field(init=False)
    error: BaseException | None = None

    def buffered(self) -> tuple[int, int]:
        """How many items and bytes the driver holds for this run."""
        size = self.dispatcher.unfinished_bytes + self.outcomes.ready_bytes
        return self.feeder.pulled - self.outcomes.taken, size


class Switchboard:
    def __init__(self, engine: RuntimeEngine):
        self._engine = engine
        self._conf = engine.conf
        self._run_numbers = itertools.count()
        self._run: Run | None = None
        self._busy = False
        self._pump_scheduled = False
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_internal_error)
        self._roster = Roster(engine, self, self._loop)
        self._thread = threading.Thread(target=self._serve, name="aworld-switchboard", daemon=True)
        self._thread.start()
        self._in_loop(self._roster.listen())

    # -- called from any thread -----------------------------------------------------------------

    def run(self, function: Function, items: Iterable[Item]) -> OutcomeStream:
        if self._busy:
            raise ConfigError("this engine is running already: open a second one beside it")
        conf = self._conf
        run = Run(
            number=next(self._run_numbers),
            function=pickling.dumps(function, "function"),
            seed=int.from_bytes(os.urandom(4), "big") if conf.seed is None else conf.seed,
            dispatcher=Dispatcher(
                tasks_per_worker=conf.tasks_per_worker, max_attempts=conf.max_attempts
            ),
            outcomes=OutcomeStream(
                on_taken=lambda: run.feeder.look(),
                on_cancel=lambda: self._call(self._cancel, run),
            ),
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
        self._in_loop(self._shut_down())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def look_again(self) -> None:
        """There is news: something may be to be done."""
        if not self._pump_scheduled:
            self._pump_scheduled = True
            self._call(self._pump)

    def _in_loop(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _call(self, function: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:  # the loop has closed: all is over
            pass

    # -- everything below runs in the loop's thread -----------------------------------------------

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _begin(self, run: Run) -> None:
        self._run = run
        for member in self._roster.connected():
            run.dispatcher.worker_joined(member.number, self._loop.time())
        self._pump()

    def _pump(self) -> None:
        """Does all that can be done now."""
        self._pump_scheduled = False
        run = self._run
        if run is None:
            return
        dispatcher, feeder = run.dispatcher, run.feeder
        source_ended = feeder.ended  # read before the last items are taken in
        self._take_in(run)
        for number in dispatcher.overdue(self._loop.time()):
            self._roster[number].kill()
        self._roster.bring_to(min(self._engine.worker_num, len(dispatcher.unfinished)))
        for number, entries in dispatcher.assign(self._roster.arriving()):
            self._send_items(self._roster[number], run, entries)
        for number in dispatcher.recalls():
            self._send(self._roster[number], "recall")
        run.outcomes.running = dispatcher.running
        if dispatcher.settled:
            settled, dispatcher.settled = dispatcher.settled, []
            run.outcomes.put(settled)
        feeder.widen(2 * dispatcher.appetite)
        if source_ended and not feeder.ready and not dispatcher.unfinished:
            self._end(run, run.error or feeder.error)
        self._set_alarm(dispatcher.next_deadline)

    def _take_in(self, run: Run) -> None:
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

    def _set_alarm(self, when: float | None) -> None:
        if self._alarm is not None:
            if when == self._alarm_at:
                return
            self._alarm.cancel()
            self._alarm = None
        if when is not None:
            self._alarm_at = when
            self._alarm = self._loop.call_at(when, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        self._pump()

    # -- how a run ends -------------------------------------------------------------------------

    def _end(self, run: Run, error: BaseException | None = None) -> None:
        self._run = None
        self._busy = False
        run.outcomes.end(error)

    def _cancel(self, run: Run) -> None:
        if run.outcomes.ended:
            return
        run.feeder.cancel()
        self._take_in(run)
        for number in run.dispatcher.cancel():
            self._roster[number].kill()
        self._pump()

    def _on_internal_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault of ours must end the run with an error, never leave it hanging."""
        loop.default_exception_handler(context)
        error = EngineError(f"internal error: {context.get('exception') or context['message']}")
        if self._run is not None:
            self._run.feeder.cancel()
            self._end(self._run, error)

    async def _shut_down(self) -> None:
        if self._run is not None:
            self._cancel(self._run)
        if self._run is not None:  # its source still blocks somewhere
            self._end(self._run)
        self._set_alarm(None)
        await self._roster.farewell()

    # -- what is said to workers ------------------------------------------------------------------

    def _send(self, member: Member, *message: object) -> None:
        assert member.connection is not None
        member.connection.send(*message)

    def _send_items(self, member: Member, run: Run, entries: list[Entry]) -> None:
        assert member.connection is not None
        known = member.connection.shared_keys
        if member.knows_run != run.number:
            member.knows_run = run.number
            self._send(member, "function", run.seed, run.function)
        for entry in entries:
            shared = entry.shared
            if shared is not None and shared.key not in known:
                known[shared.key] = None
                self._send(member, "shared", shared.key, PickleBuffer(shared.blob))
        items = [
            (e.index, e.attempt, e.key, e.timeout, e.shared and e.shared.key, e.payload)
            for e in entries
        ]
        self._send(member, "items", items)
        while len(known) > MOST_SHARED:
            oldest = next(iter(known))
            del known[oldest]
            self._send(member, "forget", oldest)

    # -- what the roster tells --------------------------------------------------------------------

    def worker_joined(self, member: Member) -> None:
        if self._run is not None:
            self._run.dispatcher.worker_joined(member.number, self._loop.time())
            self.look_again()

    def worker_died(self, member: Member) -> None:
        if self._run is not None:
            dispatcher, now = self._run.dispatcher, self._loop.time()
            dispatcher.worker_died(member.number, member.exit_reason, now)

    def no_worker_starts(self, reason: str) -> None:
        run = self._run
        if run is not None:
            run.error = EngineError(f"no worker can be started: the last one {reason}")
            run.dispatcher.give_up(str(run.error))
            run.feeder.cancel()
            self.look_again()

    def worker_said(self, member: Member, message: Message) -> None:
        if self._run is None:
            return
        dispatcher = self._run.dispatcher
        now = self._loop.time()
        kind, *content = message
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
        if entry is not None and not entry.warned:
            entry.warned = True
            log.warning(
                "task %s blocks the event loop that it shares with other tasks: make its agent "
                "a plain (sync) function, or await asyncio.to_thread(...) around what blocks",
                entry.key or f"#{entry.index}",
            )
