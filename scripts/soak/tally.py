"""Counts what became of the tasks: lost, doubled, wrong. Pure: no files, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Found(NamedTuple):
    """A result as the store has it."""

    position: int
    id: str
    status: str
    is_right: bool  # its answer is the one that belongs to its id
    attempts: int = 1


@dataclass(frozen=True)
class Tally:
    """What became of the tasks, by their ids."""

    tasks: int
    lost: tuple[str, ...]  # no result is in the store
    doubled: tuple[str, ...]  # there twice, or told twice
    wrong: tuple[str, ...]  # not the task's own answer, at another's place, or of no task at all
    statuses: dict[str, int]
    attempts: int
    most_attempts: int

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


def tally(ids: Sequence[str], found: Iterable[Found], told: Iterable[str]) -> Tally:
    """Compares the tasks with their results and with what the drivers were told.

    ids    of all tasks, in their order
    found  every result in the store, those that were given up for another one too
    told   the id of every response that a driver was given, in all of its lives
    """
    places = {name: position for position, name in enumerate(ids)}
    times: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    wrong: set[str] = set()
    attempts = most = 0
    for result in found:
        times[result.id] += 1
        statuses[result.status] += 1
        attempts += result.attempts
        most = max(most, result.attempts)
        if places.get(result.id) != result.position:
            wrong.add(result.id)
        if result.status == "success" and not result.is_right:
            wrong.add(result.id)
    told_times = Counter(told)
    wrong |= told_times.keys() - places.keys()
    doubled = {name for counted in (times, told_times) for name, n in counted.items() if n > 1}
    return Tally(
        tasks=len(ids),
        lost=tuple(name for name in ids if name not in times),
        doubled=tuple(sorted(doubled)),
        wrong=tuple(sorted(wrong)),
        statuses=dict(statuses.most_common()),
        attempts=attempts,
        most_attempts=most,
    )
