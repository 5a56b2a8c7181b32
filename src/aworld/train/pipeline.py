"""`DistributedTrainingPipeline`: rollouts, experience, a better model, epoch by epoch."""

from __future__ import annotations

import logging
import os
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from aworld.config import RunConfig, check_count, checked_run_conf
from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.rewards.base import Reward
from aworld.train import parts
from aworld.train.beginnings import facts_of
from aworld.train.binding import with_model
from aworld.train.choosing import TaskChooser
from aworld.train.collecting import Collector
from aworld.train.config import TrainConfig
from aworld.train.given import (
    TaskSource,
    agent_of,
    checked_reward,
    checked_tools,
    opened_policy,
    tasks_from,
)
from aworld.train.loop import Loop
from aworld.train.selection import SOLVED
from aworld.train.team import launched_together
from aworld.train.verdicts import Verdict

log = logging.getLogger("aworld")

LEFT_OUT = (  # of what a TrainConfig can say: epochs have no end that is known beforehand
    "steps",
    "max_staleness",
    "schedule",
    "warm_up_steps",
    "warm_up",
    "checkpoint_every",
    "eval_every",
    "eval_temperature",
    "eval_samples",
    "engine",
)


class DistributedTrainingPipeline:
    """Trains a model in place, epoch by epoch; `train` is the same with resuming and evaluation.

    agent_model   a Policy, or what `open_policy` takes; it is served while the pipeline is open
    num_workers   how many worker processes play
    task_dataset  tasks, what `load_tasks` takes, or a function that gives either
    agent         an Agent, which is given the model, or a function from the model to an agent; left
                  out, that of the tasks, or else one with these `tools`
    reward        a function of (task, trajectory) or a name; left out: whether the answer is the
                  ground truth, and where there is none, whether there is an answer
    run_conf      where rollouts run, else local processes
    run_dir       a folder that rollouts, figures and, after each epoch, the model are kept in;
                  left out, nothing is
    settings      further ones of a TrainConfig: algorithm, samples, tasks_per_step, learning_rate,
                  seed, temperature, reply_tokens, ...

    Workers and server start with the first epoch. Use it in a `with` statement, or `close` it: that
    ends them.
    """

    def __init__(
        self,
        agent_model: Policy | str,
        num_workers: int,
        task_dataset: TaskSource,
        *,
        agent: Any = None,
        tools: Iterable[Any] = (),
        reward: Reward | str | None = None,
        run_conf: RunConfig | None = None,
        run_dir: str | os.PathLike[str] | None = None,
        **settings: Any,
    ):
        if launched_together():
            raise ConfigError("the pipeline has one process: for several, call aworld.train.train")
        for name in LEFT_OUT:
            if name in settings:
                raise ConfigError(f"{name} is a setting of aworld.train.train, not of a pipeline")
        engine = _with_workers(run_conf, num_workers)
        self._tools = checked_tools(tools, agent)
        self._reward = checked_reward(reward)
        self._keeps = run_dir is not None
        # the name is not used where nothing is kept
        self.config = TrainConfig(run_dir=run_dir or "unnamed", engine=engine, **settings)
        self.task_dataset = tasks_from(task_dataset)
        self._agent = agent_of(self.task_dataset, agent, self._tools)
        if run_dir is not None:
            parts.last_checkpoint(Path(run_dir), resume=False)
        self.policy = opened_policy(agent_model)
        self.trainer = parts.open_trainer(self.policy, self.config)
        self.experience_buffer = parts.empty_buffer(self.config, self.policy)
        self._stack = ExitStack()
        self._loop: _Epochs | None = None
        self._told_of_few = False
        # one that is forgotten leaves nothing behind, either
        self._end = weakref.finalize(self, self._stack.close)

    def train_epoch(self, tasks_per_epoch: int = 1000) -> dict[str, Any]:
        """Runs so many tasks, `samples` times each, and learns from them after every
        `tasks_per_step`: what was rewarded becomes likelier. No more than there are: an epoch that
        is to have more has as many as the dataset, and that is said, once. What came of it:

        trajectories     how many; `trained`: those that the model learned from
        success_rate     the share with a reward of at least 1; `completed`: that came to an end
        avg_tokens       that the model said in a rollout
        reward, loss     means; None where no reward is known
        steps, version   how often the weights moved in all; the version of the policy by now
        rollout_seconds  spent waiting for rollouts; `train_seconds`: learning; `seconds`: in all
        """
        check_count("tasks_per_epoch", tasks_per_epoch, least=1)
        count = min(tasks_per_epoch, len(self.task_dataset))
        if count < tasks_per_epoch and not self._told_of_few:
            self._told_of_few = True
            log.warning(
                "tasks_per_epoch=%d, but there are fewer tasks (%d): an epoch has as many as there "
                "are. Train for more epochs, or give more tasks",
                tasks_per_epoch,
                count,
            )
        loop = self._open()
        usual = self.config.tasks_per_step
        steps, rest = divmod(count, usual)
        try:
            for size, times in ((usual, steps), (rest, min(rest, 1))):
                loop.go(size, times)
        except BaseException:  # what was under way is lost: there is nothing to go on with
            self.close()
            raise
        return loop.account()

    def close(self) -> None:
        """Ends the workers and the server. The model stays as it is."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _open(self) -> _Epochs:
        if not self._end.alive:
            raise ConfigError("the pipeline was closed: make another one")
        if self._loop is None:
            try:
                self._loop = self._opened(self._stack)
            except BaseException:
                self._stack.close()
                raise
        return self._loop

    def _opened(self, stack: ExitStack) -> _Epochs:
        config = self.config
        if not self._keeps:
            kept = stack.enter_context(tempfile.TemporaryDirectory(prefix="aworld-"))
            config = replace(config, run_dir=Path(kept) / "run")
        folder = Path(config.run_dir)
        lock = parts.claim(stack, folder)
        trackers, verdicts = parts.open_journals(
            stack, folder, facts_of(config, self.task_dataset, self._reward)
        )
        served = parts.open_server(stack, self.policy, config)
        chooser = TaskChooser(
            self.task_dataset,
            with_model(self._agent, served.model(config.temperature)),
            seed=config.seed,
            curriculum=config.curriculum,
        )
        collector = Collector(
            config.rollouts(self._reward), chooser, self.experience_buffer, lock=lock
        )
        stack.callback(collector.close)
        self.experience_buffer.advance(self.policy.version)
        return _Epochs(
            config,
            self.trainer,
            collector,
            self.experience_buffer,
            verdicts,
            trackers,
            failure=served.failure,
            keeps=self._keeps,
        )


@dataclass
class _Epochs(Loop):
    """A loop that is run again and again, and remembers what came of it meanwhile."""

    keeps: bool = False
    heard: list[Verdict] = field(default_factory=list)
    told: list[dict[str, float]] = field(default_factory=list)

    def go(self, size: int, times: int) -> None:
        """So many steps, of so many tasks each."""
        if times:
            self.config = replace(self.config, tasks_per_step=size, steps=self.step + times)
            self.run()

    def save(self) -> None:
        """Only in a folder that stays."""
        if self.keeps:
            super().save()

    def log(self, figures: dict[str, float]) -> None:
        self.told.append(figures)
        super().log(figures)

    def _note(self, verdicts: Sequence[Verdict]) -> None:
        self.heard += verdicts
        super()._note(verdicts)

    def account(self) -> dict[str, Any]:
        """Of all that came since the last one."""
        heard, told = self.heard, self.told
        self.heard, self.told = [], []
        rewards = [one.reward for one in heard if one.reward is not None]
        solved = [one.reward is not None and one.reward >= SOLVED for one in heard]
        return {
            "trajectories": len(heard),
            "success_rate": _mean(solved),
            "avg_tokens": _mean([one.tokens for one in heard]),
            "reward": _mean(rewards) if rewards else None,
            "loss": _mean([figures["loss"] for figures in told]),
            "completed": _mean([one.status == "success" for one in heard]),
            "trained": sum(one.trained for one in heard),
            "steps": self.step,
            "version": self.trainer.policy.version,
            "rollout_seconds": sum(figures["wait_seconds"] for figures in told),
            "train_seconds": sum(figures["train_seconds"] for figures in told),
            "seconds": sum(figures["seconds"] for figures in told),
        }


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers)) if numbers else 0.0


def _with_workers(conf: Any, num_workers: int) -> RunConfig:
    conf = checked_run_conf(conf)
    check_count("num_workers", num_workers, least=0)
    if conf.worker_num not in (None, num_workers):
        raise ConfigError(
            f"num_workers={num_workers} and run_conf.worker_num={conf.worker_num} contradict each "
            "other: give one of them"
        )
    return replace(conf, worker_num=num_workers)
