"""What the code of a task can reach from anywhere in it: who it is, where it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol

from aworld.core.seeds import seed_for
from aworld.core.usage import NOTHING, Usage


class Line(Protocol):
    """How a task speaks with the driver of its run."""

    @property
    def announced(self) -> Any: ...
    def tell(self, news: Any) -> None: ...


class NoLine:
    """For a task that has no driver: an agent that is called by hand."""

    announced = None

    def tell(self, news: Any) -> None:
        pass


class TaskContext:
    """One attempt at one task. Asyncio tasks and threads that it starts find the same one."""

    def __init__(
        self,
        task_id: str = "",
        seed: int = 0,
        *,
        attempt: int = 1,
        sample: int | None = None,
        run_id: str = "",
        tools: list[str] | None = None,
        line: Line | None = None,
        wants_events: bool = False,
    ):
        self.task_id = task_id
        self.seed = seed
        self.attempt = attempt
        self.sample = sample
        self.run_id = run_id
        self.tools = tools or []  # if there are any: the only ones that may be used
        self.line: Line = line or NoLine()
        self.steps: list[dict[str, Any]] = []
        self.usage = NOTHING
        self._wants_events = wants_events
        self._counts: dict[str, int] = {}

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt at this sample of this task, in a resumed run too: for tools
        that must not act twice."""
        place = self.task_id if self.sample is None else f"{self.task_id}#{self.sample}"
        return f"{self.run_id}/{place}" if self.run_id else place

    def next_seed(self) -> int:
        """One for each model call: it depends on who calls for the how-manieth time, only."""
        scope = "/".join(_scope.get())
        count = self._counts[scope] = self._counts.get(scope, 0) + 1
        return seed_for(self.seed, scope, count) >> 1  # some servers take 31 bits

    def record(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Adds a step to the trajectory, under the name of the agent that made it."""
        full = {"step": len(self.steps), "agent": agent_path(), **step, "reward": None}
        self.steps.append(full)
        return full

    def spent(self, usage: Usage) -> None:
        self.usage += usage
        self.line.tell({"spent": tuple(usage)})

    @property
    def stopped_because(self) -> str | None:
        """Why nothing more may be spent in this run, if that is so."""
        announced = self.line.announced
        return None if announced is None else announced.get("stop")

    def emit(self, kind: str, **content: Any) -> None:
        """Tells whoever watches this task what happens in it."""
        if self._wants_events:
            self.line.tell({"event": {"kind": kind, "agent": agent_path(), **content}})

    @property
    def on_text(self) -> Callable[[str], None] | None:
        """Where a model's text goes while it is being made, if anybody watches."""
        return (lambda text: self.emit("text", text=text)) if self._wants_events else None


_current: ContextVar[TaskContext | None] = ContextVar("aworld_task", default=None)
_path: ContextVar[tuple[str, ...]] = ContextVar("aworld_agent", default=())


_scope: ContextVar[tuple[str, ...]] = ContextVar("aworld_scope", default=())


def current_task() -> TaskContext:
    """The context of the task that this code runs in; a new one where there is none."""
    return _current.get() or TaskContext()


class in_task:  # noqa: N801 - used like a function; a class is quicker than a generator
    """What is done inside is done for this task."""

    __slots__ = ("_task", "_token")

    def __init__(self, task: TaskContext):
        self._task = task

    def __enter__(self) -> TaskContext:
        self._token = _current.set(self._task)
        return self._task

    def __exit__(self, *exc_info: object) -> None:
        _current.reset(self._token)


def task_at_hand() -> in_task:
    """The task that this code runs in, or one that lasts as long as the block."""
    return in_task(current_task())


class acting_as:  # noqa: N801
    """What is done inside is done by this agent; one inside another is named after both."""

    __slots__ = ("_agent", "_path", "_scope")

    def __init__(self, agent: str):
        self._agent = agent

    def __enter__(self) -> None:
        self._path = _path.set((*_path.get(), self._agent))
        self._scope = _scope.set((*_scope.get(), self._agent))

    def __exit__(self, *exc_info: object) -> None:
        _path.reset(self._path)
        _scope.reset(self._scope)


class seeds_apart:  # noqa: N801
    """What is done inside has seeds of its own, whatever goes on beside it."""

    __slots__ = ("_label", "_scope")

    def __init__(self, label: str):
        self._label = label

    def __enter__(self) -> None:
        self._scope = _scope.set((*_scope.get(), self._label))

    def __exit__(self, *exc_info: object) -> None:
        _scope.reset(self._scope)


def agent_path() -> str:
    return "/".join(_path.get())


def is_within(agent: str, path: str) -> bool:
    """Whether an agent, named by its path, is the one of `path` or inside it."""
    return f"{agent}/".startswith(f"{path}/")


def acting_agent() -> str:
    """The innermost one; empty where none acts."""
    return (_path.get() or ("",))[-1]
