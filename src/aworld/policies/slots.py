"""Keys and values of the sequences that are being decoded, one row each."""

from __future__ import annotations

import torch
from torch import Tensor

LEAST_ROWS = 8
LEAST_LENGTH = 64


class SlotCache:
    """Row r holds one sequence from column 0 on; rows and columns grow with what they must hold.

    Sequences of all lengths decode together: each writes at its own position and looks at the
    columns up to it. So nothing is rebuilt when one comes or goes.
    """

    def __init__(
        self, layers: int, heads: int, width: int, *, dtype: torch.dtype, device: torch.device
    ):
        self.rows = self.length = 0
        shape = (0, heads, 0, width)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(layers)]

    def make_room(self, rows: int, length: int) -> bool:
        """Whether the tensors had to be made anew."""
        if rows <= self.rows and length <= self.length:
            return False
        new_rows = grown(self.rows, rows, LEAST_ROWS)
        new_length = grown(self.length, length, LEAST_LENGTH)
        for kept in (self.keys, self.values):
            for layer, old in enumerate(kept):
                # zeros: a column that nobody may look at is still multiplied, by 0
                new = old.new_zeros(new_rows, old.shape[1], new_length, old.shape[3])
                # of a size that is known: there may have been no memory for all layers before
                new[: self.rows, :, : self.length] = old[: self.rows, :, : self.length]
                kept[layer] = new
        self.rows, self.length = new_rows, new_length
        return True

    def copy(self, sources: list[int], targets: list[int], length: int) -> None:
        """All at once: a target may be another one's source."""
        for kept in (self.keys, self.values):
            for layer in kept:
                layer[targets, :, :length] = layer[sources, :, :length]

    def clear(self, row: int) -> None:
        """For a row with numbers that are not finite: 0 times such a one is not 0."""
        for kept in (self.keys, self.values):
            for layer in kept:
                layer[row] = 0


class PromptRows:
    """The cache as whole prompts see it: written from column 0 on, looked at by nobody else."""

    def __init__(self, cache: SlotCache, rows: Tensor):
        self.cache = cache
        self.rows = rows

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        length = keys.shape[2]
        self.cache.keys[layer][self.rows, :, :length] = keys
        self.cache.values[layer][self.rows, :, :length] = values
        return keys, values


class StepRows:
    """The cache as the next token of rows 0 to n-1 sees it; `length` columns are looked at."""

    def __init__(self, cache: SlotCache, positions: Tensor, length: int):
        self.cache = cache
        self.positions = positions
        self.length = length
        self.rows = torch.arange(len(positions), device=positions.device)
        columns = torch.arange(length, device=positions.device)
        self.mask = (columns <= positions[:, None])[:, None, None]  # (rows, 1, 1, length)

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        all_keys, all_values = self.cache.keys[layer], self.cache.values[layer]
        all_keys[self.rows, :, self.positions] = keys[:, :, 0]
        all_values[self.rows, :, self.positions] = values[:, :, 0]
        rows = len(self.rows)
        return all_keys[:rows, :, : self.length], all_values[:rows, :, : self.length]


def grown(now: int, wanted: int, least: int) -> int:
    """Doubled until it is enough, so that it seldom has to grow."""
    size = max(now, least)
    while size < wanted:
        size *= 2
    return size


def padded(prompts: list[list[int]], device: torch.device) -> Tensor:
    """On the right: causal attention alone keeps the real tokens from seeing it."""
    longest = max(map(len, prompts))
    rows = [prompt + [0] * (longest - len(prompt)) for prompt in prompts]
    return torch.tensor(rows, device=device)


def last_of(hidden: Tensor, prompts: list[list[int]]) -> Tensor:
    """(rows, length, width) to (rows, width): at the end of each prompt."""
    ends = torch.tensor([len(prompt) - 1 for prompt in prompts], device=hidden.device)
    return hidden[torch.arange(len(prompts), device=hidden.device), ends]
