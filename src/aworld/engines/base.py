"""The engine contract: n items in, n outcomes out, each exactly once, whatever dies.

A `RuntimeEngine` only says how a worker is started and ended somewhere. What a run guarantees is
written once: in the Dispatcher and its Switchboard (driver), and in the WorkerLoop (worker).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from aworld.config import RunConfig
from aworld.core.failure import ErrorInfo, Status
from aworld.core.seeds import seed_for
from aworld.engines import pickling
from aworld.errors import ConfigError

if TYPE_CHECKING:
    from aworld.engines.outcomes import OutcomeStream
    from aworld.engines.switchboard import Switchboard


@dataclass(frozen=True, slots=True)
class Shared:
    """A value that many items use: it travels once per worker, and each item gets a fresh copy."""

    key: bytes
    blob: bytes

    @classmethod
    def of(cls, value: Any, name: str = "value") -> Shared:
        blob = pickling.dumps(value, name)
        return cls(blake2b(blob, digest_size=16).digest(), blob)


class Item(NamedTuple):
    """One piece of work for an engine."""

    value: Any
    key: str = ""  # the item's seed derives from it; "" stands for its position
    timeout: float | None = None
    shared: Shared | None = None
    verdict: tuple[Status, ErrorInfo] | None = None  # its outcome, when it is not to be run at all
    parts: tuple[str, ...] = ()  # names for the parts of a tuple, for error messages


@dataclass(slots=True)
class Outcome:
    """What came of one item: a value, or an error as data."""

    index: int
    status: Status
    value: Any = None
    error: ErrorInfo | None = None
    seconds: float = 0.0
    attempts: int = 1
    worker: int | None = None  # that it ran on
    began: float | None = None  # by the clock of the driver


@dataclass(frozen=True, slots=True)
class Running:
    """An item that a worker is busy with."""

    index: int
    worker: int
    began: float  # by the clock of the driver


class DriverLine(Protocol):
    """What a worker can say to the driver while it works, and what it was told."""

    announced: Any

    def tell(self, index: int, news: Any) -> None: ...


class Call:
    """What a function learns about the call besides its value."""

    __slots__ = ("_key", "_line", "_run_seed", "_shared", "attempt", "index")

    def __init__(
        self, index: int, attempt: int, key: str, run_seed: int, shared: Any, line: DriverLine
    ):
        self.index = index
        self.attempt = attempt
        self._key = key
        self._run_seed = run_seed
        self._shared = shared
        self._line = line

    @property
    def seed(self) -> int:
        """The same whenever and wherever this attempt at this item is made."""
        return seed_for(self._run_seed, self._key or f"#{self.index}", self.attempt)

    def fresh(self) -> Any:
        """A new copy of the item's shared value."""
        return None if self._shared is None else pickling.loads(self._shared)

    def tell(self, news: Any) -> None:
        """Sends plain data to whoever listens to the run in the driver, while this item runs."""
        self._line.tell(self.index, news)

    @property
    def announced(self) -> Any:
        """What the driver last announced to all workers of the run; None if nothing yet."""
        return self._line.announced


Function = Callable[[Any, Call], Awaitable[Any]]
NewsListener = Callable[[int, Any], None]  # called in the switchboard's thread: it must be quick


@dataclass(frozen=True, slots=True)
class Invitation:
    """All that a worker needs to join: pickle it, carry it to a process, call `serve()` there."""

    host: str
    port: int
    key: bytes
    worker: int
    tasks_per_worker: int
    memory_limit_mb: int | None = None
    job_name: str = "aworld"
    path: tuple[str, ...] = ()  # where the driver looks for modules
    owns_process: bool = True  # False: a thread among others, which must not end the process
    socket_fd: int | None = None  # a connection that was made for the worker already

    def serve(self) -> None:
        """Works until the driver says goodbye or is gone."""
        from aworld.engines.worker_loop import WorkerLoop

        WorkerLoop(self).serve()

    def __repr__(self) -> str:
        return f"Invitation(worker={self.worker}, host={self.host!r}, port={self.port})"


class Worker(Protocol):
    """A started worker, as its engine knows it."""

    def wait(self) -> str:
        """Blocks until the worker has ended; says how, as in 'was killed by SIGKILL'."""
        ...

    def kill(self) -> None:
        """Ends the worker at once, with all that it started. Harmless when it has ended already."""
        ...


class RuntimeEngine(ABC):
    """Runs an async function over items. Subclasses say how a worker is started."""

    listen_host = "127.0.0.1"  # where the driver waits for its workers
    start_seconds = 60.0  # for a worker to connect
    can_reuse_process = False  # whether a worker can be a part of the driver's process
    closing_ends_worker = False  # whether a worker ends by itself when its connection is closed

    def __init__(self, conf: RunConfig):
        if (conf.reuse_process or conf.worker_num == 0) and not self.can_reuse_process:
            name = type(self).__name__
            raise ConfigError(f"{name} cannot run in this process: set worker_num to 1 or more")
        self.conf = conf
        self._switchboard: Switchboard | None = None

    @abstractmethod
    def start_worker(self, invitation: Invitation) -> Worker:
        """Starts a worker that will call `invitation.serve()`, without waiting for it."""

    def open(self) -> None:  # noqa: B027
        """Makes ready what the workers need. Called once, before the first worker."""

    def close(self) -> None:  # noqa: B027
        """Gives back what `open` took, even if that failed half-way. Called once, at the end."""

    @property
    def worker_num(self) -> int:
        return cpu_count() if self.conf.worker_num is None else self.conf.worker_num

    def run(
        self, function: Function, items: Iterable[Item], on_news: NewsListener | None = None
    ) -> OutcomeStream:
        """Streams an outcome for every item, as they finish. One run at a time.

        `on_news(index, news)` hears what the function tells while it runs.
        """
        if self._switchboard is None:
            raise ConfigError("the engine is closed: use it in a 'with' statement")
        return self._switchboard.run(function, items, on_news)

    def __enter__(self) -> Self:
        from aworld.engines.switchboard import Switchboard

        try:
            self.open()
            self._switchboard = Switchboard(self)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        switchboard, self._switchboard = self._switchboard, None
        if switchboard is None:
            return
        try:
            switchboard.close()
        finally:
            self.close()


def cpu_count() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
