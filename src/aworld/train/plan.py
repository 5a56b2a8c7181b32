"""A training as it was asked for, and how the loop is opened that carries it out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aworld.core.task import Task
from aworld.policies.base import Policy
from aworld.rewards.base import Reward
from aworld.serve.weight_sync import WeightSync
from aworld.train import parts
from aworld.train.beginnings import check_changes, facts_of
from aworld.train.binding import Served, with_model
from aworld.train.checkpoints import read_state, restore
from aworld.train.choosing import TaskChooser
from aworld.train.collecting import Collector
from aworld.train.config import TrainConfig
from aworld.train.earlier import Slots
from aworld.train.loop import Exam, Loop
from aworld.train.tracking import Tracker
from aworld.train.trainer import RLTrainer
from aworld.train.warming import Lessons, warm_up

REFERENCE = "reference"


@dataclass(frozen=True)
class Plan:
    agent: Any
    tasks: Sequence[Task]
    reward: Reward | str
    config: TrainConfig
    policy: Policy
    held_out: Sequence[Task] | None
    lessons: Lessons
    trackers: Iterable[Tracker]
    weight_sync: WeightSync | None
    resume: bool

    def open(self, stack: ExitStack) -> Loop:
        """A loop that is ready to run: all is checked and open, and the model is warm."""
        config, policy, folder = self.config, self.policy, Path(self.config.run_dir)
        lock = parts.claim(stack, folder)
        place = parts.last_checkpoint(folder, self.resume)
        state = None if place is None else read_state(place)
        facts = facts_of(config, self.tasks, self.reward)
        if state is not None:
            check_changes(folder, facts)
        told, verdicts = parts.open_journals(stack, folder, facts, self.trackers, state)
        served = parts.open_server(stack, policy, config, self.weight_sync)
        exam = self._exam(served)
        player = with_model(self.agent, served.model(config.temperature))
        chooser = TaskChooser(self.tasks, player, seed=config.seed, curriculum=config.curriculum)
        buffer = parts.empty_buffer(config, policy, self.weight_sync)
        received = Slots() if self.resume else None
        trainer: RLTrainer | None = None
        if place is not None and state is not None:
            trainer = parts.open_trainer(policy, config, folder / REFERENCE)
            buffer = restore(place, state, trainer)
            chooser.restore(state["data"]["chooser"])
            received = Slots(**state["data"]["received"])
        rollouts = config.rollouts(self.reward)
        collector = Collector(rollouts, chooser, buffer, lock=lock, received=received)
        stack.callback(collector.close)
        if trainer is None:
            if config.warm_up.steps:
                self._warm_up(served, exam, told)
            trainer = parts.open_trainer(policy, config, folder / REFERENCE)
        if self.weight_sync is not None:
            self.weight_sync.send(policy)
        buffer.advance(policy.version)
        opened = (trainer, collector, buffer, verdicts, told, exam, self.weight_sync)
        loop = Loop(config, *opened, served.failure)
        if state is not None:
            loop.step = state["step"]
            return loop
        if exam is not None:
            loop.log(loop.examined("step-0"))
        loop.save()
        return loop

    def _exam(self, served: Served) -> Exam | None:
        if self.held_out is None:
            return None
        examinee = with_model(self.agent, served.model(self.config.eval_temperature))
        return Exam(self.held_out, examinee, self.reward, self.config)

    def _warm_up(self, served: Served, exam: Exam | None, trackers: Sequence[Tracker]) -> None:
        before = {} if exam is None else exam.take("start")
        pupil = with_model(self.agent, served.model(self.config.warm_up.temperature))
        figures = warm_up(self.policy, pupil, self.tasks, self.reward, self.config, self.lessons)
        figures |= {f"start_{name}": value for name, value in before.items()}
        for tracker in trackers:
            tracker.log(0, figures)
