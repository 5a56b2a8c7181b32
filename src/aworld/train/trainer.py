"""`RLTrainer`: makes a model better from what it did."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import torch

from aworld.config import check_count
from aworld.core.trajectory import Trajectory
from aworld.errors import ConfigError, TrainingError
from aworld.policies.base import Policy
from aworld.policies.messages import Tools
from aworld.train.advantages import members
from aworld.train.algorithms import Algorithm, Credit, Recipe, open_algorithm
from aworld.train.algorithms.settings import check_number
from aworld.train.batches import batch_of
from aworld.train.demonstrations import Conversation, episodes_of
from aworld.train.episodes import Episode, episode_of
from aworld.train.memory import is_out_of_memory
from aworld.train.precision import Precision, chosen_precision
from aworld.train.selection import Selection, select, without
from aworld.train.updates import Updates
from aworld.train.values import ValueHead
from aworld.train.verdicts import counted

log = logging.getLogger("aworld")
Found = TypeVar("Found")

NOT_FINITE = "the gradient is not finite: it is skipped"
MOST_SKIPS = 5  # in a row


@dataclass(frozen=True)
class StepReport:
    """What came of one batch."""

    loss: float
    figures: dict[str, float]
    selection: Selection
    skipped: str = ""  # why not all of it has moved the weights, if so


class RLTrainer:
    """Trains the weights of `agent_model` in place; whoever serves it pauses while they move.

    agent_model        a Policy, as `aworld.policies.open_policy` gives it
    learning_rate      of AdamW; `rate(step)` gives the share of it that an update has
    algorithm          its name or a Recipe; `settings` are what it can be told
    updates_per_batch  into how many parts the groups of a batch are split, with an update on each;
                       of fewer groups, there is one for each
    token_budget       how many tokens, padding included, go through the model at once
    gradient_clip      the longest gradient; None: as long as it is
    reference          the model that `kl` keeps it close to; None: as it is now
    precision          'bf16': matrix products in bfloat16; 'float32': as the model is; None: as
                       `accelerate launch --mixed_precision` says
    """

    def __init__(
        self,
        agent_model: Policy,
        learning_rate: float = 1e-5,
        *,
        algorithm: str | Recipe = "reinforce",
        settings: Mapping[str, Any] | None = None,
        updates_per_batch: int = 1,
        token_budget: int = 16_384,
        gradient_clip: float | None = 1.0,
        weight_decay: float = 0.0,
        rate: Callable[[int], float] = lambda step: 1.0,
        reference: Policy | None = None,
        precision: Precision | None = None,
    ):
        if not isinstance(agent_model, Policy):
            raise ConfigError(
                f"agent_model must be a Policy, got {type(agent_model).__name__}: open one with "
                "aworld.policies.open_policy, or wrap a model as HFPolicy(model, tokenizer)"
            )
        check_number("learning_rate", learning_rate)
        check_count("updates_per_batch", updates_per_batch, least=1)
        check_count("token_budget", token_budget, least=1)
        self.policy = agent_model
        self.learning_rate = learning_rate
        self.algorithm = open_algorithm(algorithm, **(settings or {}))
        self.updates_per_batch = updates_per_batch
        self.token_budget = token_budget
        self.rate = rate
        self.steps = 0  # batches that moved the weights
        self.value_head = _value_head(agent_model) if self.algorithm.needs_values else None
        self.reference = reference
        if reference is None and getattr(self.algorithm.settings, "kl", 0.0):
            self.reference = agent_model.frozen_copy()
        self.updates = Updates(
            agent_model,
            self.value_head,
            self.reference,
            weight_decay=weight_decay,
            clip=gradient_clip,
            precision=chosen_precision(precision),
        )
        self._imitation = open_algorithm("sft", least_reward=None)
        self.skips = 0  # gradients in a row that were not finite
        self._has_halved = False
        self._told_of_few = False

    def train_step(self, batch: Sequence[Trajectory | Episode]) -> float:
        """One step on a batch of rollouts; the loss. 0 where none of them trains."""
        return self.learn(batch).loss

    def sft_step(
        self, demonstrations: Sequence[Conversation | Episode], tools: Tools | None = None
    ) -> float:
        """One step towards doing as these do; the loss. `tools` are for those that name none."""
        episodes = episodes_of(self.policy, demonstrations, tools)
        return self._learn(episodes, self._imitation).loss

    def learn(self, batch: Sequence[Trajectory | Episode]) -> StepReport:
        """One step, and all that there is to say of it."""
        episodes = [one if isinstance(one, Episode) else episode_of(one) for one in batch]
        self._tell_of_few(len({episode.group for episode in episodes}))
        return self._learn(episodes, self.algorithm)

    def _learn(self, episodes: list[Episode], algorithm: Algorithm) -> StepReport:
        values = None
        if algorithm.needs_values:
            values = self._with_room(lambda budget: self.updates.values(episodes, budget))
        selection = select(episodes, algorithm, version=self.policy.version, values=values)
        if not selection.episodes:
            why = f"nothing to train on: {counted(selection.counts)}"
            return StepReport(0.0, selection.figures, selection, why)
        parts = split_by_group(selection, self.updates_per_batch)
        batches = [batch_of(*part) for part in parts]
        refers = self.reference is not None and algorithm is not self._imitation
        rate = self.learning_rate * self.rate(self.steps)
        made = self._with_room(
            lambda budget: self.updates.make(batches, budget, algorithm, rate, refers)
        )
        updates = int(made.pop("updates"))
        skipped = "" if updates == len(parts) else self._skip()
        self.skips = self.skips if skipped else 0
        self.steps += updates > 0
        if skipped:
            lost = {id(episode) for part, _ in parts[updates:] for episode in part}
            selection = without(selection, [id(one) in lost for one in episodes], skipped)
        return StepReport(made["loss"], {**selection.figures, **made}, selection, skipped)

    def _tell_of_few(self, groups: int) -> None:
        """Groups that are given: that some of them teach nothing is normal, and in the figures."""
        if 0 < groups < self.updates_per_batch and not self._told_of_few:
            self._told_of_few = True
            log.warning(
                "updates_per_batch=%d, but this batch has fewer groups (%d): there is at most one "
                "update for each. Give more tasks at a time (tasks_per_step), or set it lower",
                self.updates_per_batch,
                groups,
            )

    def _skip(self) -> str:
        self.skips += 1
        if self.skips >= MOST_SKIPS:
            raise TrainingError(
                f"the gradient was not finite {MOST_SKIPS} times in a row: lower the learning rate "
                "or the gradient_clip, and go on from the last checkpoint"
            )
        log.warning("%s (%d in a row)", NOT_FINITE, self.skips)
        return NOT_FINITE

    def _with_room(self, work: Callable[[int], Found]) -> Found:
        """Once more with half the tokens at a time, where memory is short."""
        try:
            return work(self.token_budget)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if self._has_halved or self.token_budget < 2:
                raise TrainingError(
                    f"out of memory with token_budget={self.token_budget}: set it lower, or "
                    f"leave out rollouts that are too long (max_length): {error}"
                ) from None
        self._has_halved = True
        self.token_budget //= 2
        log.warning("out of memory: from now on token_budget=%d, half of it", self.token_budget)
        self.updates.descent.clear()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return work(self.token_budget)

    def state_dict(self) -> dict[str, Any]:
        """Weights, optimizer and how far it has come: all that is needed to go on."""
        state = {"steps": self.steps, "token_budget": self.token_budget}
        return {**state, **self.updates.descent.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        with self.policy.updating():
            self.updates.descent.load_state_dict(state)
        self.steps, self.skips = state["steps"], 0
        self.token_budget = min(self.token_budget, state["token_budget"])


def split_by_group(selection: Selection, count: int) -> list[tuple[list[Episode], list[Credit]]]:
    """In so many parts or fewer, of about as many groups each."""
    groups = list(members([episode.group for episode in selection.episodes]).values())
    count = min(count, len(groups))
    bounds = [len(groups) * part // count for part in range(count + 1)]
    chosen = [
        [place for group in groups[start:end] for place in group] for start, end in pairwise(bounds)
    ]
    return [
        ([selection.episodes[n] for n in part], [selection.credits[n] for n in part])
        for part in chosen
    ]


def _value_head(policy: Policy) -> ValueHead:
    with torch.no_grad():
        width = policy.hidden(torch.zeros(1, 1, dtype=torch.long, device=policy.device)).shape[-1]
    return ValueHead(width).to(policy.device)
