"""What an algorithm is: how credit is given to episodes, and what loss follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from aworld.train.advantages import Numbers
from aworld.train.algorithms.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

    from aworld.train.batches import TokenBatch, Totals
    from aworld.train.episodes import Episode


class Credit(NamedTuple):
    """What an episode is worth: one number for each of its turns."""

    advantages: Numbers
    returns: Numbers | None = None  # what the values should be, where there are values
    values: Numbers | None = None  # what they were


class Outputs(NamedTuple):
    """What the model being trained says of a batch, with gradients: all (rows, length - 1)."""

    logprobs: Tensor  # of ids[:, 1:], at the temperature that they were sampled at
    entropy: Tensor | None = None  # of the distribution that each was taken from
    values: Tensor | None = None  # what it expects before that token


class Loss(NamedTuple):
    """Of a micro-batch. Both add up, over micro-batches, to those of the whole batch."""

    value: Tensor
    metrics: dict[str, Tensor]  # for `metrics.figures`


Values = Sequence[Numbers]
GiveCredit = Callable[[Sequence["Episode"], Any, "Values | None"], "list[Credit | str]"]
MakeLoss = Callable[[Outputs, "TokenBatch", "Totals", Any], Loss]


class Recipe(NamedTuple):
    """An algorithm before it is told its settings."""

    settings: type[Settings]
    credit: GiveCredit
    loss: MakeLoss
    needs_reward: bool = True
    needs_values: bool = False  # of the model, for each turn


@dataclass(frozen=True)
class Algorithm:
    """A recipe with its settings."""

    name: str
    recipe: Recipe
    settings: Settings

    @property
    def needs_reward(self) -> bool:
        return self.recipe.needs_reward

    @property
    def needs_values(self) -> bool:
        return self.recipe.needs_values

    def credit(
        self, episodes: Sequence[Episode], values: Values | None = None
    ) -> list[Credit | str]:
        """For each episode its credit, or the reason why it has none."""
        return self.recipe.credit(episodes, self.settings, values)

    def loss(self, outputs: Outputs, batch: TokenBatch, totals: Totals) -> Loss:
        """Of a micro-batch; `totals` are those of the whole batch."""
        return self.recipe.loss(outputs, batch, totals, self.settings)
