"""How much better than expected: plain functions on plain arrays. A rollout counts once.

`rewards` holds one number for each rollout and `groups` the label of its group. An advantage that
cannot be given is NaN: in a group of one there is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
Groups = Sequence[Hashable]

SAME = 1e-9  # rewards that differ by less are the same


def discounted(rewards: ArrayLike, discount: float) -> Numbers:
    """Of each turn: its reward and, discounted, all that came after it."""
    given = np.asarray(rewards, np.float64)
    returns, later = np.zeros_like(given), 0.0
    for turn in reversed(range(len(given))):
        later = returns[turn] = given[turn] + discount * later
    return returns


def group_mean_baseline(rewards: ArrayLike, groups: Groups) -> Numbers:
    """The reward less the mean of its group (Dr.GRPO)."""
    return _in_each_group(rewards, groups, lambda ours: ours - ours.mean())


def group_normalised(rewards: ArrayLike, groups: Groups, eps: float = 1e-4) -> Numbers:
    """The same in units of the group's standard deviation (GRPO), that of a sample. It favours
    questions that are nearly always, or nearly never, answered well."""
    return _in_each_group(
        rewards, groups, lambda ours: (ours - ours.mean()) / (ours.std(ddof=1) + eps)
    )


def leave_one_out(rewards: ArrayLike, groups: Groups) -> Numbers:
    """The reward less the mean of the others in its group (RLOO)."""
    return _in_each_group(
        rewards, groups, lambda ours: ours - (ours.sum() - ours) / (len(ours) - 1)
    )


def batch_baseline(returns: Sequence[ArrayLike]) -> list[Numbers]:
    """The returns of each rollout's turns, less their mean over the batch (REINFORCE); there, a
    rollout of many turns weighs no more than one of few."""
    arrays = [np.asarray(ours, np.float64) for ours in returns]
    if not arrays:
        return []
    baseline = np.mean([ours.mean() for ours in arrays])
    return [ours - baseline for ours in arrays]


def generalised(
    rewards: ArrayLike, values: ArrayLike, discount: float, decay: float
) -> tuple[Numbers, Numbers]:
    """Generalised advantage estimates over the turns of one rollout (PPO), and what the values
    should have been. After the last turn nothing more is expected."""
    given, expected = np.asarray(rewards, np.float64), np.asarray(values, np.float64)
    advantages, later, after = np.zeros_like(given), 0.0, 0.0
    for turn in reversed(range(len(given))):
        surprise = given[turn] + discount * after - expected[turn]
        later = advantages[turn] = surprise + discount * decay * later
        after = expected[turn]
    return advantages, advantages + expected


def standardised(advantages: Sequence[Numbers], eps: float = 1e-8) -> list[Numbers]:
    """Over all turns of all rollouts: mean 0, standard deviation 1."""
    if not advantages:
        return []
    everything = np.concatenate(advantages)
    return [(ours - everything.mean()) / (everything.std() + eps) for ours in advantages]


def alone(groups: Groups) -> NDArray[np.bool_]:
    """Whether a rollout is the only one of its group."""
    sizes = {group: len(places) for group, places in members(groups).items()}
    return np.array([sizes[group] == 1 for group in groups], np.bool_)


def without_difference(rewards: ArrayLike, groups: Groups) -> NDArray[np.bool_]:
    """Whether all rewards of a rollout's group are the same: there is nothing to learn from."""
    given = np.asarray(rewards, np.float64)
    found = np.zeros(len(given), np.bool_)
    for places in members(groups).values():
        found[places] = np.ptp(given[places]) <= SAME
    return found


def members(groups: Groups) -> dict[Hashable, list[int]]:
    """The places of each group's rollouts."""
    found: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        found.setdefault(group, []).append(place)
    return found


def _in_each_group(
    rewards: ArrayLike, groups: Groups, weigh: Callable[[Numbers], Numbers]
) -> Numbers:
    given = np.asarray(rewards, np.float64)
    if given.shape != (len(groups),):
        raise ValueError(f"{given.size} rewards for {len(groups)} rollouts")
    advantages = np.full(len(given), np.nan)
    for places in members(groups).values():
        if len(places) > 1:
            advantages[places] = weigh(given[places])
    return advantages
