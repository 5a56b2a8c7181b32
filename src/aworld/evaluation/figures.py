"""What the scores of many rollouts say: mean reward, pass@k and pass^k, by tag and by level."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from aworld.config import check_count, is_number
from aworld.core.failure import STATUSES
from aworld.core.task import TaskResponse
from aworld.errors import ConfigError
from aworld.evaluation.judging import Judged
from aworld.statistics import (
    Estimate,
    check_interval,
    grouped,
    mean,
    mean_interval,
    pass_at_k,
    pass_hat_k,
)

if TYPE_CHECKING:
    from rich.console import Group

Interval = Callable[[tuple[float, ...]], Estimate]
Estimator = Callable[[int, int, int], float]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is known of some tasks. An estimate is one over tasks; its `count` says how many."""

    tasks: int
    samples: int  # of all those tasks, whether they count or not
    reward: Estimate | None  # one value for each task: the mean of its samples. None: none counts
    pass_at: dict[int, Estimate]  # by k: the chance that at least one of k samples passes
    pass_hat: dict[int, Estimate]  # by k: that all of them do
    left_out: dict[int, int]  # by k: tasks that have fewer samples that count
    statuses: dict[str, int]
    failures: int  # tried, and without a score: counted as not passed, and as 0 in the mean
    unscored: int  # left out: never ran to its end, or its reward is not known

    @property
    def pass_at_1(self) -> Estimate | None:
        return self.pass_at.get(1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "tasks": self.tasks,
            "samples": self.samples,
            "reward": None if self.reward is None else asdict(self.reward),
            "pass_at": {str(k): asdict(estimate) for k, estimate in self.pass_at.items()},
            "pass_hat": {str(k): asdict(estimate) for k, estimate in self.pass_hat.items()},
            "left_out": {str(k): count for k, count in self.left_out.items()},
            "statuses": dict(self.statuses),
            "failures": self.failures,
            "unscored": self.unscored,
        }


@dataclass(frozen=True, kw_only=True)
class Evaluation(Figures):
    """All tasks together, and those of each tag and of each level. `print` shows a table."""

    passes_at: float
    by_tag: dict[str, Figures] = field(default_factory=dict)
    by_level: dict[str, Figures] = field(default_factory=dict)
    responses: Mapping[str, TaskResponse] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "passes_at": self.passes_at,
            **super().to_dict(),
            "by_tag": {tag: figures.to_dict() for tag, figures in self.by_tag.items()},
            "by_level": {level: figures.to_dict() for level, figures in self.by_level.items()},
        }

    def table(self) -> Group:
        """For `rich.print`, and whatever else shows what rich can show."""
        from aworld.evaluation.table import evaluation_table

        return evaluation_table(self)

    __rich__ = table

    def __str__(self) -> str:
        from aworld.evaluation.table import as_text

        return as_text(self.table())


def assess(
    judged: Iterable[Judged],
    *,
    passes_at: float = 1.0,
    ks: Iterable[int] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """The figures of what was judged. A sample passes when its reward is at least `passes_at`.

    A sample with a reward counts with it. One without, that was tried (it failed, was truncated,
    timed out or crashed), counts as not passed, and as 0 in the mean. One that was cancelled or
    skipped, or whose reward is not known, is left out. `ks` are the k of pass@k and pass^k: 1, 2,
    4, ... and the number of samples, unless others are given. The order changes nothing, and the
    same seed gives the same intervals.
    """
    rows = _checked(list(judged))
    wanted = checked_options(passes_at=passes_at, ks=ks, confidence=confidence, seed=seed)
    if wanted is None:
        of_each = Counter(row.task_id for row in rows)
        wanted = usual_ks(max(of_each.values(), default=1))

    # tags and figures often share their values: asked for once
    @cache
    def estimated(values: tuple[float, ...]) -> Estimate:
        return mean_interval(values, confidence=confidence, seed=seed)

    def figures(some: list[Judged]) -> dict[str, Any]:
        return _figures(some, passes_at, wanted, estimated)

    return Evaluation(
        **figures(rows),
        passes_at=passes_at,
        by_tag=_by_name(grouped(rows, lambda row: row.tags), figures),
        by_level=_by_name(grouped(rows, lambda row: row.level), figures),
    )


def usual_ks(samples: int) -> tuple[int, ...]:
    """1, 2, 4, ... and the number of samples."""
    return (*(1 << power for power in range((samples - 1).bit_length())), samples)


def checked_options(
    *, passes_at: object, ks: Iterable[int] | None, confidence: object, seed: object
) -> tuple[int, ...] | None:
    """The k in order, each once; None: the usual ones."""
    if not is_number(passes_at) or not math.isfinite(passes_at):  # type: ignore[arg-type]
        raise ConfigError(f"passes_at must be a finite number, got {passes_at!r:.80}")
    check_interval(confidence, seed)
    if ks is None:
        return None
    if isinstance(ks, (str, bytes)) or not isinstance(ks, Iterable):
        raise ConfigError(f"ks must be a list of whole numbers, got {ks!r:.80}")
    wanted = list(ks)
    for k in wanted:
        check_count("each of ks", k, least=1)
    return tuple(sorted(set(wanted)))


def _checked(rows: list[Judged]) -> list[Judged]:
    seen: set[tuple[str, int]] = set()
    for row in rows:
        place = row.task_id, row.sample
        if place in seen:
            raise ConfigError(
                f"sample {row.sample} of task {row.task_id!r} is there twice: give each once"
            )
        seen.add(place)
        reward = row.reward
        if reward is not None and not (is_number(reward) and math.isfinite(reward)):
            raise ConfigError(
                f"the reward of task {row.task_id!r} must be a finite number or None, "
                f"got {reward!r:.80}"
            )
    return rows


def _figures(
    rows: list[Judged], passes_at: float, ks: tuple[int, ...], estimated: Interval
) -> dict[str, Any]:
    values: dict[str, list[float]] = {row.task_id: [] for row in rows}  # that count, by task
    passed: Counter[str] = Counter()
    counted = [(row, value) for row in rows if (value := row.value) is not None]
    for row, value in counted:
        values[row.task_id].append(value)
        passed[row.task_id] += row.passes(passes_at)
    means = sorted(mean(of_task) for of_task in values.values() if of_task)
    outcomes = [(len(of_task), passed[task]) for task, of_task in values.items()]

    def chances(estimator: Estimator) -> dict[int, Estimate]:
        found: dict[int, Estimate] = {}
        one = cache(estimator)  # many tasks have passed equally often
        for k in ks:
            shares = sorted(one(samples, right, k) for samples, right in outcomes if samples >= k)
            if shares:
                found[k] = estimated(tuple(shares))
        return found

    return {
        "tasks": len(values),
        "samples": len(rows),
        "reward": estimated(tuple(means)) if means else None,
        "pass_at": chances(pass_at_k),
        "pass_hat": chances(pass_hat_k),
        "left_out": {k: few for k in ks if (few := sum(samples < k for samples, _ in outcomes))},
        "statuses": _statuses(rows),
        "failures": sum(row.reward is None for row, _ in counted),
        "unscored": len(rows) - len(counted),
    }


def _statuses(rows: list[Judged]) -> dict[str, int]:
    found = Counter(row.status for row in rows)
    order = (*STATUSES, *sorted(found.keys() - set(STATUSES)))
    return {status: found[status] for status in order if status in found}


def _by_name(
    groups: dict[str, list[Judged]], figures: Callable[[list[Judged]], dict[str, Any]]
) -> dict[str, Figures]:
    return {name: Figures(**figures(groups[name])) for name in sorted(groups, key=_in_order)}


def _in_order(name: str) -> tuple[Any, ...]:
    """Level 2 comes before level 10."""
    parts = re.split("([0-9]{1,18})", name)
    return (*((int(part) if number % 2 else part) for number, part in enumerate(parts)),)
