"""Whether an episode trained, how much it counted, and if it did not, why not."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aworld.train.episodes import Episode


@dataclass(frozen=True, slots=True)
class Verdict:
    """Plain data."""

    run: str
    task_id: str
    group_id: str
    sample: int
    status: str
    trained: bool
    reason: str = ""  # why it did not
    reward: float | None = None
    advantage: float | None = None  # the mean over its turns
    weight: float = 0.0  # its share of the loss
    tokens: int = 0  # that were sampled
    staleness: int | None = None  # in policy versions, where they are known

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        """One line for a person."""
        reward = "no reward" if self.reward is None else f"reward {self.reward:g}"
        facts = [f"{self.status}, {reward}, {self.tokens} tokens sampled"]
        if self.staleness:
            facts.append(f"by a policy {self.staleness} versions old")
        name = f"{self.task_id} #{self.sample} ({', '.join(facts)})"
        if not self.trained:
            return f"{name}: not trained: {self.reason}"
        return f"{name}: trained, advantage {self.advantage:+.4g}, {self.weight:.2%} of the loss"


def counted(reasons: Counter[str], most: int | None = None) -> str:
    """In words, the most frequent first."""
    return "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common(most))


def verdict_on(episode: Episode, *, version: int | None = None, **more: Any) -> Verdict:
    """`version` is that of the policy that is being trained."""
    oldest = episode.oldest_version
    return Verdict(
        run=episode.run,
        task_id=episode.task_id,
        group_id=episode.group_id,
        sample=episode.sample,
        status=episode.status,
        reward=episode.reward,
        tokens=episode.tokens,
        staleness=None if version is None or oldest is None else version - oldest,
        **more,
    )
