"""What training is asked to be: frozen, checked when it is made, unknown keys refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from aworld.config import KnownKeysOnly, RunConfig, check_count, check_switch
from aworld.errors import ConfigError, unknown_name
from aworld.train.algorithms import Recipe, open_algorithm
from aworld.train.algorithms.settings import (
    GroupSettings,
    check_choice,
    check_number,
    check_numbers,
)
from aworld.train.precision import Precision
from aworld.train.schedules import Schedule
from aworld.train.tracking import TRACKERS

SET_BY_TRAINING = ("samples", "reward", "run_dir", "seed", "sequence_dependent")
HOTTEST = 100  # the policy server samples no hotter
NO_BUDGETS = ("max_cost", "max_tokens")  # a step would wait for rollouts that are never begun


@dataclass(frozen=True)
class WarmUp(KnownKeysOnly):
    """Imitation before the first reward: of demonstrations, or else of the model's own successes.

    steps           how many updates; 0: none
    batch           how many demonstrations for each, at random
    rounds          without demonstrations: how often all tasks of a step are run to find successes
    temperature     of the sampling there
    least_reward    what such a rollout must have to be imitated
    learning_rate   of these updates
    """

    steps: int = 0
    batch: int = 16
    rounds: int = 1
    temperature: float = 1.0
    least_reward: float = 1.0
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        check_count("warm_up.steps", self.steps, least=0)
        check_count("warm_up.batch", self.batch, least=1)
        check_count("warm_up.rounds", self.rounds, least=1)
        check_number("warm_up.learning_rate", self.learning_rate)
        check_number("warm_up.temperature", self.temperature, most=HOTTEST)
        check_number("warm_up.least_reward", self.least_reward, least=-1e9)


@dataclass(frozen=True)
class TrainConfig(KnownKeysOnly):
    """How an agent's model is trained. In TOML, `settings`, `warm_up` and `engine` are tables.

    run_dir             a folder for rollouts, metrics, verdicts, evaluations and checkpoints
    algorithm           a name in aworld.train.ALGORITHMS, or a Recipe; `settings` are what it can
                        be told
    steps               how many batches are trained on
    tasks_per_step      how many tasks a batch has
    samples             how often each of them is run, as a group
    refills             how often a step goes on sampling when groups teach nothing (DAPO)
    max_staleness       0: rollouts wait for the weights, each batch is on-policy; n: they go on,
                        with weights that are at most n steps old when they are trained on
    learning_rate       of AdamW, with `weight_decay`
    schedule            'constant', 'linear' or 'cosine', after `warm_up_steps` of growing
    updates_per_batch   into how many parts a batch is split, with an update on each; at most one
                        for each of its groups
    token_budget        how many tokens, padding included, go through the model at once
    gradient_clip       the longest gradient; 0: as long as it is
    precision           'bf16': forward passes in bfloat16; 'float32': as the model is; None: as
                        `accelerate launch --mixed_precision` says
    temperature         of the sampling; `reply_tokens` is the longest reply
    reference           a saved model that `settings.kl` keeps near; None: that which RL began with
    curriculum          choose tasks by success rate, instead of all in turn
    checkpoint_every    so many steps; `keep_checkpoints` of them are kept
    eval_every          so many steps, on the held-out tasks: at `eval_temperature` (0: greedy),
                        `eval_samples` times each; 0: before and after only
    patience            how many steps in a row may teach nothing before training stops
    seed                of tasks and sampling
    trackers            beside metrics.jsonl: 'tensorboard', 'wandb', 'mlflow'
    host                where the policy server listens; '0.0.0.0' for workers on other machines
    warm_up             imitation first, see WarmUp
    engine              where rollouts run, a RunConfig
    """

    run_dir: str | os.PathLike[str] = ""
    algorithm: str | Recipe = "grpo"
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 100
    tasks_per_step: int = 32
    samples: int = 8
    refills: int = 0
    max_staleness: int = 0
    learning_rate: float = 1e-5
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    warm_up_steps: int = 0
    updates_per_batch: int = 1
    token_budget: int = 16_384
    gradient_clip: float = 1.0
    precision: Precision | None = None
    temperature: float = 1.0
    reply_tokens: int | None = None
    reference: str | None = None
    curriculum: bool = False
    checkpoint_every: int = 10
    keep_checkpoints: int = 2
    eval_every: int = 0
    eval_temperature: float = 0.0
    eval_samples: int = 1
    patience: int = 10
    seed: int = 0
    trackers: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    warm_up: WarmUp = field(default_factory=WarmUp)
    engine: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        if not isinstance(self.run_dir, (str, os.PathLike)) or not os.fspath(self.run_dir):
            raise ConfigError("run_dir is missing: name a folder that the training is kept in")
        algorithm = open_algorithm(self.algorithm, **self.settings)
        if self.samples == 1 and isinstance(algorithm.settings, GroupSettings):
            raise ConfigError(f"{algorithm.name} compares the samples of a task: samples=2 or more")
        if self.refills and algorithm.needs_values:
            raise ConfigError(f"refills are for algorithms with groups, not for {algorithm.name}")
        for name in ("steps", "tasks_per_step", "samples", "updates_per_batch", "token_budget"):
            check_count(name, getattr(self, name), least=1)
        for name in ("checkpoint_every", "keep_checkpoints", "eval_samples", "patience"):
            check_count(name, getattr(self, name), least=1)
        for name in ("refills", "max_staleness", "warm_up_steps", "eval_every"):
            check_count(name, getattr(self, name), least=0)
        check_numbers(self, "learning_rate", "weight_decay", "gradient_clip")
        check_number("temperature", self.temperature, least=1e-3, most=HOTTEST)
        check_number("eval_temperature", self.eval_temperature, most=HOTTEST)
        if self.reply_tokens is not None:
            check_count("reply_tokens", self.reply_tokens, least=1)
        check_choice("schedule", self.schedule, get_args(Schedule))
        if self.precision is not None:
            check_choice("precision", self.precision, get_args(Precision))
        check_count("seed", self.seed, least=0)
        check_switch("curriculum", self.curriculum)
        for kind, name in ((WarmUp, "warm_up"), (RunConfig, "engine")):
            given = getattr(self, name)
            if isinstance(given, Mapping):
                object.__setattr__(self, name, kind(**given))
            elif not isinstance(given, kind):
                raise ConfigError(f"{name} must be a {kind.__name__}, got {given!r:.80}")
        object.__setattr__(self, "trackers", tuple(self.trackers))
        for name in self.trackers:
            if name not in TRACKERS:
                raise ConfigError(unknown_name("tracker", str(name), TRACKERS))
        self._check_engine()

    def check_room(self, context_tokens: int) -> None:
        """Of a model with so many tokens: a reply must leave some for the question."""
        if self.reply_tokens is not None and self.reply_tokens >= context_tokens:
            raise ConfigError(
                f"reply_tokens={self.reply_tokens} leaves no room for a question: the model has a "
                f"context of {context_tokens} tokens"
            )

    def _check_engine(self) -> None:
        untouched = RunConfig()
        for name in SET_BY_TRAINING:
            if getattr(self.engine, name) != getattr(untouched, name):
                raise ConfigError(f"engine.{name} cannot be set: training sees to it itself")
        for name in NO_BUDGETS:
            if getattr(self.engine, name) is not None:
                raise ConfigError(f"engine.{name} cannot be set: `steps` says how long it goes on")

    def rollouts(self, reward: Any) -> RunConfig:
        """How the training's own rollouts are run."""
        return replace(
            self.engine,
            samples=self.samples,
            reward=reward,
            run_dir=self.run_dir,
            seed=self.seed,
        )


def as_data(config: Any) -> dict[str, Any]:
    """What can be said of a config in TOML."""
    from aworld.store.folder import config_as_data

    values = {one.name: getattr(config, one.name) for one in fields(config)}
    values["run_dir"] = os.fspath(config.run_dir)
    values["algorithm"] = open_algorithm(config.algorithm, **config.settings).name
    values["settings"] = dict(config.settings)
    values["warm_up"] = {one.name: getattr(config.warm_up, one.name) for one in fields(WarmUp)}
    values["engine"] = config_as_data(config.engine)
    return values
