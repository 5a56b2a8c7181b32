"""Two recorded runs side by side, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from aworld.errors import ConfigError
from aworld.evaluation.figures import checked_options
from aworld.evaluation.judging import judged_of_run
from aworld.statistics import Comparison, compare, mean

if TYPE_CHECKING:
    from rich.console import Group

    from aworld.store.reader import Run

Means = Mapping[str, float | None]  # by task


class Change(NamedTuple):
    """The mean reward of a task in both runs."""

    task_id: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        return self.second - self.first


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """A second run beside a first one. `print` shows a table."""

    names: tuple[str, str]
    rewards: tuple[str, str]  # by which each was scored: if they differ, so do their scales
    scores: Comparison  # of the tasks that both have a score of
    means: tuple[float, float]  # of the same tasks
    changes: tuple[Change, ...]  # tasks that are not the same in both, the largest change first
    changed: tuple[str, ...]  # left out: tasks that are others in the second run, under the same id

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "names": list(self.names),
            "rewards": list(self.rewards),
            **asdict(self.scores),
            "only_first": list(self.scores.only_first),
            "only_second": list(self.scores.only_second),
            "means": list(self.means),
            "changes": [change._asdict() for change in self.changes],
            "changed": list(self.changed),
        }

    def table(self) -> Group:
        """For `rich.print`, and whatever else shows what rich can show."""
        from aworld.evaluation.table import comparison_table

        return comparison_table(self)

    __rich__ = table

    def __str__(self) -> str:
        from aworld.evaluation.table import as_text

        return as_text(self.table())


def compare_runs(
    first: Run, second: Run, *, confidence: float = 0.95, seed: int = 0
) -> RunComparison:
    """Pairs the runs by the ids of their tasks, on the mean reward of each task.

    A task whose input, tools, ground truth, metadata or timeout is not the same in both is another
    task: it is named in `changed` and left out.
    """
    checked_options(passes_at=1.0, ks=None, confidence=confidence, seed=seed)
    ours, theirs = _task_means(first), _task_means(second)
    known = {task: mark for _, task, _, mark in first.task_marks()}
    changed = {task for _, task, _, mark in second.task_marks() if known.get(task, mark) != mark}
    if changed and not (ours.keys() & theirs.keys()) - changed:
        raise ConfigError(
            f"all tasks that the two runs share have changed ({min(changed)!r} is one): compare "
            "runs of the same tasks"
        )
    ours = {task: value for task, value in ours.items() if task not in changed}
    theirs = {task: value for task, value in theirs.items() if task not in changed}
    scores = compare(ours, theirs, confidence=confidence, seed=seed)
    both = _in_both(ours, theirs)
    return RunComparison(
        names=(first.name, second.name),
        rewards=(first.scoring.name, second.scoring.name),
        scores=scores,
        means=(mean([one.first for one in both]), mean([one.second for one in both])),
        changes=tuple(
            sorted(
                (change for change in both if change.difference),
                key=lambda change: (-abs(change.difference), change.task_id),
            )
        ),
        changed=tuple(sorted(changed)),
    )


def _task_means(run: Run) -> dict[str, float | None]:
    """By the rules of `assess`; None where no sample counts."""
    tasks: dict[str, list[float]] = {}
    for judged in judged_of_run(run, labelled=False):
        values = tasks.setdefault(judged.task_id, [])
        if judged.value is not None:
            values.append(judged.value)
    # rounded: in floats the mean of 0.1 three times is a little more, and no task better for that
    return {task: round(mean(values), 12) if values else None for task, values in tasks.items()}


def _in_both(ours: Means, theirs: Means) -> list[Change]:
    found: list[Change] = []
    for task, first in ours.items():
        second = theirs.get(task)
        if first is not None and second is not None:
            found.append(Change(task, first, second))
    return found
