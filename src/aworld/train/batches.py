"""Episodes as tensors. A batch can be split anywhere between its rows: what a loss is divided by
comes from the whole of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from aworld.config import check_count
from aworld.train.episodes import Episode
from aworld.train.rows import UNKNOWN, TokenRow

if TYPE_CHECKING:
    from aworld.train.algorithms.base import Credit


@dataclass(frozen=True, slots=True)
class Totals:
    """What a whole batch is made of."""

    tokens: int = 0  # that are trained on
    sequences: int = 0
    episodes: int = 0
    groups: int = 0
    turns: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Rows of tokens, padded on the right. What is (rows, length - 1) belongs to ids[:, 1:]."""

    ids: Tensor  # (rows, length)
    attention: Tensor  # (rows, length), False where it is padding
    mask: Tensor  # (rows, length - 1), True where a token is trained on
    sampled_logprobs: Tensor  # (rows, length - 1), NaN where the sampler said nothing
    advantages: Tensor  # (rows, length - 1)
    turn: Tensor  # (rows, length - 1), of the token's episode; -1 where it was not sampled
    episode: Tensor  # (rows,), its place among those that the batch was made of
    group: Tensor  # (rows,), likewise
    episode_tokens: Tensor  # (rows,), how many tokens of its episode the whole batch trains on
    temperature: Tensor  # (rows,), that was sampled at
    old_logprobs: Tensor | None = None  # the trainer's own, from before the first update
    ref_logprobs: Tensor | None = None  # a reference model's
    returns: Tensor | None = None  # what the values should be
    old_values: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lengths(self) -> Tensor:
        return self.attention.sum(dim=1)

    @property
    def turn_starts(self) -> Tensor:
        """True at the first token of each turn in each row."""
        before = torch.nn.functional.pad(self.turn, (1, 0), value=UNKNOWN)[:, :-1]
        return self.mask & (self.turn != before)

    @property
    def totals(self) -> Totals:
        return Totals(
            tokens=int(self.mask.sum()),
            sequences=len(self),
            episodes=len(self.episode.unique()),
            groups=len(self.group.unique()),
            turns=int(self.turn_starts.sum()),
        )

    def take(self, rows: Sequence[int] | Tensor) -> TokenBatch:
        """These rows, as long as the longest of them."""
        chosen = torch.as_tensor(rows, dtype=torch.long, device=self.ids.device)
        length = int(self.lengths[chosen].max()) if len(chosen) else 1
        wide = self.ids.shape[1]
        parts: dict[str, Any] = {}
        for name, tensor in self._tensors():
            part = tensor[chosen]
            if part.dim() == 2:
                part = part[:, : length - (wide - part.shape[1])]
            parts[name] = part
        return replace(self, **parts)

    def to(self, device: torch.device | str) -> TokenBatch:
        return replace(self, **{name: tensor.to(device) for name, tensor in self._tensors()})

    def _tensors(self) -> Iterator[tuple[str, Tensor]]:
        for field in fields(self):
            tensor = getattr(self, field.name)
            if tensor is not None:
                yield field.name, tensor


def batch_of(
    episodes: Sequence[Episode], credits: Sequence[Credit] | None = None, *, pad_id: int = 0
) -> TokenBatch:
    """All rows of these episodes. Without credits all advantages are 0."""
    places = [(place, row) for place, episode in enumerate(episodes) for row in episode.rows]
    length = max((len(row) for _, row in places), default=1)
    groups = {group: n for n, group in enumerate(dict.fromkeys(e.group for e in episodes))}
    tokens = [episode.tokens for episode in episodes]

    def padded(part: str, fill: float, kind: Any) -> Tensor:
        whole = np.full((len(places), length), fill, kind)
        for number, (_, row) in enumerate(places):
            whole[number, : len(row)] = getattr(row, part)
        return torch.from_numpy(whole)

    def spread(part: str) -> Tensor | None:
        if credits is None or not credits or getattr(credits[0], part) is None:
            return None
        whole = np.zeros((len(places), length), np.float32)
        for number, (place, row) in enumerate(places):
            whole[number, : len(row)] = _by_token(row, getattr(credits[place], part))
        return torch.from_numpy(whole)[:, 1:]

    ids = padded("ids", pad_id, np.int64)
    lengths = torch.tensor([len(row) for _, row in places], dtype=torch.long)
    advantages = spread("advantages")
    return TokenBatch(
        ids=ids,
        attention=torch.arange(length) < lengths[:, None],
        mask=padded("sampled", False, np.bool_)[:, 1:],
        sampled_logprobs=padded("logprobs", np.nan, np.float32)[:, 1:],
        advantages=torch.zeros(len(places), length - 1) if advantages is None else advantages,
        turn=padded("turns", UNKNOWN, np.int64)[:, 1:],
        episode=torch.tensor([place for place, _ in places], dtype=torch.long),
        group=torch.tensor([groups[episodes[p].group] for p, _ in places], dtype=torch.long),
        episode_tokens=torch.tensor([tokens[place] for place, _ in places], dtype=torch.long),
        temperature=torch.tensor([row.temperature for _, row in places]),
        returns=spread("returns"),
        old_values=spread("values"),
    )


def micro_batches(batch: TokenBatch, max_tokens: int) -> list[TokenBatch]:
    """Rows of like length together, so that each part with its padding has at most `max_tokens`
    tokens; a row that is longer than that is a part of its own. The longest come first: what does
    not fit into memory fails at once."""
    check_count("max_tokens", max_tokens, least=1)
    lengths = batch.lengths.tolist()
    parts: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if not parts or (len(parts[-1]) + 1) * lengths[parts[-1][0]] > max_tokens:
            parts.append([])
        parts[-1].append(row)
    return [batch.take(part) for part in parts]


def _by_token(row: TokenRow, by_turn: np.ndarray) -> np.ndarray:
    """What is known of a turn, for each of its tokens; 0 for those that were not sampled."""
    return np.where(row.sampled, np.asarray(by_turn, np.float32)[row.turns], 0.0)
