"""Chooses tasks that there is something to learn from: solved sometimes, not always, not never."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from aworld.config import check_count
from aworld.errors import ConfigError
from aworld.train.algorithms.settings import check_number


class Curriculum:
    """Tasks by their ids. The chance of each grows with p(1 - p), p being its success rate.

    memory  how much of what is known is kept when a new result comes: success rates change
    floor   the least chance of a task, as a share of the most it could have: none is given up
    seed    makes the choice repeatable
    """

    def __init__(
        self, task_ids: Iterable[str], *, memory: float = 0.9, floor: float = 0.1, seed: int = 0
    ):
        self._seen = dict.fromkeys(task_ids, (0.0, 0.0))  # successes and results, remembered
        if not self._seen:
            raise ConfigError("a curriculum needs tasks to choose from")
        check_number("memory", memory, most=1.0)
        check_number("floor", floor, least=1e-6, most=1.0)
        self.memory = memory
        self.floor = floor
        self._random = np.random.default_rng(seed)

    def record(self, task_id: str, success: float) -> None:
        """success: from 0 to 1. Tasks that are not in the curriculum are not remembered."""
        if task_id in self._seen:
            won, count = self._seen[task_id]
            self._seen[task_id] = (self.memory * won + success, self.memory * count + 1)

    def rate(self, task_id: str) -> float:
        """As one would guess it: one half, until results say otherwise."""
        won, count = self._seen[task_id]
        return (won + 1) / (count + 2)

    def chances(self) -> dict[str, float]:
        weights = {task: 4 * (p := self.rate(task)) * (1 - p) for task in self._seen}
        weights = {task: max(weight, self.floor) for task, weight in weights.items()}
        total = sum(weights.values())
        return {task: weight / total for task, weight in weights.items()}

    def choose(self, count: int) -> list[str]:
        """No task twice; all of them if there are no more."""
        check_count("count", count, least=1)
        chances = self.chances()
        names = list(chances)
        picked = self._random.choice(
            len(names), min(count, len(names)), replace=False, p=list(chances.values())
        )
        return [names[place] for place in picked]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, to go on from."""
        return {"seen": self._seen, "random": self._random.bit_generator.state}

    def restore(self, data: Mapping[str, Any]) -> None:
        for task, (won, count) in data["seen"].items():
            if task in self._seen:
                self._seen[task] = (float(won), float(count))
        self._random.bit_generator.state = data["random"]
