"""Which episodes train, with which weight, and if not, why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from aworld.errors import ConfigError
from aworld.train.algorithms.base import Algorithm, Credit, Values
from aworld.train.algorithms.settings import Settings
from aworld.train.episodes import Episode
from aworld.train.verdicts import Verdict, verdict_on

SOLVED = 1.0  # the reward that counts as success
NO_REWARD = "no reward"
TOO_LONG = "longer than max_length"
TOO_OLD = "older than max_staleness"
NO_VERSION = "no policy version: its age is not known"
DROPPED = {
    "truncated": "it was truncated",
    "failed": "it failed",
    "timeout": "it ran out of time",
    "crashed": "its worker crashed",
}
MASKED = {status: f"{reason}: it counts in its group only" for status, reason in DROPPED.items()}


@dataclass(frozen=True, slots=True)
class Selection:
    """The episodes to train on, with their credit, and a verdict on every one that was given."""

    episodes: list[Episode]
    credits: list[Credit]
    verdicts: list[Verdict]

    @property
    def counts(self) -> Counter[str]:
        """How many did not train, by reason."""
        return Counter(one.reason for one in self.verdicts if not one.trained)

    @property
    def groups(self) -> int:
        """How many groups train. Who wants a full batch goes on sampling until there are enough."""
        return len({episode.group for episode in self.episodes})

    @property
    def figures(self) -> dict[str, float]:
        """Of all episodes that were given, whether they train or not."""
        found = self.verdicts
        rewards = [one.reward for one in found if one.reward is not None]
        ages = [one.staleness for one in found if one.trained and one.staleness is not None]
        return {
            "episodes": len(found),
            "trained": sum(one.trained for one in found),
            "groups": self.groups,
            **_mean("reward", rewards),
            **_mean("success", [reward >= SOLVED for reward in rewards]),
            **_mean("completed", [one.status == "success" for one in found]),
            **_mean("sampled_tokens", [one.tokens for one in found if one.tokens]),
            **_mean("staleness", ages),
            **({"max_staleness": max(ages)} if ages else {}),
        }


def select(
    episodes: Sequence[Episode],
    algorithm: Algorithm,
    *,
    version: int | None = None,
    values: Values | None = None,
) -> Selection:
    """version: of the policy that is being trained. values: the model's, for each turn of each
    episode, for algorithms that need them."""
    if algorithm.needs_values and values is None:
        raise ConfigError(f"{algorithm.name} needs the model's values of each turn: values=[...]")
    reasons = [why_not(one, algorithm, version) for one in episodes]
    heard = [n for n, why in enumerate(reasons) if not why or why in MASKED.values()]
    given = algorithm.credit(
        [episodes[n] for n in heard], None if values is None else [values[n] for n in heard]
    )
    credited: dict[int, Credit] = {}
    for n, credit in zip(heard, given, strict=True):
        if isinstance(credit, str):
            reasons[n] = reasons[n] or credit
        elif not reasons[n]:
            credited[n] = credit
    chosen = [episodes[n] for n in credited]
    weights = dict(zip(credited, shares(chosen, algorithm.settings), strict=True))
    verdicts = [
        verdict_on(
            episode,
            version=version,
            trained=n in credited,
            reason=reasons[n],
            advantage=float(np.mean(credited[n].advantages)) if n in credited else None,
            weight=weights.get(n, 0.0),
        )
        for n, episode in enumerate(episodes)
    ]
    return Selection(chosen, list(credited.values()), verdicts)


def without(selection: Selection, lost: Sequence[bool], reason: str) -> Selection:
    """Where training on some of them came to nothing: which, in the order of the verdicts."""
    verdicts = [
        replace(one, trained=False, reason=reason, advantage=None, weight=0.0) if gone else one
        for one, gone in zip(selection.verdicts, lost, strict=True)
    ]
    return replace(selection, verdicts=verdicts)


def why_not(episode: Episode, algorithm: Algorithm, version: int | None) -> str:
    """Empty if nothing speaks against it, but for what the others of its group say."""
    settings = algorithm.settings
    if episode.why_not:
        return episode.why_not
    if algorithm.needs_reward and episode.reward is None:
        return NO_REWARD
    use: Literal["train", "mask", "drop"] = getattr(settings, episode.status, "train")
    if use == "drop":
        return DROPPED[episode.status]
    if settings.max_length is not None and episode.longest > settings.max_length:
        return TOO_LONG
    if settings.max_staleness is not None and version is not None:
        if episode.oldest_version is None:
            return NO_VERSION
        if version - episode.oldest_version > settings.max_staleness:
            return TOO_OLD
    return MASKED[episode.status] if use == "mask" else ""


def shares(episodes: Sequence[Episode], settings: Settings) -> list[float]:
    """How much of the loss is each episode's, all else being equal."""
    tokens = [float(episode.tokens) for episode in episodes]
    if settings.aggregation == "episode":
        return [1 / len(tokens) for _ in tokens]
    return [ours / sum(tokens) for ours in tokens]


def _mean(name: str, numbers: Sequence[float]) -> dict[str, float]:
    return {name: float(np.mean(numbers))} if numbers else {}
