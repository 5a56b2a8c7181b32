"""`train`: makes an agent's model better at tasks, by a reward."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.policies.base import Message, Policy
from aworld.rewards.base import Reward
from aworld.rewards.truth import check_truth
from aworld.serve.weight_sync import WeightSync
from aworld.train.beginnings import check_changes, facts_of
from aworld.train.binding import with_model
from aworld.train.checkpoints import checkpoints, read_state, restore
from aworld.train.choosing import TaskChooser
from aworld.train.collecting import Collector
from aworld.train.config import TrainConfig
from aworld.train.demonstrations import Conversation
from aworld.train.earlier import Slots
from aworld.train.episodes import Episode
from aworld.train.journal import METRICS, evaluations_of, read_journal, start_of
from aworld.train.loop import Exam, Loop
from aworld.train.parts import (
    claim,
    empty_buffer,
    last_checkpoint,
    listed_tasks,
    open_journals,
    open_server,
    open_trainer,
)
from aworld.train.team import Alone, help_out, leading, open_team
from aworld.train.tracking import Tracker
from aworld.train.trainer import RLTrainer
from aworld.train.warming import Lessons, warm_up

REFERENCE = "reference"

log = logging.getLogger("aworld")


@dataclass(frozen=True)
class TrainResult:
    """What came of a training; the rest is in its folder."""

    run_dir: Path
    policy: Policy
    steps: int
    history: list[dict[str, float]]  # the figures of each step, as in metrics.jsonl
    checkpoint: Path  # the last one; its `policy` is a model that can be served

    @property
    def start(self) -> float | None:
        """pass@1 before the warm-up, where there was one."""
        return start_of(self.history)

    @property
    def evaluations(self) -> dict[int, float]:
        """pass@1 on the held-out tasks, by step; 0 is before the first."""
        return evaluations_of(self.history)


def train(
    agent: Any,
    tasks: Sequence[Task] | str | Path,
    reward: Reward | str,
    config: TrainConfig,
    *,
    policy: Policy,
    held_out: Sequence[Task] | str | Path | None = None,
    demonstrations: Sequence[Conversation | Episode] = (),
    worked_examples: Sequence[Message] = (),
    trackers: Iterable[Tracker] = (),
    weight_sync: WeightSync | None = None,
    resume: bool = False,
) -> TrainResult:
    """Trains `policy` in place.

    agent           an Agent, which is given the policy as its model, or a function that takes the
                    model and gives an agent of any kind; in tasks of an environment, it plays
    tasks           a list, or what `aworld.sources.load_tasks` takes
    reward          a function of (task, trajectory) or the name of one
    held_out        tasks to be evaluated on, before, after and every `config.eval_every` steps
    demonstrations  {"messages": [...]} to be imitated first, see WarmUp
    worked_examples messages that, in the warm-up only, come before each question: what the model
                    then does well is imitated without them
    trackers        of your own, told the figures of each step
    weight_sync     where a server elsewhere answers, in the place of the policy server of this
                    process: it is sent the weights after every step
    resume          go on from the last checkpoint in `config.run_dir`, if there is one
    """
    if not isinstance(config, TrainConfig):
        raise ConfigError(f"config must be a TrainConfig, got {config!r:.80}")
    if not isinstance(policy, Policy):
        raise ConfigError(f"policy must be a Policy (see open_policy), got {policy!r:.80}")
    if reward is None:
        raise ConfigError("training needs a reward: a function of (task, trajectory), or a name")
    lessons = Lessons(demonstrations, worked_examples)
    lessons.check(config)
    learned, examined = listed_tasks(tasks), None if held_out is None else listed_tasks(held_out)
    check_truth(reward, learned)
    folder = Path(config.run_dir)
    with open_team(policy) as team:
        if not team.leads:
            return _helped(team, policy, config)
        with leading(team) as end, ExitStack() as stack:
            loop = _opened(
                stack,
                agent,
                learned,
                reward,
                config,
                policy=policy,
                examined=examined,
                lessons=lessons,
                trackers=trackers,
                weight_sync=weight_sync,
                resume=resume,
            )
            loop.run()
            if loop.taught_nothing >= loop.step > 0:
                log.warning("no episode of any step has trained: `aworld why %s` says why", folder)
            stack.close()  # what is under way ends before the others are told
            history = list(read_journal(folder / METRICS))
            result = TrainResult(folder, policy, loop.step, history, checkpoints(folder)[-1])
            end.facts = {
                "steps": result.steps,
                "history": history,
                "checkpoint": result.checkpoint,
                "version": policy.version,
            }
        team.spread(policy.parameters())
        return result


def _helped(team: Alone, policy: Policy, config: TrainConfig) -> TrainResult:
    """What the processes do that do not lead; they come to the same end."""
    facts = help_out(team, open_trainer(policy, config).updates.assist)
    policy.version = facts.pop("version")
    team.spread(policy.parameters())
    return TrainResult(Path(config.run_dir), policy, **facts)


def _opened(
    stack: ExitStack,
    agent: Any,
    learned: Sequence[Task],
    reward: Reward | str,
    config: TrainConfig,
    *,
    policy: Policy,
    examined: Sequence[Task] | None,
    lessons: Lessons,
    trackers: Iterable[Tracker],
    weight_sync: WeightSync | None,
    resume: bool,
) -> Loop:
    """A loop that is ready to run: all is checked and open, and the model is warm."""
    folder = Path(config.run_dir)
    lock = claim(stack, folder)
    place = last_checkpoint(folder, resume)
    state = None if place is None else read_state(place)
    facts = facts_of(config, learned, reward)
    if state is not None:
        check_changes(folder, facts)
    told, verdicts = open_journals(stack, folder, facts, trackers, state)
    served = open_server(stack, policy, config, weight_sync)
    playing = with_model(agent, served.model(config.temperature))
    exam = None
    if examined is not None:
        examinee = with_model(agent, served.model(config.eval_temperature))
        exam = Exam(examined, examinee, reward, config)
    chooser = TaskChooser(learned, playing, seed=config.seed, curriculum=config.curriculum)
    trainer: RLTrainer | None = None
    buffer, received = empty_buffer(config, policy, weight_sync), Slots() if resume else None
    if place is not None and state is not None:
        trainer = open_trainer(policy, config, folder / REFERENCE)
        buffer = restore(place, state, trainer)
        chooser.restore(state["data"]["chooser"])
        received = Slots(**state["data"]["received"])
    collector = Collector(config.rollouts(reward), chooser, buffer, lock=lock, received=received)
    stack.callback(collector.close)
    if trainer is None:
        if config.warm_up.steps:
            before = {} if exam is None else exam.take("start")
            pupil = with_model(agent, served.model(config.warm_up.temperature))
            figures = warm_up(policy, pupil, learned, reward, config, lessons)
            figures |= {f"start_{name}": value for name, value in before.items()}
            for tracker in told:
                tracker.log(0, figures)
        trainer = open_trainer(policy, config, folder / REFERENCE)
    if weight_sync is not None:
        weight_sync.send(policy)
    buffer.advance(policy.version)
    loop = Loop(
        config, trainer, collector, buffer, verdicts, told, exam, weight_sync, served.failure
    )
    if state is None:
        if exam is not None:
            loop.log(loop.examined("step-0"))
        loop.save()
    else:
        loop.step = state["step"]
    return loop
