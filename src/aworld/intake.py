"""Checks the tasks that a user hands over, and makes engine items of them."""

from __future__ import annotations

import queue
from collections.abc import AsyncIterable, Collection, Iterable, Iterator, Mapping
from typing import Any

from aworld.agents.calling import why_no_agent
from aworld.config import RunConfig, check_timeout
from aworld.core.failure import ErrorInfo
from aworld.core.task import Task, TaskResponse
from aworld.engines.base import Item, Shared
from aworld.engines.pickling import UnpicklableError
from aworld.errors import ConfigError, InputError
from aworld.rollout import Assignment

MOST_REMEMBERED_AGENTS = 256


class Intake:
    """The items of a run, and which item is which task.

    What can be counted is checked at once, before anything is spent. An open-ended iterable is
    checked as it goes: it ends at the first thing that is no valid task.
    """

    def __init__(
        self, tasks: Task | Iterable[Task], conf: RunConfig, *, wants_events: bool = False
    ):
        self._conf = conf
        self._wants_events = wants_events
        self._positions: dict[str, int] = {}
        self._agents: dict[int, tuple[Any, Shared]] = {}
        self._previous: queue.SimpleQueue[TaskResponse | None] = queue.SimpleQueue()
        self._tasks = _as_iterable(tasks)
        self.ids: dict[int, str] = {}  # of the tasks under way, by position
        self.total: int | None = None  # where it can be counted
        if isinstance(self._tasks, list):
            self.total = len(self._tasks)
            for position, task in enumerate(self._tasks):
                self._check(position, task)
                try:
                    self._share(task)
                except UnpicklableError as error:
                    raise ConfigError(f"task {task.id!r} (at {position}): its {error}") from None

    def items(self) -> Iterable[Item]:
        items = self._items()
        return _Counted(items, len(self._tasks)) if isinstance(self._tasks, list) else items

    def answered(self, response: TaskResponse | None) -> None:
        """Lets the next task of a sequence go ahead. None: the run is over."""
        if self._conf.sequence_dependent:
            self._previous.put(response)

    def _items(self) -> Iterator[Item]:
        failed: TaskResponse | None = None
        previous: tuple[Any, ...] = ()
        for position, task in enumerate(self._checked()):
            if self._conf.sequence_dependent and position:
                response = self._previous.get()
                if response is None:  # cancelled: the feeder settles what still comes
                    self._previous.put(None)  # for the next one too
                elif response.success:
                    previous = (response.answer,)
                elif failed is None:
                    failed = response
            self.ids[position] = task.id
            if failed is None:
                yield self._item(task, previous)
            else:
                reason = f"task {failed.id!r} before it ended as {failed.status}"
                yield Item(None, verdict=("skipped", ErrorInfo("Skipped", reason)))

    def _checked(self) -> Iterator[Task]:
        if isinstance(self._tasks, list):
            yield from self._tasks
            return
        iterator = iter(self._tasks)
        position = 0
        while True:
            try:
                task = next(iterator)
            except StopIteration:
                return
            except BaseException as error:
                raise InputError(f"the tasks broke off after {position}: {error!r}") from error
            try:
                self._check(position, task)
            except ConfigError as error:
                raise InputError(str(error)) from None
            yield task
            position += 1

    def _check(self, position: int, task: Any) -> None:
        if not isinstance(task, Task):
            kind = type(task).__name__
            raise ConfigError(f"tasks[{position}] is a {kind}: give a Task(input=..., agent=...)")
        problem = None if id(task.agent) in self._agents else why_no_agent(task.agent)
        if problem:
            raise ConfigError(f"task {task.id!r} (at {position}) {problem}")
        if not isinstance(task.id, str):
            raise ConfigError(f"tasks[{position}] has the id {task.id!r}: it must be a str")
        check_timeout(task.timeout)  # tasks can be changed after they were made
        if task.tools or self._conf.max_cost is not None:
            from aworld.agents.inside import check_agent  # not needed otherwise, and not light

            try:
                check_agent(task, self._conf)
            except ConfigError as error:
                raise ConfigError(f"task {task.id!r} (at {position}): {error}") from None
        earlier = self._positions.setdefault(task.id, position)
        if earlier != position:
            raise ConfigError(
                f"two tasks have the id {task.id!r}, at {earlier} and {position}: "
                "give each its own id, or none"
            )

    def _share(self, task: Task) -> Shared:
        """The task's agent, pickled once for all tasks that have it."""
        agent = task.agent
        known = self._agents.get(id(agent))  # the agent is kept too, so that its id stays its own
        if known is not None:
            return known[1]
        shared = Shared.of(agent, "agent")
        if len(self._agents) >= MOST_REMEMBERED_AGENTS:
            del self._agents[next(iter(self._agents))]
        self._agents[id(agent)] = (agent, shared)
        return shared

    def _item(self, task: Task, previous: tuple[Any, ...]) -> Item:
        try:
            shared = self._share(task)
        except UnpicklableError as error:
            return Item(None, verdict=("failed", error.as_data("its ")))
        assignment = Assignment(
            task.id, task.input, task.tools, task.metadata, previous, self._wants_events
        )
        timeout = self._conf.timeout if task.timeout is None else task.timeout
        # Named by the user, a task keeps its seed wherever it stands in the list.
        key = task.id if task.has_given_id else ""
        return Item(tuple(assignment), key, timeout, shared, parts=Assignment._fields)


class _Counted(Collection[Item]):
    """Items whose number is known."""

    def __init__(self, items: Iterator[Item], count: int):
        self._items = items
        self._count = count

    def __iter__(self) -> Iterator[Item]:
        return self._items

    def __len__(self) -> int:
        return self._count

    def __contains__(self, item: object) -> bool:
        raise TypeError("items can only be iterated over")


def _as_iterable(tasks: Any) -> Iterable[Task]:
    if isinstance(tasks, Task):
        return [tasks]
    if isinstance(tasks, (str, bytes, Mapping)) or not isinstance(tasks, Iterable):
        hint = ""
        if isinstance(tasks, AsyncIterable):
            hint = "; an async iterable is not taken: collect it, or use a plain generator"
        raise ConfigError(f"tasks must be a Task or an iterable of them, got {tasks!r:.80}{hint}")
    return list(tasks) if isinstance(tasks, Collection) else tasks
