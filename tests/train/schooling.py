"""A small school: a tiny model, tasks of one call each, and a reward that it can learn to earn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aworld import RunConfig, Task
from aworld.policies import ByteConfig, BytePolicy
from aworld.train import Episode, TrainConfig, train
from aworld.train.rows import TokenRow

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
REWARDS = [1.0, 0.0, 0.0, 1.0, 0.0, 0.5, 1.0, 0.0]  # of two groups of four


def tiny_policy(seed: int = 0) -> BytePolicy:
    return BytePolicy(
        ByteConfig(width=32, layers=1, heads=2, inner=64, context_tokens=64), seed=seed
    )


def tasks() -> list[Task]:
    return [Task(word, id=word, ground_truth=word) for word in WORDS]


class Answering:
    """Asks the model once, and gives its answer, cut or not."""

    name = "answering"

    def __init__(self, model: Any):
        self.model = model

    async def async_policy(self, observation: Any, info: Any = None, **_: Any) -> Any:
        from aworld import ActionModel
        from aworld.core.context import current_task
        from aworld.models.base import ModelRequest

        request = ModelRequest([{"role": "user", "content": observation.content}])
        reply, record = await self.model.ask(request)
        current_task().record({"action": reply.message, "model_call": record})
        return [ActionModel(policy_info=reply.text, agent_name=self.name)]


class Deciding(Answering):
    """The same, in a conversation that goes on."""

    async def async_policy(self, observation: Any, info: Any = None, **_: Any) -> Any:
        from aworld import ActionModel
        from aworld.core.context import current_task
        from aworld.models.base import ModelRequest

        reply, record = await self.model.ask(ModelRequest(list(observation.content)))
        current_task().record({"action": reply.message, "model_call": record})
        return [ActionModel(policy_info=reply.text, agent_name=self.name)]


class LowGame:
    """Two turns, each rewarded with the share of what was said that is below 64."""

    action_space = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.turns = 0
        return f"{seed}", {}

    def step(self, action: str) -> Any:
        self.turns += 1
        said = action.encode()
        low = sum(byte < 64 for byte in said) / max(len(said), 1)
        return "on", low, self.turns == 2, False, {}


def low_bytes(task: Task, trajectory: Any) -> float:
    """The share of its tokens that are below 64: about a quarter by chance."""
    ids = trajectory.steps[0]["model_call"]["completion_ids"]
    return sum(token < 64 for token in ids) / len(ids)


def school(folder: Path, **settings: Any) -> TrainConfig:
    usual: dict[str, Any] = {
        "run_dir": folder,
        "algorithm": "grpo",
        "steps": 3,
        "tasks_per_step": 4,
        "samples": 4,
        "learning_rate": 3e-3,
        "reply_tokens": 6,
        "seed": 7,
        "engine": RunConfig(worker_num=1, tasks_per_worker=16, timeout=60),
    }
    return TrainConfig(**(usual | settings))


def sampled_episodes(
    policy: BytePolicy, rewards: Sequence[float | None], *, group_size: int = 4, length: int = 8
) -> list[Episode]:
    """Rollouts with the log-probabilities that the policy has for them."""
    draw = np.random.default_rng(1)
    episodes: list[Episode] = []
    for number, reward in enumerate(rewards):
        prompt, reply = draw.integers(0, 250, 5).tolist(), draw.integers(0, 250, length).tolist()
        ids = torch.tensor([prompt + reply])
        with torch.no_grad():
            known = policy.logprobs(ids)[0, len(prompt) - 1 :].tolist()
        row = TokenRow.of(prompt, reply, known, version=policy.version)
        group = f"task {number // group_size}"
        turns = () if reward is None else (reward,)
        episodes.append(
            Episode(group, group, number, reward, "success", (row,), turn_rewards=turns)
        )
    return episodes


class Told:
    """A tracker that remembers, and calls back."""

    def __init__(self, then: Callable[[int, dict[str, float]], None] | None = None):
        self.lines: list[tuple[int, dict[str, float]]] = []
        self.then = then

    def log(self, step: int, figures: Any) -> None:
        self.lines.append((step, dict(figures)))
        if self.then is not None:
            self.then(step, dict(figures))

    def close(self) -> None:
        pass

    def of(self, name: str) -> list[float]:
        return [figures[name] for _, figures in self.lines if name in figures]


def go(folder, reward=low_bytes, agent=Answering, policy=None, **settings):
    """A training in `folder`; what `train` itself takes is taken out of the settings."""
    own = ("held_out", "demonstrations", "worked_examples", "trackers", "resume", "weight_sync")
    given = {name: settings.pop(name) for name in own if name in settings}
    policy = policy or tiny_policy()
    return train(agent, tasks(), reward, school(folder, **settings), policy=policy, **given)
