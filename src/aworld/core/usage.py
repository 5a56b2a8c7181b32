"""What model calls cost."""

from __future__ import annotations

from typing import Any, NamedTuple


class Usage(NamedTuple):
    """Adds up: `a + b` is what both cost. `cost` is in the currency of the prices."""

    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: tuple[Any, ...]) -> Usage:  # type: ignore[override]
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


NOTHING = Usage()


class Prices(NamedTuple):
    """For a million tokens."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6
