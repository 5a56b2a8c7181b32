"""Scores the trajectories of a recorded run again, without running anything again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from aworld.config import check_seconds
from aworld.core.failure import ErrorInfo
from aworld.errors import ConfigError
from aworld.rewards.base import Reward, Scored
from aworld.rewards.catalog import name_of, the_reward
from aworld.rewards.scoring import score
from aworld.store.reader import Damage, Run
from aworld.store.writer import RunWriter

AT_ONCE = 32

OnProgress = Callable[[int, int], None]


class Rescored(NamedTuple):
    """What came of it. The scores are in the run, under `name`, if they were recorded."""

    name: str
    scored: int
    unscored: int  # None, for whatever reason
    errors: list[tuple[str, ErrorInfo]]  # by response, where the reward raised
    damage: list[Damage]  # of the run: these records could not be read
    recorded: bool  # not, where no score is known at all: the run keeps those that it has


def rescore(
    run_dir: str | os.PathLike[str],
    reward: Reward | str,
    *,
    name: str | None = None,
    timeout: float | None = None,
    on_progress: OnProgress | None = None,
) -> Rescored:
    """Adds scores to a run that nobody writes to. Those of earlier times are kept.

    From now on they are the run's rewards, until it is scored again or `open_run` is given the name
    of others. `name` is what they are called, `timeout` the seconds for one trajectory, and
    `on_progress(done, all)` is called in between. Where no score at all is known, nothing is
    recorded.
    """
    check_seconds("timeout", timeout, or_none=True)
    function = the_reward(reward)
    if not callable(function):
        raise ConfigError(f"reward must be a function or a name, got {reward!r:.80}")
    name = name or (reward if isinstance(reward, str) else name_of(function))
    if not isinstance(name, str) or not name.isprintable() or "~" in name:
        raise ConfigError(f"{name!r:.80} is no name for scores: use letters, without a ~")
    folder = Path(run_dir)
    writer = RunWriter.open(folder)
    try:
        with Run(folder) as run:
            scoring = _score_all(run, function, timeout, on_progress or _silent)
            with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop in its own
                scores = thread.submit(asyncio.run, scoring).result()
            known = sum(given.value is not None for _, _, given in scores)
            if known:
                given_to = [(slot, given) for slot, _, given in scores]
                writer.add_scoring(name, _spec(reward), given_to)
            damage = run.damage
    finally:
        writer.close()
    errors = [(response_id, given.error) for _, response_id, given in scores if given.error]
    return Rescored(name, known, len(scores) - known, errors, damage, known > 0)


async def _score_all(
    run: Run, reward: Reward, timeout: float | None, on_progress: OnProgress
) -> list[tuple[int, str, Scored]]:
    total = sum(run.counts().values())
    scores: list[tuple[int, str, Scored]] = []
    rollouts = run.rollouts()

    async def one_after_another() -> None:
        for rollout in rollouts:  # shared: each takes the next
            given = await score(reward, rollout.task, rollout.trajectory, timeout=timeout)
            scores.append((rollout.slot, rollout.response.id, given))
            on_progress(len(scores), total)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(one_after_another())
    return sorted(scores, key=lambda entry: entry[0])


def _spec(reward: Any) -> str:
    return reward if isinstance(reward, str) else ""


def _silent(done: int, total: int) -> None:
    pass
