"""What algorithms can be told: frozen, checked when made, unknown keys refused."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Literal, get_args

from aworld.config import KnownKeysOnly, check_count, is_number
from aworld.errors import ConfigError

Use = Literal["train", "mask", "drop"]
Aggregation = Literal["token", "episode", "constant"]
KlEstimator = Literal["k1", "k2", "k3"]


@dataclass(frozen=True)
class Settings(KnownKeysOnly):
    """Which rollouts train, and how their tokens add up.

    truncated, failed, timeout, crashed
                   what is done with rollouts that ended so and have a reward: 'train' on them;
                   'mask': they count in their group, but are not trained on; 'drop' them
    max_length     rollouts with a row of more tokens are not trained on
    max_staleness  nor those sampled by a policy that is more versions old
    aggregation    'token': the mean over all tokens; 'episode': over each rollout's tokens, then
                   over rollouts; 'constant': the sum, by the number of rollouts and `token_budget`
    token_budget   how many tokens count as one rollout, for 'constant'
    """

    truncated: Use = "train"
    failed: Use = "train"
    timeout: Use = "train"
    crashed: Use = "train"
    max_length: int | None = None
    max_staleness: int | None = None
    aggregation: Aggregation = "token"
    token_budget: int | None = None

    def __post_init__(self) -> None:
        for ending in ("truncated", "failed", "timeout", "crashed"):
            check_choice(ending, getattr(self, ending), get_args(Use))
        check_choice("aggregation", self.aggregation, get_args(Aggregation))
        for name, least in (("max_length", 2), ("max_staleness", 0), ("token_budget", 1)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least=least)
        if self.aggregation == "constant" and self.token_budget is None:
            raise ConfigError("aggregation='constant' needs a token_budget")
        if self.aggregation != "constant" and self.token_budget is not None:
            raise ConfigError("token_budget is for aggregation='constant': make it None")


@dataclass(frozen=True)
class PolicySettings(Settings):
    """Those of all algorithms that learn from rewards.

    max_weight    bounds the importance weights between sampler and trainer; None: there are none
    kl            how much the divergence from a reference model costs
    kl_estimator  'k1' log-ratio, 'k2' half its square, 'k3' the unbiased one that is never below 0
    entropy       how much entropy is worth
    """

    max_weight: float | None = 2.0
    kl: float = 0.0
    kl_estimator: KlEstimator = "k3"
    entropy: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("kl_estimator", self.kl_estimator, get_args(KlEstimator))
        check_numbers(self, "kl", "entropy")
        if self.max_weight is not None:
            check_numbers(self, "max_weight", least=1.0)


@dataclass(frozen=True)
class GroupSettings(PolicySettings):
    """Those of algorithms that compare the rollouts of one task with each other.

    same_rewards  'drop' groups in which all rewards are the same, or 'keep' them: they have no
                  advantage, but count in the means, and pay for KL
    """

    same_rewards: Literal["drop", "keep"] = "drop"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("same_rewards", self.same_rewards, ("drop", "keep"))


def check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r:.80}")


def check_numbers(settings: Any, *names: str, least: float = 0.0, most: float = inf) -> None:
    for name in names:
        check_number(name, getattr(settings, name), least=least, most=most)


def check_number(name: str, value: object, *, least: float = 0.0, most: float = inf) -> None:
    if not is_number(value) or not least <= value <= most or value == inf:  # type: ignore[operator]
        limit = "" if most == inf else f" and at most {most:g}"
        wanted = f"a number of at least {least:g}{limit}"
        raise ConfigError(f"{name} must be {wanted}, got {value!r:.80}")
