"""The requests that are being decoded together, and their rows in the model's cache."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from aworld.errors import ModelError
from aworld.policies.base import Policy
from aworld.serve.generation import Generation
from aworld.serve.sampling import Drawing

NOT_FINITE = "the model's numbers are not finite: has training gone wrong?"


class Batch:
    """Rows 0 to n-1 are taken; a row that ends is filled with the last one."""

    def __init__(self, policy: Policy):
        self.policy = policy
        self.rows: list[Generation] = []
        self._cache = policy.open_cache()
        self._drawing: Drawing | None = None  # None: the rows have changed
        self._ids = self._positions = torch.empty(0)

    def __len__(self) -> int:
        return len(self.rows)

    def admit(self, newcomers: list[Generation], version: int) -> None:
        """Reads their prompts, equal ones once, and draws the first token of each."""
        groups: dict[tuple[int, ...], list[Generation]] = {}
        for new in newcomers:
            groups.setdefault(tuple(new.prompt), []).append(new)
        firsts = [group[0] for group in groups.values()]
        start = len(self.rows)
        rows = list(range(start, start + len(firsts)))
        logits = self.policy.prefill(self._cache, rows, [first.prompt for first in firsts])
        twins = [(at, twin) for at, group in enumerate(groups.values()) for twin in group[1:]]
        if twins:
            like = [at for at, _ in twins]
            self._cache.make_room(start + len(newcomers), 1)
            self._cache.copy(
                [start + at for at in like],
                list(range(start + len(firsts), start + len(newcomers))),
                max(len(twin.prompt) for _, twin in twins),
            )
            logits = torch.cat([logits, logits[like]])
        admitted = [*firsts, *(twin for _, twin in twins)]
        self.rows += admitted
        self._drawing = None
        drawing = Drawing([new.sampling for new in admitted], self.policy.device)
        self._take(admitted, *drawing.draw(logits, [0] * len(admitted)), version)

    def step(self, version: int) -> None:
        """One more token for every row."""
        if self._drawing is None:
            self._lay_out()
        assert self._drawing is not None
        counts = [len(row.ids) for row in self.rows]
        longest = max(len(row.prompt) + count for row, count in zip(self.rows, counts, strict=True))
        logits = self.policy.step(self._cache, self._ids, self._positions, longest)
        ids, logprobs = self._drawing.draw(logits, counts)
        self._ids, self._positions = ids, self._positions + 1
        self._take(self.rows, ids, logprobs, version)

    def drop_ended(self) -> list[Generation]:
        """Gives the rows away of those that have ended or that nobody waits for."""
        ended = [row.is_over for row in self.rows]
        if not any(ended):
            return []
        kept = [row for row, over in enumerate(ended) if not over]
        holes = [row for row, over in enumerate(ended[: len(kept)]) if over]
        movers = [row for row in kept if row >= len(kept)]
        gone = [one for one, over in zip(self.rows, ended, strict=True) if over]
        for row, one in enumerate(self.rows):
            if one.error is not None:
                self._cache.clear(row)
        if holes:
            longest = max(len(self.rows[row].prompt) + len(self.rows[row].ids) for row in movers)
            self._cache.copy(movers, holes, longest)
        for source, target in zip(movers, holes, strict=True):
            self.rows[target] = self.rows[source]
        del self.rows[len(kept) :]
        self._drawing = None
        return gone

    def _lay_out(self) -> None:
        device = self.policy.device
        self._drawing = Drawing([row.sampling for row in self.rows], device)
        self._ids = torch.tensor([row.ids[-1] for row in self.rows], device=device)
        positions = [len(row.prompt) + len(row.ids) - 1 for row in self.rows]
        self._positions = torch.tensor(positions, device=device)

    def _take(self, rows: list[Generation], ids: Tensor, logprobs: Tensor, version: int) -> None:
        """In one transfer from where the logits are; an id is exact in float64."""
        drawn = torch.stack([ids.double(), logprobs.double()]).tolist()
        for row, token, logprob in zip(rows, *drawn, strict=True):
            if not math.isfinite(logprob):
                row.error = ModelError(NOT_FINITE, may_pass=True)
                continue
            try:
                row.take(int(token), logprob, version)
            except Exception as error:  # its text could not be read: no harm to the others
                row.error = ModelError(f"{type(error).__name__}: {error}")
