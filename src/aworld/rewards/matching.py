"""Rewards that compare the answer, as a text or a number, with the ground truth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from aworld.config import is_number
from aworld.core.plain import plain
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError
from aworld.rewards.base import Match, has_answer, text_of
from aworld.rewards.numerals import last_number, same_number


@dataclass(frozen=True)
class ExactMatch(Match):
    """The answer is the ground truth, but for white space around it.

    ignore_case  'Paris' is 'PARIS'
    """

    ignore_case: bool = False

    def matches(self, answer: Any, truth: Any) -> bool:
        if is_number(answer) and is_number(truth):
            return answer == truth
        return _comparable(answer, self.ignore_case) == _comparable(truth, self.ignore_case)


@dataclass(frozen=True)
class Contains(Match):
    """The ground truth occurs in the answer.

    ignore_case  'Paris' is 'PARIS'
    """

    ignore_case: bool = False

    def matches(self, answer: Any, truth: Any) -> bool:
        wanted = _comparable(truth, self.ignore_case)
        if not wanted:
            raise ValueError("the ground truth is empty: every answer contains it")
        return wanted in _comparable(answer, self.ignore_case)


@dataclass(frozen=True)
class NumericMatch(Match):
    """The last number in the answer is that of the ground truth; units and words do not matter.

    tolerance  how far apart they may be
    relative   the same, as a share of the larger one
    """

    tolerance: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("tolerance", "relative"):
            value = getattr(self, name)
            if not is_number(value) or not 0 <= value < float("inf"):
                raise ConfigError(f"{name} must be a number of at least 0, got {value!r:.80}")

    def matches(self, answer: Any, truth: Any) -> bool:
        wanted = last_number(truth if is_number(truth) else text_of(truth))
        if wanted is None:
            raise ValueError(f"there is no number in the ground truth {truth!r:.80}")
        found = last_number(answer if is_number(answer) else text_of(answer))
        if found is None:
            return False
        return same_number(found, wanted, tolerance=self.tolerance, relative=self.relative)


@dataclass(frozen=True)
class RegexMatch:
    """See `regex_match`."""

    pattern: re.Pattern[str]
    group: int | str | None

    def __call__(self, task: Task, trajectory: Trajectory) -> float | None:
        if not has_answer(trajectory):
            return None
        found = list(self.pattern.finditer(text_of(plain(trajectory.final_result))))
        if self.group is None:
            return float(bool(found))
        if task.ground_truth is None:
            return None
        caught = found[-1][self.group] if found else None
        return float(caught is not None and exact_match.matches(caught, plain(task.ground_truth)))


def regex_match(pattern: str | re.Pattern[str], group: int | str | None = None) -> RegexMatch:
    """The pattern occurs in the answer. With `group`, what that group caught (where the pattern
    occurs last) is the ground truth, but for white space around it."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise ConfigError(f"{pattern!r:.80} is no regular expression: {error}") from None
    known = [*range(compiled.groups + 1), *compiled.groupindex]
    if group is not None and group not in known:
        raise ConfigError(f"{compiled.pattern!r:.80} has no group {group!r}, only {known}")
    return RegexMatch(compiled, group)


def _comparable(value: Any, ignore_case: bool) -> str:
    text = text_of(value).strip()
    return text.casefold() if ignore_case else text


exact_match = ExactMatch()
"""The answer is the ground truth, but for white space around it (`ignore_case`, `any_of`)."""

contains = Contains()
"""The ground truth occurs in the answer (`ignore_case`, `any_of`)."""

numeric_match = NumericMatch()
"""The answer's last number is that of the ground truth (`tolerance`, `relative`, `any_of`)."""
