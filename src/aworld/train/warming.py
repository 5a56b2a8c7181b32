"""Imitation before the first reward: a small model must be shown what a reward looks like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aworld.errors import TrainingError
from aworld.policies.base import Policy
from aworld.train.collecting import Collector
from aworld.train.config import TrainConfig
from aworld.train.episodes import Episode
from aworld.train.trainer import RLTrainer


def imitate(policy: Policy, episodes: Sequence[Episode], config: TrainConfig) -> float:
    """Trains on these, some at random each time; the last loss."""
    settings = config.warm_up
    trainer = RLTrainer(
        policy,
        settings.learning_rate,
        algorithm="sft",
        settings={"least_reward": None},
        token_budget=config.token_budget,
        gradient_clip=config.gradient_clip or None,
    )
    draw = np.random.default_rng(config.seed)
    loss = 0.0
    for _ in range(settings.steps):
        count = min(settings.batch, len(episodes))
        chosen = draw.choice(len(episodes), count, replace=False)
        loss = trainer.train_step([episodes[place] for place in chosen])
    return loss


def own_successes(collector: Collector, config: TrainConfig) -> list[Episode]:
    """What the model did well by itself."""
    wanted = config.warm_up
    collector.allow(config.tasks_per_step)
    found: list[Episode] = []
    for _ in range(wanted.rounds):
        groups = collector.take(config.tasks_per_step)
        episodes = [episode for group in groups for episode in group if not episode.why_not]
        found += [e for e in episodes if e.reward is not None and e.reward >= wanted.least_reward]
        collector.finished(len(groups))
    collector.allow(0)
    if not found:
        raise TrainingError(
            f"there is nothing to imitate: no rollout had a reward of {wanted.least_reward:g}; "
            "give demonstrations, more warm_up.rounds, or show an example in the prompt"
        )
    return found
