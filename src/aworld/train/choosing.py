"""Which tasks are run next: all in turn, shuffled anew each time, or by a curriculum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.train.binding import in_environment
from aworld.train.curriculum import Curriculum
from aworld.train.ids import original


class TaskChooser:
    """Gives task after task, each under a name of its own: `q7@3` is the fourth that was chosen,
    and its question is that of `q7`."""

    def __init__(self, tasks: Sequence[Task], agent: Any, *, seed: int, curriculum: bool):
        self._tasks = list(tasks)
        if not self._tasks:
            raise ConfigError("there are no tasks to train on")
        self._by_id = {task.id: task for task in self._tasks}
        # one for each environment: an agent travels once to a worker
        agents = {id(task.agent): in_environment(agent, task.agent) for task in self._tasks}
        self._agents = {task.id: agents[id(task.agent)] for task in self._tasks}
        self._seed = seed
        self._curriculum = Curriculum(self._by_id, seed=seed) if curriculum else None
        self._ahead: list[str] = []  # what the curriculum has chosen already
        self._turn: tuple[int, np.ndarray] | None = None  # the order of this time round
        self.chosen = 0

    def next(self) -> Task:
        task = self._by_id[self._next_id()]
        number, self.chosen = self.chosen, self.chosen + 1
        return Task(
            task.input,
            self._agents[task.id],
            id=f"{task.id}@{number}",
            tools=task.tools,
            ground_truth=task.ground_truth,
            metadata=task.metadata,
            timeout=task.timeout,
        )

    def agent_of(self, chosen_id: str) -> Any:
        """Who runs a task that was chosen before; it may be none of ours any more."""
        usual = self._agents[self._tasks[0].id]
        return self._agents.get(original(chosen_id), usual)

    def _next_id(self) -> str:
        if self._curriculum is None:
            turn, place = divmod(self.chosen, len(self._tasks))
            if self._turn is None or self._turn[0] != turn:
                order = np.random.default_rng([self._seed, turn]).permutation(len(self._tasks))
                self._turn = (turn, order)
            return self._tasks[self._turn[1][place]].id
        if not self._ahead:
            self._ahead = self._curriculum.choose(max(len(self._tasks) // 4, 1))
        return self._ahead.pop(0)

    def record(self, chosen_id: str, reward: float | None) -> None:
        """How a task went, for the curriculum."""
        if self._curriculum is not None and reward is not None:
            self._curriculum.record(original(chosen_id), min(max(reward, 0.0), 1.0))

    def state(self) -> dict[str, Any]:
        """Plain data, to go on from."""
        curriculum = None if self._curriculum is None else self._curriculum.to_dict()
        return {"chosen": self.chosen, "ahead": self._ahead, "curriculum": curriculum}

    def restore(self, state: dict[str, Any]) -> None:
        self.chosen, self._ahead = state["chosen"], list(state["ahead"])
        if self._curriculum is not None and state["curriculum"] is not None:
            self._curriculum.restore(state["curriculum"])

    def go_to(self, count: int) -> None:
        """As if so many had been chosen: those that are known to have been."""
        while self.chosen < count:
            self.next()
        self.chosen = count
