"""Rewards made of rewards: a weighted sum of named parts, and a value for failures."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from aworld.config import is_number
from aworld.core.failure import TRIED
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError
from aworld.rewards.base import Reward, Scored
from aworld.rewards.scoring import TOTAL, score


@dataclass(frozen=True)
class Weighted:
    """See `weighted`."""

    parts: dict[str, tuple[float, Reward]]
    on_missing: Literal["none", "skip"]

    async def __call__(self, task: Task, trajectory: Trajectory) -> Scored:
        rewards = [reward for _, reward in self.parts.values()]
        given = await asyncio.gather(*(score(reward, task, trajectory) for reward in rewards))
        by_name = dict(zip(self.parts, given, strict=True))
        parts = {name: one.value for name, one in by_name.items() if one.value is not None}
        for name, one in by_name.items():
            parts |= {f"{name}.{inner}": value for inner, value in one.parts.items()}
        errors = [
            replace(one.error, message=f"{name}: {one.error.message}")
            for name, one in by_name.items()
            if one.error is not None
        ]
        reason = "\n".join(f"{name}: {one.reason}" for name, one in by_name.items() if one.reason)
        known = [name for name, one in by_name.items() if one.value is not None]
        missing = len(known) < len(by_name)
        if errors or not known or (missing and self.on_missing == "none"):
            return Scored(None, parts, errors[0] if errors else None, reason)
        whole = sum(self.parts[name][0] * parts[name] for name in known)
        return Scored(whole, parts, None, reason)


def weighted(
    *, on_missing: Literal["none", "skip"] = "none", **parts: Reward | tuple[float, Reward]
) -> Weighted:
    """`weighted(right=(1.0, exact_match), brief=(0.2, is_brief))`: the sum of weight times part.

    A reward without a weight has the weight 1. The parts are kept as they are, without weights.
    If a part is None, so is the whole; with on_missing="skip" such a part adds nothing and the
    other weights stay as they are, and the whole is None only if all parts are. A part that raises
    makes the whole None, with that error, in either case.
    """
    if on_missing not in ("none", "skip"):
        raise ConfigError(f"on_missing must be 'none' or 'skip', got {on_missing!r:.80}")
    if not parts:
        raise ConfigError("weighted needs parts: weighted(right=(1.0, exact_match), ...)")
    if TOTAL in parts:
        raise ConfigError(f"no part can be called {TOTAL!r}: that is the whole")
    return Weighted({name: _weight(name, part) for name, part in parts.items()}, on_missing)


def _weight(name: str, part: Reward | tuple[float, Reward]) -> tuple[float, Reward]:
    pair: Any = part if isinstance(part, tuple) and len(part) == 2 else (1.0, part)
    weight, reward = pair
    if not is_number(weight) or not abs(weight) < float("inf") or not callable(reward):
        raise ConfigError(f"the part {name!r} must be a reward or (weight, reward), got {part!r}")
    return weight, cast(Reward, reward)


@dataclass(frozen=True)
class FailuresAs:
    """See `failures_as`."""

    value: float
    reward: Reward

    async def __call__(self, task: Task, trajectory: Trajectory) -> Scored:
        given = await score(self.reward, task, trajectory)
        if given.value is None and given.error is None and trajectory.status in TRIED:
            return replace(given, value=self.value)
        return given


def value_of_failure(reward: Reward, status: str) -> float | None:
    """What a rollout is worth that ended before it could be scored where it ran."""
    return reward.value if isinstance(reward, FailuresAs) and status in TRIED else None


def failures_as(value: float, reward: Reward) -> FailuresAs:
    """The same reward, but a rollout that failed, was truncated, timed out or crashed has this
    value where the reward is None. One that was cancelled or skipped is still not known."""
    if not is_number(value) or not abs(value) < float("inf") or not callable(reward):
        raise ConfigError(f"failures_as needs a number and a reward, got {value!r}, {reward!r:.80}")
    return FailuresAs(float(value), reward)
