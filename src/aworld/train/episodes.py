"""What one rollout gives for training: its tokens as they were sampled, or why it cannot train."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aworld.core.failure import Status
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError
from aworld.store.records import Rollout
from aworld.train.rows import UNKNOWN, Found, TokenRow, rows_of

CANCELLED = "it was cancelled"
NEVER_RAN = "it never ran"
BAD_REWARD = "its reward is not a finite number below 1e15"
MOST = 1e15  # its square is still a number

ENDINGS = {"cancelled": CANCELLED, "skipped": NEVER_RAN}


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """One rollout. It trains if `why_not` is empty and the algorithm has a use for it."""

    task_id: str
    group_id: str
    sample: int
    reward: float | None
    status: Status
    rows: tuple[TokenRow, ...] = ()
    turn_rewards: tuple[float, ...] = ()  # one for each turn; their sum is the reward
    why_not: str = ""
    run: str = ""  # where it comes from: a task that is run again later is another group
    round: int = 0  # tells groups of the same task apart where `run` does not
    success: bool = False
    seconds: float = 0.0
    returns: tuple[float, ...] | None = None  # one for each turn, once they are computed

    @property
    def group(self) -> tuple[str, str, int]:
        return self.run, self.group_id, self.round

    @property
    def tokens(self) -> int:
        """That were sampled."""
        return sum(int(row.sampled.sum()) for row in self.rows)

    @property
    def longest(self) -> int:
        """Tokens of its longest row, prompt and all."""
        return max(map(len, self.rows), default=0)

    @property
    def turns(self) -> int:
        return 1 + max((int(row.turns.max(initial=UNKNOWN)) for row in self.rows), default=UNKNOWN)

    @property
    def oldest_version(self) -> int | None:
        """Of the policies that sampled it; None where one is not known."""
        oldest = [row.versions[row.sampled].min() for row in self.rows if row.sampled.any()]
        return None if not oldest or min(oldest) == UNKNOWN else int(min(oldest))


def episode_of(
    trajectory: Trajectory, *, run: str = "", agent: str | None = None, model: str | None = None
) -> Episode:
    """agent, model: the path of the agent and the name of the model whose calls are trained on;
    None: all, as long as they are calls of one model."""
    if not isinstance(trajectory, Trajectory):
        raise ConfigError(f"give trajectories or episodes to train on, not {trajectory!r:.80}")
    reward, metadata = trajectory.reward, trajectory.metadata
    found = Found(why_not=ENDINGS.get(trajectory.status, ""))
    if reward is not None and not isinstance(reward, int | float | np.number):
        raise ConfigError(f"the reward of {trajectory.task_id!r:.80} is {reward!r:.80}: no number")
    if not found.why_not and reward is not None and not abs(reward) <= MOST:  # NaN is neither
        found = Found(why_not=BAD_REWARD)
    if not found.why_not:
        found = rows_of(trajectory.steps, agent=agent, model=model)
    return Episode(
        task_id=trajectory.task_id,
        group_id=str(metadata.get("group_id", trajectory.task_id)),
        sample=int(metadata.get("sample_index", 0)),
        reward=None if reward is None else float(reward),
        status=trajectory.status,
        rows=found.rows,
        turn_rewards=() if reward is None else shared_out(reward, found.turn_rewards),
        why_not=found.why_not,
        run=run,
        success=trajectory.success,
        seconds=trajectory.execution_time,
    )


def episode_of_rollout(
    rollout: Rollout, *, run: str = "", agent: str | None = None, model: str | None = None
) -> Episode:
    """From a recorded run, where it may have been scored anew."""
    place = {"group_id": rollout.task.id, "sample_index": rollout.sample}
    trajectory = replace(
        rollout.trajectory,
        task_id=rollout.task.id,
        status=rollout.response.status,
        reward=rollout.reward,
        metadata={**rollout.trajectory.metadata, **place},
    )
    return episode_of(trajectory, run=run, agent=agent, model=model)


def shared_out(reward: float, turn_rewards: Sequence[float | None]) -> tuple[float, ...]:
    """What the turns were given, and at the end what is left of the episode's reward: so nothing
    counts twice where the reward is the sum of what an environment gave for each turn."""
    shares = [0.0 if given is None else float(given) for given in turn_rewards]
    if shares:
        shares[-1] += reward - math.fsum(shares)
    return tuple(shares)
