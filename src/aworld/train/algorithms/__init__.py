"""The algorithms, by name. A new one is one file and one line here.

None of them imports torch by itself: settings can be checked where there is none.
"""

from __future__ import annotations

from typing import Any

from aworld.errors import ConfigError, unknown_name
from aworld.train.algorithms.base import Algorithm, Credit, Loss, Outputs, Recipe
from aworld.train.algorithms.cispo import CISPO
from aworld.train.algorithms.dapo import DAPO
from aworld.train.algorithms.dr_grpo import DR_GRPO
from aworld.train.algorithms.grpo import GRPO
from aworld.train.algorithms.gspo import GSPO
from aworld.train.algorithms.ppo import PPO
from aworld.train.algorithms.reinforce import REINFORCE
from aworld.train.algorithms.rloo import RLOO
from aworld.train.algorithms.sft import SFT

ALGORITHMS: dict[str, Recipe] = {
    "reinforce": REINFORCE,
    "rloo": RLOO,
    "grpo": GRPO,
    "dr_grpo": DR_GRPO,
    "dapo": DAPO,
    "ppo": PPO,
    "gspo": GSPO,
    "cispo": CISPO,
    "sft": SFT,
}
"""All that `algorithm=` knows by name."""

__all__ = ["ALGORITHMS", "Algorithm", "Credit", "Loss", "Outputs", "Recipe", "open_algorithm"]


def open_algorithm(name: str | Recipe, **settings: Any) -> Algorithm:
    """By its name, or your own Recipe: `open_algorithm("grpo", clip_high=0.28)`."""
    if isinstance(name, Recipe):
        return Algorithm(name.settings.__name__, name, name.settings(**settings))
    if name not in ALGORITHMS:
        raise ConfigError(unknown_name("algorithm", str(name), ALGORITHMS))
    recipe = ALGORITHMS[name]
    return Algorithm(name, recipe, recipe.settings(**settings))
