"""The steps of a training: rollouts, rewards, a better model, better rollouts."""

from __future__ import annotations

import copy
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aworld.core.task import Task
from aworld.errors import StoreError, TrainingError
from aworld.evaluation.running import evaluate
from aworld.serve.weight_sync import WeightSync
from aworld.train.binding import in_environment
from aworld.train.buffer import ExperienceBuffer
from aworld.train.checkpoints import checkpoints, put_aside, read_state, save_checkpoint
from aworld.train.collecting import Collector, Group
from aworld.train.config import TrainConfig
from aworld.train.folders import EVALUATIONS, unused
from aworld.train.journal import Journal
from aworld.train.selection import NO_REWARD, SOLVED, select
from aworld.train.tracking import Tracker
from aworld.train.trainer import RLTrainer, StepReport
from aworld.train.verdicts import Verdict, counted

log = logging.getLogger("aworld")


@dataclass
class Exam:
    """The held-out tasks, who takes them, and who marks."""

    tasks: Sequence[Task]
    agent: Any
    reward: Any
    config: TrainConfig

    def take(self, name: str) -> dict[str, float]:
        """Each time it is a run of its own, to be looked at and compared with others."""
        config = self.config
        folder = unused(Path(config.run_dir) / EVALUATIONS / name)
        began = time.perf_counter()
        conf = replace(config.engine, run_dir=folder, seed=config.seed)
        tasks = [copy.copy(task) for task in self.tasks]
        for task in tasks:
            task.agent = in_environment(self.agent, task.agent)
        found = evaluate(tasks, None, self.reward, samples=config.eval_samples, run_conf=conf)
        figures = {"eval_seconds": time.perf_counter() - began}
        if 1 in found.pass_at:
            figures["pass@1"] = found.pass_at[1].mean
        if found.reward is not None:
            figures["eval_reward"] = found.reward.mean
        return figures


@dataclass
class Loop:
    """Goes step by step. Whatever it is given is open, and is closed by whoever opened it."""

    config: TrainConfig
    trainer: RLTrainer
    collector: Collector
    buffer: ExperienceBuffer
    verdicts: Journal
    trackers: Sequence[Tracker]
    exam: Exam | None = None
    weight_sync: WeightSync | None = None  # where a server elsewhere answers
    failure: Callable[[], str] = lambda: ""  # of the policy server, if it is ours
    step: int = 0
    taught_nothing: int = 0  # steps in a row
    _solved: int = field(default=0, init=False)  # of these, the last in which all was solved

    def run(self) -> None:
        config = self.config
        while self.step < config.steps:
            ahead = min(config.max_staleness + 1, config.steps - self.step)
            self.collector.allow(ahead * config.tasks_per_step)
            groups, figures = self._learn()
            self.step += 1
            is_last = self.step == config.steps or self._has_learned
            if self.exam and (is_last or (config.eval_every and not self.step % config.eval_every)):
                figures |= self.examined(f"step-{self.step}")
            self.log(figures)
            due = not self.step % config.checkpoint_every
            if is_last or (due and not self.trainer.skips):  # weights that are spoiled replace none
                self.save()
            if is_last:
                self.collector.allow(0)
            self.collector.finished(len(groups))
            if self._has_learned:
                log.warning(
                    "every task was solved %d steps in a row: there is nothing left to learn",
                    self._solved,
                )
                return

    @property
    def _has_learned(self) -> bool:
        """All there is."""
        return self._solved >= self.config.patience

    def save(self) -> None:
        keep = self.config.keep_checkpoints
        folder = Path(self.config.run_dir)
        try:
            save_checkpoint(folder, self.step, self.trainer, self.collector, keep=keep)
        except StoreError as error:
            raise self._error(str(error)) from error

    def log(self, figures: dict[str, float]) -> None:
        for tracker in self.trackers:
            tracker.log(self.step, figures)

    def examined(self, name: str) -> dict[str, float]:
        assert self.exam is not None
        figures = self.exam.take(name)
        self._check_server()  # what nobody answered says nothing of the model
        return figures

    def _learn(self) -> tuple[list[Group], dict[str, float]]:
        began = time.perf_counter()
        groups = self._gather()
        waited = time.perf_counter() - began
        version = self.trainer.policy.version
        try:
            report = self.trainer.learn([episode for group in groups for episode in group])
        except TrainingError as error:
            self._put_aside_spoiled()
            raise self._error(str(error)) from None
        trained = time.perf_counter() - began - waited
        if self.weight_sync is not None and self.trainer.policy.version != version:
            self.weight_sync.send(self.trainer.policy)
        self.buffer.advance(self.trainer.policy.version)
        self._note([*report.selection.verdicts, *self.buffer.dropped()])
        failures, worked = self.collector.news()
        self._check(groups, report, failures)
        seconds = time.perf_counter() - began
        tokens = sum(verdict.tokens for verdict in report.selection.verdicts)
        return groups, {
            "loss": report.loss,
            **report.figures,
            "version": self.trainer.policy.version,
            "seconds": seconds,
            "wait_seconds": waited,
            "train_seconds": trained,
            **worked,
            "tokens_per_second": tokens / seconds,
        }

    def _put_aside_spoiled(self) -> None:
        """What was saved after the last gradient that was finite may be what spoils all others."""
        skips = self.trainer.skips
        saved = checkpoints(Path(self.config.run_dir))
        if skips and len(saved) > 1 and read_state(saved[-1])["step"] > self.step - skips:
            kept = put_aside(saved[-1], "spoiled")
            log.warning("the checkpoint %s may be spoiled: it is kept as %s", saved[-1].name, kept)

    def _gather(self) -> list[Group]:
        """The groups of a step; where groups that teach nothing are to be replaced, by others."""
        wanted = self.config.tasks_per_step
        groups = self.collector.take(wanted, self._check_server)
        for _ in range(self.config.refills):
            useful = [group for group in groups if self._teaches(group)]
            if len(useful) == wanted:
                break
            self.collector.finished(wanted - len(useful))
            groups = useful + self.collector.take(wanted - len(useful), self._check_server)
        return groups

    def _teaches(self, group: Group) -> bool:
        version = self.trainer.policy.version
        selection = select(group, self.trainer.algorithm, version=version)
        if not selection.episodes:
            self._note(selection.verdicts)
        return bool(selection.episodes)

    def _note(self, verdicts: Sequence[Verdict]) -> None:
        self.verdicts.write(self.step + 1, (verdict.to_dict() for verdict in verdicts))

    def _check(self, groups: list[Group], report: StepReport, failures: Counter[str]) -> None:
        """Stops where going on has no sense."""
        count = sum(map(len, groups))
        worst = counted(failures, 3)
        if not any(episode.rows for group in groups for episode in group):
            reasons = worst or counted(report.selection.counts)
            raise self._error(
                f"none of the {count} rollouts of this step sampled a token: {reasons}"
            )
        if report.selection.counts.get(NO_REWARD) == count:
            raise self._error(
                f"the reward is None for all {count} rollouts of this step; what they said most: "
                f"{worst or 'nothing'}. It must give a number for most of them, "
                "failures_as(0.0, reward) gives one to those that failed; score what is recorded "
                "by `aworld rescore`, then resume"
            )
        self.taught_nothing = 0 if report.selection.episodes else self.taught_nothing + 1
        rewards = [episode.reward for group in groups for episode in group]
        solved = all(reward is not None and reward >= SOLVED for reward in rewards)
        self._solved = self._solved + 1 if solved and self.taught_nothing else 0
        if self.taught_nothing >= self.config.patience and not self._has_learned:
            raise self._error(
                f"{self.taught_nothing} steps in a row taught nothing: {report.skipped}. The tasks "
                "are too hard or too easy: warm up by imitation, or choose others"
            )

    def _check_server(self) -> None:
        if failure := self.failure():
            raise self._error(f"the policy server has broken down: {failure}")

    def _error(self, message: str) -> TrainingError:
        saved = checkpoints(Path(self.config.run_dir))
        last = f"; the last checkpoint is {saved[-1]}" if saved else ""
        return TrainingError(f"step {self.step + 1}: {message}{last}")
