"""Imitation before the first reward: a small model must be shown what a reward looks like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from aworld.agents.playing import Player
from aworld.core.task import Task, TaskResponse
from aworld.errors import ConfigError, TrainingError
from aworld.exports.conversations import conversations
from aworld.policies.base import Policy
from aworld.policies.messages import Message
from aworld.runner import Runners
from aworld.train.binding import tools_of
from aworld.train.choosing import TaskChooser
from aworld.train.collecting import problem_of, trajectory_of
from aworld.train.config import TrainConfig
from aworld.train.demonstrations import Conversation, episodes_of
from aworld.train.episodes import Episode, episode_of
from aworld.train.folders import unused
from aworld.train.trainer import RLTrainer
from aworld.train.verdicts import counted

FOLDER = "warm_up"


@dataclass(frozen=True)
class Lessons:
    """What is imitated: demonstrations; without any, what the model itself does well, with worked
    examples before each question if there are some. These it must then do without."""

    demonstrations: Sequence[Conversation | Episode] = ()
    worked_examples: Sequence[Message] = field(default_factory=list)

    def check(self, config: TrainConfig) -> None:
        for name in ("demonstrations", "worked_examples"):
            if getattr(self, name) and not config.warm_up.steps:
                raise ConfigError(f"there are {name}, and warm_up.steps is 0: say how many")
        if self.demonstrations and self.worked_examples:
            raise ConfigError("demonstrations are imitated as they are: leave out worked_examples")
        for message in self.worked_examples:
            if not isinstance(message, dict) or "role" not in message:
                raise ConfigError(
                    f"worked_examples are messages, {{'role': ...}}, got {message!r:.80}"
                )


def warm_up(
    policy: Policy,
    agent: Any,
    tasks: Sequence[Task],
    reward: Any,
    config: TrainConfig,
    lessons: Lessons,
) -> dict[str, float]:
    """How it went. agent: as it is to be, at the temperature of the warm-up."""
    if lessons.demonstrations:
        episodes = episodes_of(policy, lessons.demonstrations, tools_of(agent))
    else:
        episodes = _own_successes(policy, agent, tasks, reward, config, lessons.worked_examples)
    return {"imitated": len(episodes), "imitation_loss": imitate(policy, episodes, config)}


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
        precision=config.precision,
    )
    draw = np.random.default_rng(config.seed)
    loss = 0.0
    for _ in range(settings.steps):
        count = min(settings.batch, len(episodes))
        chosen = draw.choice(len(episodes), count, replace=False)
        loss = trainer.train_step([episodes[place] for place in chosen])
    return loss


def _own_successes(
    policy: Policy,
    agent: Any,
    tasks: Sequence[Task],
    reward: Any,
    config: TrainConfig,
    examples: Sequence[Message],
) -> list[Episode]:
    """A run of its own, in the training's folder."""
    wanted = config.warm_up
    found: list[Episode] = []
    problems: Counter[str] = Counter()
    for response in _responses(agent, tasks, reward, config, examples):
        if response.reward is not None and response.reward >= wanted.least_reward:
            found += _episodes(policy, response, examples)
        elif problem := problem_of(response):
            problems[problem] += 1
    if not found:
        worst = f"; {counted(problems, 2)}" if problems else ""
        raise TrainingError(
            f"there is nothing to imitate: no rollout had a reward of {wanted.least_reward:g}; "
            f"give demonstrations, worked_examples or more warm_up.rounds{worst}"
        )
    return found


def _responses(
    agent: Any,
    tasks: Sequence[Task],
    reward: Any,
    config: TrainConfig,
    examples: Sequence[Message],
) -> Iterator[TaskResponse]:
    chooser = TaskChooser(tasks, agent, seed=config.seed, curriculum=False)
    chosen = [chooser.next() for _ in range(config.warm_up.rounds * config.tasks_per_step)]
    if examples and any(isinstance(task.agent, Player) for task in chosen):
        raise ConfigError("worked_examples are for questions, an environment has none")
    for task in chosen if examples else ():
        asked = task.input if isinstance(task.input, str) else str(task.input)
        task.input = [*examples, {"role": "user", "content": asked}]
    folder = unused(Path(config.run_dir) / FOLDER)
    yield from Runners.stream_tasks(chosen, replace(config.rollouts(reward), run_dir=folder))


def _episodes(policy: Policy, response: TaskResponse, examples: Sequence[Message]) -> list[Episode]:
    trajectory = trajectory_of(response)
    if not examples:
        episode = episode_of(trajectory, model=policy.name)
        return [] if episode.why_not else [episode]
    without: list[Conversation] = []
    for conversation in conversations(trajectory.steps):
        first = conversation.given - 1 - len(examples)  # what the system says comes before
        messages = [*conversation.messages]
        del messages[first : first + len(examples)]
        without.append({"messages": messages, "tools": conversation.tools})
    return episodes_of(policy, without)
