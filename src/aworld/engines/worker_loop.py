"""The worker's side: an event loop that keeps many tasks in flight, the same on every engine.

Two threads help it: one reads what the driver sends, so that a blocked loop can still give work
back and notice that the driver is gone; one sends a heartbeat, which says who blocks the loop.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from aworld.core.failure import ErrorInfo, Status, describe_error
from aworld.engines import pickling, wire
from aworld.engines.base import Call, Function

if TYPE_CHECKING:
    from aworld.engines.base import Invitation


class Work(NamedTuple):
    """An item as it arrived."""

    number: int
    attempt: int
    key: str
    timeout: float | None
    shared: memoryview | None
    payload: pickling.Payload


class WorkerLoop:
    def __init__(self, invitation: Invitation):
        self._invitation = invitation
        self._slots = invitation.tasks_per_worker
        self._queue: deque[Work] = deque()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._expired: set[int] = set()
        self._done: list[tuple[int, Status, pickling.Payload | None, ErrorInfo | None, float]] = []
        self._turn_scheduled = False
        self._shared: dict[bytes, memoryview] = {}
        self._function_blob = b""
        self._function: Function | None = None
        self._run_seed = 0
        self.announced: Any = None  # to all workers of the run
        self._ticked = True
        self._stopping = threading.Lock()  # taken once, by whoever stops the loop
        self._stopped = threading.Event()
        self._sending = threading.Lock()

    def serve(self) -> None:
        """Works until the driver says goodbye or is gone."""
        invitation = self._invitation
        self._pid = os.getpid()
        if invitation.socket_fd is None:
            self._sock = wire.connect(
                invitation.host, invitation.port, invitation.key, invitation.worker
            )
        else:
            self._sock = socket.socket(fileno=invitation.socket_fd)
            self._sock.set_inheritable(False)
        self._loop = asyncio.new_event_loop()
        if invitation.owns_process:
            # A task may fork: its child must not speak to the driver.
            os.register_at_fork(after_in_child=self._sock.close)
        for target in (self._read, self._beat):
            threading.Thread(target=target, name=f"aworld{target.__name__}", daemon=True).start()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._stopped.set()
            self._sock.close()
            self._leave()

    def _leave(self) -> None:
        """Lets what is left in the loop clean up after itself, for a moment."""
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left, timeout=0.2))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        if not asyncio.all_tasks(self._loop):
            self._loop.close()

    # -- the reader's thread --------------------------------------------------------------------

    def _read(self) -> None:
        try:
            while True:
                message = wire.recv_message(self._sock)
                if message[0] == "bye":
                    break
                self._heard(message)
        except (OSError, EOFError):
            if not self._stopped.is_set():
                self._break_off()
        except BaseException as error:
            self._break_off(f"could not take in what it was sent: {error!r}")
        self._stop()

    def _stop(self) -> None:
        if not self._stopping.acquire(blocking=False):
            return  # once is enough: a second stop would cut short the leaving
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _break_off(self, last_words: str = "", exit_code: int = 1) -> None:
        """There is no way to go on: ends this process with all that its tasks have started."""
        try:
            if last_words:
                wire.send_message(self._sock, ("last words", last_words))
        except BaseException:
            pass  # it ends without them
        if not self._invitation.owns_process:
            self._stop()
        elif last_words or os.getpgid(0) != os.getpid():
            os._exit(exit_code)  # the driver sees the end, and ends the rest of the group
        else:  # there is no driver any more
            os.killpg(0, signal.SIGKILL)

    def _heard(self, message: wire.Message) -> None:
        kind = message[0]
        if kind == "items":
            for index, attempt, key, timeout, shared_key, payload in message[1]:
                shared = self._shared[shared_key] if shared_key is not None else None
                self._queue.append(Work(index, attempt, key, timeout, shared, payload))
            self._loop.call_soon_threadsafe(self._schedule_turn)
        elif kind == "function":
            self._run_seed, self._function_blob = message[1:]
            self._function = None
            self.announced = None
        elif kind == "announcement":
            self.announced = message[1]
        elif kind == "shared":
            self._shared[message[1]] = message[2]
        elif kind == "forget":
            del self._shared[message[1]]
        elif kind == "recall":
            returned: list[int] = []
            while self._queue:
                try:
                    returned.append(self._queue.pop().number)
                except IndexError:  # the loop took the last one
                    break
            self._send("returned", returned[::-1])

    # -- the loop's thread ----------------------------------------------------------------------

    def _schedule_turn(self) -> None:
        if not self._turn_scheduled:
            self._turn_scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Fills the free slots, and tells the driver of all that has started and finished.

        The report leaves before the new tasks run their first line: when one of them kills this
        process, the driver knows that it had started.
        """
        self._turn_scheduled = False
        if self._stopped.is_set():
            return
        started: list[int] = []
        while len(self._tasks) < self._slots and self._queue:
            try:
                work = self._queue.popleft()
            except IndexError:  # the driver recalled it
                break
            started.append(work.number)
            self._tasks[work.number] = self._loop.create_task(self._run(work))
        done, self._done = self._done, []
        if started or done:
            self._send("report", started, done)

    async def _run(self, work: Work) -> None:
        try:
            status, value, error, seconds = await self._outcome(work)
            if os.getpid() != self._pid:
                os._exit(0)  # a child that the task forked and let go astray
            parts = getattr(self._function, "result_parts", ())
            self._done.append((work.number, *_encoded(status, value, error, parts), seconds))
            del self._tasks[work.number]
            self._schedule_turn()
        except BaseException as error:  # not the task's: our own, which it may have broken
            self._break_off(f"could not go on: {error!r}")

    async def _outcome(self, work: Work) -> tuple[Status, Any, ErrorInfo | None, float]:
        timer = None
        if work.timeout is not None:
            timer = self._loop.call_later(work.timeout, self._expire, work.number)
        status: Status = "success"
        value = error = None
        begin = time.perf_counter()
        try:
            function = self._function or self._load_function()
            call = Call(work.number, work.attempt, work.key, self._run_seed, work.shared, self)
            value = await function(pickling.decode(work.payload), call)
        except BaseException as raised:  # SystemExit too: a task must not end its neighbours
            status, error = "failed", describe_error(raised)
        seconds = time.perf_counter() - begin
        if timer is not None:
            timer.cancel()
            if work.number in self._expired:
                self._expired.discard(work.number)
                status = "timeout"
                error = ErrorInfo("TimeoutError", f"still running after {work.timeout:g} s")
        return status, value, error, seconds

    def _load_function(self) -> Function:
        self._function = function = pickling.loads(self._function_blob)
        return function

    def _expire(self, index: int) -> None:
        self._expired.add(index)
        self._tasks[index].cancel()

    def tell(self, index: int, news: Any) -> None:
        self._send("news", index, news)

    # -- the heartbeat's thread -----------------------------------------------------------------

    def _beat(self) -> None:
        while not self._stopped.wait(wire.BEAT_SECONDS):
            blocked_by = None
            if not self._ticked:  # the loop has not come round since the last beat
                blocked_by = self._current_index()
            else:
                self._ticked = False
                try:
                    self._loop.call_soon_threadsafe(self._tick)
                except RuntimeError:  # it has closed in the meantime
                    return
            self._send("beat", blocked_by)
            self._check_memory()

    def _current_index(self) -> int | None:
        current = asyncio.current_task(self._loop)
        for index, task in list(self._tasks.items()):
            if task is current:
                return index
        return None

    def _tick(self) -> None:
        self._ticked = True

    def _check_memory(self) -> None:
        limit = self._invitation.memory_limit_mb
        if limit is not None and (used := resident_mb()) > limit:
            words = f"grew to {used} MB, past memory_limit_mb={limit}, and was ended"
            self._break_off(words, exit_code=wire.EXIT_OUT_OF_MEMORY)

    def _send(self, *message: object) -> None:
        try:
            with self._sending:
                wire.send_message(self._sock, message)
        except OSError:  # the driver is gone, or a task has closed all files
            if not self._stopped.is_set():
                self._break_off()
        except BaseException as error:  # out of memory, most likely
            self._break_off(f"could not send its results: {error!r}")


def _encoded(
    status: Status, value: Any, error: ErrorInfo | None, parts: tuple[str, ...]
) -> tuple[Status, pickling.Payload | None, ErrorInfo | None]:
    """The result as it travels; one that cannot travel is a failure."""
    if value is None and status != "success":
        return status, None, error
    try:
        return status, pickling.encode(value, "result", parts), error
    except pickling.UnpicklableError as broken:
        return "failed", None, broken.as_data("its ")
    except BaseException as broken:
        return "failed", None, describe_error(broken)


def resident_mb() -> int:
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except OSError:  # no /proc here: the most that it ever was
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most >> 20 if sys.platform == "darwin" else most >> 10
