"""What a model expects before each turn: the small head that PPO learns along with the policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from aworld.train.advantages import Numbers
from aworld.train.batches import TokenBatch


class ValueHead(nn.Module):
    """From a model's last hidden states to values. It begins by expecting nothing, everywhere."""

    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """(rows, length, width) to (rows, length - 1): what is expected before ids[:, 1:]."""
        return self.linear(hidden[:, :-1].to(self.linear.weight.dtype)).squeeze(-1)


def turn_values(parts: Sequence[tuple[Tensor, TokenBatch]], turns: Sequence[int]) -> list[Numbers]:
    """The values of each episode's turns, for `select`. `parts` are micro-batches with the values
    of all their tokens, `turns` says how many turns each episode has."""
    found = [np.zeros(count) for count in turns]
    for values, batch in parts:
        row, token = torch.nonzero(batch.turn_starts, as_tuple=True)
        episodes, numbers = batch.episode[row].tolist(), batch.turn[row, token].tolist()
        for episode, turn, value in zip(
            episodes, numbers, values.detach()[row, token].tolist(), strict=True
        ):
            found[episode][turn] = value
    return found
