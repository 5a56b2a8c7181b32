"""How much of what llama.cpp has evaluated can be used again without changing a single bit.

llama.cpp multiplies a single token by other code than two or more, and rounds differently there. So
the numbers for a prompt are always the same if no token of it is ever evaluated alone. Two things
would do that: a cache that leaves just one token to evaluate, and a cache of sampled tokens, which
were evaluated one by one. Both are cut off by evaluating two tokens that do not belong there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CHUNK = 512  # llama.cpp evaluates this many at once


@dataclass(frozen=True, slots=True)
class SlotCache:
    """What the only slot holds: a prompt, evaluated in chunks, and what was sampled after it."""

    prompt: list[int] = field(default_factory=list)
    sampled: list[int] = field(default_factory=list)

    def plan(self, ids: list[int]) -> tuple[int, int | None]:
        """How many of the tokens to keep, and a token to cut off there with, where it must be."""
        keep = min(_common(ids, self.prompt), len(ids) - 2)
        if (len(ids) - keep) % CHUNK == 1:  # the last one would be a chunk of its own
            keep = keep - 1 if keep > 0 else 2
        keep = max(keep, 0)
        held = self.prompt + self.sampled
        if keep == 0 or keep == _common(ids, held):
            return keep, None
        return keep, min({0, 1, 2} - {ids[keep], *held[keep : keep + 1]})


def _common(some: list[int], other: list[int]) -> int:
    """How many of the first ones are the same."""
    for place, (one, two) in enumerate(zip(some, other, strict=False)):
        if one != two:
            return place
    return min(len(some), len(other))
