"""What a run's scores say: pass@k, pass^k, means with their uncertainty, paired comparisons."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, TypeVar

from aworld.config import check_count, is_int, is_number
from aworld.errors import ConfigError

Item = TypeVar("Item")

USUAL_RESAMPLES = 1000
MOST_RESAMPLED = 500  # values


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the interval that it lies in; of fewer than two values there is none."""

    mean: float
    low: float | None
    high: float | None
    count: int
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Comparison:
    """A second run beside a first one, on the tasks that both have a score of."""

    difference: Estimate  # of the second from the first: above 0, the second is better
    better: int
    worse: int
    same: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that at least one of k samples passes, unbiased: `passed` of `samples` did."""
    _check_sampling(samples, passed, k)
    draws = math.comb(samples, k)
    return (draws - math.comb(samples - passed, k)) / draws  # whole numbers: exact until here


def pass_hat_k(samples: int, passed: int, k: int) -> float:
    """pass^k: the chance that all of k samples pass, unbiased: `passed` of `samples` did."""
    _check_sampling(samples, passed, k)
    return math.comb(passed, k) / math.comb(samples, k)


def mean(values: Sequence[float]) -> float:
    """Of at least one value; however many there are, no digit is lost."""
    return math.fsum(values) / len(values)


def mean_interval(
    values: Iterable[float],
    *,
    confidence: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Estimate:
    """The mean, with the percentile interval of a bootstrap; the same seed gives the same one.

    Give one value for each task: samples of one task do not vary like tasks do. Of many values, and
    where `resamples` is not given, it is the normal interval: a bootstrap finds the same, slowly.
    """
    known = list(values)
    for position, value in enumerate(known):
        if not is_number(value) or not math.isfinite(value):
            raise ConfigError(f"value {position} must be a finite number, got {value!r:.80}")
    if not known:
        raise ConfigError("there is no mean of no values: leave out what has none")
    check_interval(confidence, seed)
    if resamples is not None:
        check_count("resamples", resamples, least=1)
    middle = mean(known)
    if len(known) == 1:
        return Estimate(middle, None, None, 1, confidence)
    if resamples is None and len(known) > MOST_RESAMPLED:
        return _normal_interval(known, confidence)
    chance = random.Random(seed)
    times = USUAL_RESAMPLES if resamples is None else resamples
    means = sorted(mean(chance.choices(known, k=len(known))) for _ in range(times))
    tail = (1 - confidence) / 2
    low, high = _quantile(means, tail), _quantile(means, 1 - tail)
    return Estimate(middle, low, high, len(known), confidence)


def check_interval(confidence: object, seed: object) -> None:
    """What an interval is asked for with."""
    if not is_number(confidence) or not 0 < confidence < 1:  # type: ignore[operator]
        raise ConfigError(f"confidence must lie between 0 and 1, got {confidence!r:.80}")
    if not is_int(seed):
        raise ConfigError(f"seed must be an int, got {seed!r:.80}")


def compare(
    first: Mapping[str, float | None],
    second: Mapping[str, float | None],
    *,
    confidence: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Two runs on the same tasks: their scores by task id. What has a score (not None) in one of
    them only is named and left out."""
    ours = {task: value for task, value in first.items() if value is not None}
    theirs = {task: value for task, value in second.items() if value is not None}
    shared = [task for task in ours if task in theirs]
    if not shared:
        raise ConfigError(
            "the two runs have no scored task in common: compare runs of the same tasks"
        )
    for task in shared:
        for value in (ours[task], theirs[task]):
            if not is_number(value) or not math.isfinite(value):
                raise ConfigError(f"the score of {task!r} must be a finite number, got {value!r}")
    differences = [theirs[task] - ours[task] for task in sorted(shared)]
    return Comparison(
        mean_interval(differences, confidence=confidence, resamples=resamples, seed=seed),
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        same=sum(difference == 0 for difference in differences),
        only_first=tuple(task for task in ours if task not in theirs),
        only_second=tuple(task for task in theirs if task not in ours),
    )


def grouped(
    items: Iterable[Item], key: Callable[[Item], Hashable | list[Any] | set[Any]]
) -> dict[Any, list[Item]]:
    """The items by their key, in the order in which keys come up. One whose key is a list or a set
    (of tags) is in each of those groups; one whose key is None or empty is in none."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        given = key(item)
        many = isinstance(given, (list, tuple, set, frozenset))
        keys = dict.fromkeys(given) if many else ({} if given is None else {given: None})
        for one in keys:
            groups.setdefault(one, []).append(item)
    return groups


def _normal_interval(values: Sequence[float], confidence: float) -> Estimate:
    """Never outside the values themselves."""
    middle = mean(values)
    variance = math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(variance / len(values))
    low, high = max(middle - half, min(values)), min(middle + half, max(values))
    return Estimate(middle, low, high, len(values), confidence)


def _check_sampling(samples: int, passed: int, k: int) -> None:
    check_count("samples", samples, least=1)
    check_count("passed", passed, least=0)
    check_count("k", k, least=1)
    if passed > samples:
        raise ConfigError(f"passed={passed} is more than samples={samples}")
    if k > samples:
        raise ConfigError(f"k={k} needs at least as many samples, there are {samples}")


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Between the two nearest values, as numpy does it."""
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])
