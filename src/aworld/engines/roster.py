"""The workers of an engine, each from its start to its end."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from aworld.core.failure import first_line
from aworld.engines import wire
from aworld.engines.base import Invitation, RuntimeEngine, Worker
from aworld.engines.connection import Connection

MOST_START_FAILURES = 3
WAITING_SECONDS = 20.0  # after which the user is told that a worker has not come yet
ARRIVAL_SECONDS = 0.5  # how long a share of the work is kept for a worker that is being started
DRAIN_SECONDS = 0.3  # for the last words of a worker that has ended
FAREWELL_SECONDS = 1.0
LOST_SECONDS = 2.0  # for an engine to confirm the end of a worker that no longer answers

log = logging.getLogger("aworld")


@dataclass(slots=True, eq=False)
class Member:
    """One worker: how its engine knows it, and the line to it."""

    number: int
    started_at: float
    worker: Worker
    gone: asyncio.Future[None]
    closing_ends_it: bool
    connection: Connection | None = None
    joined: bool = False
    dying: bool = False  # we have ended it
    exit_reason: str = ""
    last_words: str = ""  # why it ends itself, where it could say so
    knows_run: int = -1  # the run whose function it has
    knows_shared: dict[bytes, None] = field(default_factory=dict)  # the oldest first

    def send(self, *message: object) -> None:
        if self.connection is not None:
            self.connection.send(*message)

    def kill(self) -> None:
        self.dying = True
        if self.connection is None or not self.closing_ends_it:
            self.worker.kill()
        if self.connection is not None:
            self.connection.abort()


class Listener(Protocol):
    """Who wants to know about the workers."""

    def worker_joined(self, member: Member) -> None: ...
    def worker_said(self, member: Member, message: wire.Message) -> None: ...
    def worker_leaving(self, member: Member) -> None: ...
    def worker_died(self, member: Member) -> None: ...
    def no_worker_starts(self, reason: str) -> None: ...
    def look_again(self) -> None: ...


class Roster:
    """Lives in its loop's thread."""

    def __init__(self, engine: RuntimeEngine, listener: Listener, loop: asyncio.AbstractEventLoop):
        self._engine = engine
        self._listener = listener
        self._loop = loop
        self._key = wire.new_key()
        self._numbers = itertools.count()
        self._members: dict[int, Member] = {}
        self._connections: set[Connection] = set()  # of strangers too
        self._start_failures = 0
        self._start_again_at = 0.0

    def __getitem__(self, number: int) -> Member:
        return self._members[number]

    def connected(self) -> Iterator[Member]:
        return (m for m in self._members.values() if m.connection is not None and not m.dying)

    async def listen(self) -> None:
        host = self._engine.listen_host
        self._server = await self._loop.create_server(self._accept, host, 0)
        self._port: int = self._server.sockets[0].getsockname()[1]

    def _accept(self) -> Connection:
        return Connection(
            self._key,
            on_made=self._connections.add,
            on_joined=self._on_joined,
            on_message=self._on_message,
            on_lost=self._on_lost,
        )

    # -- they come ------------------------------------------------------------------------------

    def bring_to(self, wanted: int) -> None:
        """Starts workers until there are as many as wanted."""
        while len(self._members) < wanted and self._loop.time() >= self._start_again_at:
            try:
                self._start()
            except Exception as error:
                self._start_failed(f"could not be started: {first_line(error)}")

    def arriving(self) -> int:
        """How many will connect any moment."""
        earliest = self._loop.time() - ARRIVAL_SECONDS
        return sum(not m.joined and m.started_at > earliest for m in self._members.values())

    def _start(self) -> None:
        conf = self._engine.conf
        number = next(self._numbers)
        invitation = Invitation(
            host=self._engine.listen_host,
            port=self._port,
            key=self._key,
            worker=number,
            tasks_per_worker=conf.tasks_per_worker,
            memory_limit_mb=conf.memory_limit_mb,
            job_name=conf.job_name,
            path=tuple(os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)),
        )
        worker = self._engine.start_worker(invitation)
        member = Member(
            number,
            self._loop.time(),
            worker,
            self._loop.create_future(),
            self._engine.closing_ends_worker,
        )
        self._members[number] = member
        name = f"aworld-worker-{number}"
        threading.Thread(target=self._await_exit, args=(member,), name=name, daemon=True).start()
        self._loop.call_later(WAITING_SECONDS, self._say_who_is_missing, member)
        self._loop.call_later(self._engine.start_seconds, self._check_arrival, member)
        self._loop.call_later(ARRIVAL_SECONDS, self._listener.look_again)

    def _say_who_is_missing(self, member: Member) -> None:
        if not member.joined and not member.gone.done():
            log.warning("worker %d has not come yet: is there room for it?", member.number)

    def _check_arrival(self, member: Member) -> None:
        if not member.joined and not member.gone.done():
            member.last_words = f"did not connect within {self._engine.start_seconds:g} s"
            member.worker.kill()

    def _on_joined(self, connection: Connection) -> bool:
        member = self._members.get(connection.worker)
        if member is None or member.joined or member.dying:
            return False
        member.connection = connection
        member.joined = True
        self._start_failures = 0
        self._listener.worker_joined(member)
        return True

    def _on_message(self, connection: Connection, message: wire.Message) -> None:
        member = self._members[connection.worker]
        if message[0] == "last words":
            member.last_words = message[1]
        else:
            self._listener.worker_said(member, message)

    # -- they go --------------------------------------------------------------------------------

    def _await_exit(self, member: Member) -> None:
        """In a thread of its own: engines may only be able to wait."""
        try:
            reason = member.worker.wait()
        except Exception as error:
            reason = f"was lost: {error}"
        try:
            self._loop.call_soon_threadsafe(self._on_exit, member, reason)
        except RuntimeError:  # the loop has closed: all is over
            pass

    def _on_exit(self, member: Member, reason: str) -> None:
        if member.exit_reason:
            return
        member.exit_reason = member.last_words or reason or "ended"
        self._listener.worker_leaving(member)
        if member.connection is None:
            self._gone(member)
        else:  # what it sent last may still be on the way
            self._loop.call_later(DRAIN_SECONDS, member.connection.abort)

    def _on_lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        member = self._members.get(connection.worker)
        if member is None or member.connection is not connection:
            return
        member.connection = None
        if member.exit_reason:
            self._gone(member)
        else:
            self._listener.worker_leaving(member)
            if not member.closing_ends_it:
                member.worker.kill()
            self._loop.call_later(LOST_SECONDS, self._give_up, member)

    def _give_up(self, member: Member) -> None:
        """Its engine has not said how it ended."""
        if not member.exit_reason:
            member.worker.kill()
            self._on_exit(member, "no longer answered")

    def _gone(self, member: Member) -> None:
        del self._members[member.number]
        member.gone.set_result(None)
        if not member.dying:
            log.warning("worker %d %s", member.number, member.exit_reason)
        if member.joined:
            self._listener.worker_died(member)
        else:
            self._start_failed(member.exit_reason)
        self._listener.look_again()

    def _start_failed(self, reason: str) -> None:
        self._start_failures += 1
        self._start_again_at = self._loop.time() + 0.1 * self._start_failures
        self._loop.call_at(self._start_again_at, self._listener.look_again)
        if self._start_failures >= MOST_START_FAILURES and not self._members:
            self._start_failures = 0
            self._listener.no_worker_starts(reason)

    async def farewell(self) -> None:
        """Ends all workers, the idle ones kindly."""
        members = list(self._members.values())
        for member in members:
            if member.connection is not None and not member.dying:
                member.dying = True
                member.send("bye")
            else:
                member.kill()
        gone = [member.gone for member in members]
        if gone:
            await asyncio.wait(gone, timeout=FAREWELL_SECONDS)
            for member in members:
                if not member.gone.done():
                    member.kill()
            await asyncio.wait(gone, timeout=LOST_SECONDS + DRAIN_SECONDS)
        me = asyncio.current_task()
        while self._connections or asyncio.all_tasks() - {me}:
            for connection in list(self._connections):
                connection.abort()
            await asyncio.sleep(0)
        self._server.close()  # not earlier: asyncio leaks a socket that it is just accepting
