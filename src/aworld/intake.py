"""Checks the tasks that a user hands over, and makes engine items of them."""

from __future__ import annotations

import queue
import sys
from collections.abc import AsyncIterable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from aworld.agents.calling import why_no_agent
from aworld.config import RunConfig, check_seconds
from aworld.core.failure import ErrorInfo
from aworld.core.task import Task, TaskResponse
from aworld.draining import NOT_BEGUN
from aworld.engines.base import Item, Shared
from aworld.engines.pickling import UnpicklableError
from aworld.errors import ConfigError, InputError
from aworld.rollout import Assignment, Crew

MOST_REMEMBERED_AGENTS = 256


class Ticket(NamedTuple):
    """Which response an item is to become."""

    slot: int  # its place in the run: the position of its task, times the samples, plus its sample
    id: str
    task_id: str
    sample: int = 0
    round: int = 0  # how many results of earlier times are given up for it


class Record(Protocol):
    """What is known of a run from earlier, and what is written down of it."""

    run_id: str

    def take_up(self, position: int, task: Task) -> Task:
        """Notes a task. Raises a ConfigError if it is another one than before."""
        ...

    def owed(self, slot: int) -> int | None:
        """None: there is a result already. Else how many there were that are given up."""
        ...

    def response_at(self, slot: int) -> TaskResponse:
        """The result that there is."""
        ...


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
        self._record: Record | None = None
        self.reward = _the_reward(conf)
        self._positions: dict[str, int] = {}
        self._agents: dict[int, tuple[Any, Shared]] = {}
        self._previous: queue.SimpleQueue[tuple[int, TaskResponse] | None] = queue.SimpleQueue()
        self._tasks = _as_iterable(tasks)
        self.tickets: dict[int, Ticket] = {}  # of the items under way
        self.all_taken_up = False  # all tasks that there are
        self._draining = False
        self.total: int | None = None  # of items, where they can be counted
        if isinstance(self._tasks, list):
            self.total = len(self._tasks) * conf.samples
            for position, task in enumerate(self._tasks):
                self._check(position, task)
                try:
                    self._share(task)
                except UnpicklableError as error:
                    raise ConfigError(f"task {task.id!r} (at {position}): its {error}") from None

    @property
    def task_count(self) -> int | None:
        return len(self._tasks) if isinstance(self._tasks, list) else None

    def record_in(self, record: Record) -> None:
        """From now on only what is owed is run. Tasks that can be counted are taken up at once."""
        self._record = record
        if isinstance(self._tasks, list):
            tasks = enumerate(self._tasks)
            self._tasks = [record.take_up(position, task) for position, task in tasks]
            slots = range(len(self._tasks) * self._conf.samples)
            self.total = sum(record.owed(slot) is not None for slot in slots)

    def items(self) -> Iterable[Item]:
        items = self._items()
        return items if self.total is None else _Counted(items, self.total)

    def drain(self) -> None:
        """Nothing more is to begin. An iterable is not read any further."""
        self._draining = True

    def answered(self, slot: int, response: TaskResponse) -> None:
        """Lets the next task of a sequence go ahead."""
        if self._conf.sequence_dependent:
            self._previous.put((slot, response))

    def over(self) -> None:
        """Nothing more will be answered."""
        self._previous.put(None)

    def _items(self) -> Iterator[Item]:
        failed: TaskResponse | None = None
        previous: tuple[Any, ...] = ()
        for index, (task, ticket) in enumerate(self._owed()):
            if self._draining and self.total is None:
                return
            if self._conf.sequence_dependent and ticket.slot and not self._draining:
                response = self._answer_before(ticket.slot)
                if response is None:  # cancelled: the feeder settles what still comes
                    self._previous.put(None)  # for the next one too
                elif response.success:
                    previous = (response.answer,)
                elif failed is None:
                    failed = response
            self.tickets[index] = ticket
            if self._draining:
                yield Item(None, verdict=("cancelled", NOT_BEGUN))
            elif failed is None:
                yield self._item(index, task, ticket, previous)
            else:
                reason = f"task {failed.id!r} before it ended as {failed.status}"
                yield Item(None, verdict=("skipped", ErrorInfo("Skipped", reason)))
        self.all_taken_up = True

    def _owed(self) -> Iterator[tuple[Task, Ticket]]:
        """Each sample of each task, without those that there are already."""
        samples, record = self._conf.samples, self._record
        for position, task in enumerate(self._checked()):
            for sample in range(samples):
                slot = position * samples + sample
                given_up = 0 if record is None else record.owed(slot)
                if given_up is not None:
                    name = task.id if samples == 1 else f"{task.id}#{sample}"
                    yield task, Ticket(slot, name, task.id, sample, given_up)

    def _answer_before(self, slot: int) -> TaskResponse | None:
        if self._record is not None and self._record.owed(slot - 1) is None:
            return self._record.response_at(slot - 1)
        while (answered := self._previous.get()) is not None:
            if answered[0] == slot - 1:
                return answered[1]
        return None

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
                if self._record is not None:
                    task = self._record.take_up(position, task)
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
        # tasks can be changed after they were made
        check_seconds("timeout", task.timeout, or_none=True)
        is_new = id(task.agent) not in self._agents
        if is_new and self._conf.is_local and "aworld.models.embedded" in sys.modules:
            from aworld.agents.checking import check_embedded

            try:
                check_embedded(task.agent)
            except ConfigError as error:
                raise ConfigError(f"task {task.id!r} (at {position}): {error}") from None
        if task.tools or self._conf.max_cost is not None:
            from aworld.agents.checking import check_agent  # not needed otherwise, and not light

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
        shared = Shared.of(agent if self.reward is None else Crew(agent, self.reward), "agent")
        if len(self._agents) >= MOST_REMEMBERED_AGENTS:
            del self._agents[next(iter(self._agents))]
        self._agents[id(agent)] = (agent, shared)
        return shared

    def _item(self, index: int, task: Task, ticket: Ticket, previous: tuple[Any, ...]) -> Item:
        try:
            shared = self._share(task)
        except UnpicklableError as error:
            return Item(None, verdict=("failed", error.as_data("its ")))
        timeout = self._conf.timeout if task.timeout is None else task.timeout
        assignment = Assignment(
            task.id,
            task.input,
            task.tools,
            task.metadata,
            previous,
            self._wants_events,
            None if self._conf.samples == 1 else ticket.sample,
            "" if self._record is None else self._record.run_id,
            () if self.reward is None else (task.ground_truth, timeout),
        )
        key = _seed_key(task, ticket, index)
        return Item(tuple(assignment), key, timeout, shared, parts=Assignment._fields)


def _seed_key(task: Task, ticket: Ticket, index: int) -> str:
    """Named by the user, a task keeps its seed wherever it stands in the list. The first sample has
    that of a task without samples; what is tried again after it failed, another one."""
    key = ""
    if task.has_given_id:
        key = f"{task.id}\0{ticket.sample}" if ticket.sample else task.id
    elif ticket.round or ticket.slot != index:
        key = f"#{ticket.slot}"
    return f"{key}\1{ticket.round}" if ticket.round else key


def _the_reward(conf: RunConfig) -> Any:
    if conf.reward is None:
        return None
    from aworld.rewards.catalog import the_reward

    reward = the_reward(conf.reward)
    try:
        Shared.of(reward, "reward")
    except UnpicklableError as error:
        raise ConfigError(f"the run's {error}") from None
    return reward


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
