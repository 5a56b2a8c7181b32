"""A small text game in Gymnasium's form, for sources that name it."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Text


class Guessing(gymnasium.Env[str, str]):
    """A number from 0 to `most` is to be found."""

    def __init__(self, most: int = 9):
        self.observation_space = Text(100)
        self.action_space = Text(20, charset="0123456789")
        self.most = most

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.secret = int(self.np_random.integers(0, self.most + 1))
        return f"Guess a number from 0 to {self.most}.", {}

    def step(self, action: str) -> Any:
        if int(action) == self.secret:
            return "That is it.", 1.0, True, False, {"secret": self.secret}
        hint = "higher" if int(action) < self.secret else "lower"
        return f"It is {hint}.", -0.1, False, False, {}
