"""Which rollouts count, and as what: a benchmark counts failures as wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from aworld.core.failure import worth
from aworld.core.plain import printable
from aworld.core.task import Task, TaskResponse
from aworld.errors import ConfigError

if TYPE_CHECKING:
    from aworld.store.reader import Run


class Judged(NamedTuple):
    """One sample of one task, with all of it that figures are made of."""

    task_id: str
    sample: int
    reward: float | None
    status: str
    tags: tuple[str, ...] = ()
    level: str | None = None

    @property
    def value(self) -> float | None:
        """What it adds to the mean of its task. None: it does not count."""
        return worth(self.status, self.reward)

    def passes(self, at: float) -> bool:
        """What has no reward does not pass, even where `at` is 0 or less."""
        return self.reward is not None and self.reward >= at


def judged_of(
    responses: Mapping[str, TaskResponse] | Iterable[TaskResponse], tasks: Iterable[Task]
) -> Iterator[Judged]:
    """The responses of a run, with the tags and levels of its tasks."""
    labels = {task.id: labels_in(task.metadata) for task in tasks}
    given = responses.values() if isinstance(responses, Mapping) else responses
    for response in given:
        task_id = response.group_id or response.id
        tags, level = labels.get(task_id, ((), None))
        reward, status = response.reward, response.status
        yield Judged(task_id, response.sample_index, reward, status, tags, level)


def judged_of_run(run: Run, *, labelled: bool = True) -> Iterator[Judged]:
    """What a recorded run has until now. Trajectories are not read; nor are the tasks, unless their
    tags and levels are wanted."""
    if not run.scoring.name:
        raise ConfigError(
            f"nothing has scored the run in {run.folder}: score what it has recorded (`aworld "
            "rescore`, aworld.rescoring.rescore), or give the next run a reward"
        )
    ids = {position: task_id for position, task_id, *_ in run.task_marks()}
    tasks = run.tasks() if labelled else ()
    labels = {position: labels_in(task.metadata) for position, task in tasks}
    for row in run.results():
        position, sample = divmod(row.slot, run.samples)
        tags, level = labels.get(position, ((), None))
        task_id = ids.get(position, f"task at {position}")
        yield Judged(task_id, sample, row.reward, row.status, tags, level)


def labels_in(metadata: Mapping[str, Any]) -> tuple[tuple[str, ...], str | None]:
    """The tags and the level that a task is filed under. Tags may be a list, or names with commas
    between them."""
    tags = metadata.get("tags")
    if isinstance(tags, str):
        tags = tags.split(",")
    elif not isinstance(tags, (list, tuple, set, frozenset)):
        tags = [tags]
    named = dict.fromkeys(_label(tag) for tag in tags)
    return tuple(tag for tag in named if tag is not None), _label(metadata.get("level"))


def _label(value: Any) -> str | None:
    if isinstance(value, float):  # tables have NaN where there is nothing, and floats beside it
        value = None if math.isnan(value) else int(value) if value.is_integer() else value
    if value is None:
        return None
    return printable(str(value)).strip() or None
