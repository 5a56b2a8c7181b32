"""`train`: makes an agent's model better at tasks, by a reward."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aworld.core.plain import plain
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.rewards.base import Reward
from aworld.serve.server import PolicyServer
from aworld.store import schema
from aworld.train.binding import model_of, tools_of, with_model
from aworld.train.buffer import ExperienceBuffer
from aworld.train.checkpoints import checkpoints, read_state, restore
from aworld.train.choosing import TaskChooser
from aworld.train.collecting import Collector
from aworld.train.config import TrainConfig, as_data
from aworld.train.demonstrations import Conversation, episodes_of
from aworld.train.earlier import Slots
from aworld.train.episodes import Episode
from aworld.train.journal import METRICS, VERDICTS, Journal, read_journal
from aworld.train.loop import Exam, Loop
from aworld.train.schedules import share_of_rate
from aworld.train.tracking import JsonLines, Tracker, open_trackers
from aworld.train.trainer import RLTrainer
from aworld.train.warming import imitate, own_successes

CONFIG = "train.json"
REFERENCE = "reference"


@dataclass(frozen=True)
class TrainResult:
    """What came of a training; the rest is in its folder."""

    run_dir: Path
    policy: Policy
    steps: int
    history: list[dict[str, float]]  # the figures of each step, as in metrics.jsonl
    checkpoint: Path  # the last one

    @property
    def start(self) -> float | None:
        """pass@1 before the warm-up, where there was one."""
        found = (line["start_pass@1"] for line in self.history if "start_pass@1" in line)
        return next(found, None)

    @property
    def evaluations(self) -> dict[int, float]:
        """pass@1 on the held-out tasks, by step; 0 is before the first."""
        return {int(line["step"]): line["pass@1"] for line in self.history if "pass@1" in line}


def train(
    agent: Any,
    tasks: Sequence[Task] | str | Path,
    reward: Reward | str,
    config: TrainConfig,
    *,
    policy: Policy,
    held_out: Sequence[Task] | str | Path | None = None,
    demonstrations: Sequence[Conversation | Episode] = (),
    trackers: Iterable[Tracker] = (),
    resume: bool = False,
) -> TrainResult:
    """Trains `policy` in place.

    agent           an Agent, which is given the policy as its model, or a function that takes the
                    model and gives an agent of any kind
    tasks           a list, or what `aworld.sources.load_tasks` takes
    reward          a function of (task, trajectory) or the name of one
    held_out        tasks to be evaluated on, before, after and every `config.eval_every` steps
    demonstrations  {"messages": [...]} to be imitated first, see WarmUp
    trackers        of your own, told the figures of each step
    resume          go on from the last checkpoint in `config.run_dir`, if there is one
    """
    if not isinstance(config, TrainConfig):
        raise ConfigError(f"config must be a TrainConfig, got {config!r:.80}")
    if reward is None:
        raise ConfigError("training needs a reward: a function of (task, trajectory), or a name")
    folder = Path(config.run_dir)
    saved = checkpoints(folder)
    if (saved or (folder / schema.FILE).exists()) and not resume:
        raise ConfigError(
            f"{folder} holds a training already: go on with it (resume=True, --resume), or choose "
            "another folder"
        )
    state = read_state(saved[-1]) if saved else None
    after = None if state is None else int(state["step"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(json.dumps(plain(as_data(config)), indent=2) + "\n", "utf-8")
    with ExitStack() as stack:
        told: list[Tracker] = [
            JsonLines(folder, after=after),
            *open_trackers(config.trackers, folder, as_data(config)),
            *trackers,
        ]
        for tracker in told:
            stack.callback(tracker.close)
        verdicts = Journal(folder / VERDICTS, after=after)
        stack.callback(verdicts.close)
        server = stack.enter_context(PolicyServer(policy, host=config.host))
        playing, exam = _cast(agent, server, config, held_out, reward)
        chooser = TaskChooser(
            _listed(tasks), playing, seed=config.seed, curriculum=config.curriculum
        )
        trainer: RLTrainer | None = None
        buffer, received = _empty_buffer(config, policy), Slots() if resume else None
        if state is not None:
            trainer = _trainer(policy, config, folder / REFERENCE)
            buffer = restore(saved[-1], state, trainer)
            chooser.restore(state["data"]["chooser"])
            received = Slots(**state["data"]["received"])
        collector = Collector(config.rollouts(reward), chooser, buffer, received=received)
        stack.callback(collector.close)
        if trainer is None:
            if exam is not None and config.warm_up.steps:
                told[0].log(0, {f"start_{k}": v for k, v in exam.take("start").items()})
            _warm_up(policy, playing, config, demonstrations, collector)
            trainer = _trainer(policy, config, folder / REFERENCE)
        buffer.advance(policy.version)
        loop = Loop(config, trainer, collector, buffer, verdicts, told, exam)
        if state is None:
            if exam is not None:
                loop.log(exam.take("step-0"))
            loop.save()
        else:
            loop.step, loop.taught_nothing = state["step"], state["taught_nothing"]
        loop.run()
    history = list(read_journal(folder / METRICS))
    return TrainResult(folder, policy, loop.step, history, checkpoints(folder)[-1])


def _cast(
    agent: Any, server: PolicyServer, config: TrainConfig, held_out: Any, reward: Any
) -> tuple[Any, Exam | None]:
    """Who plays, and who takes the exam: the same agent, each at its own temperature."""
    length = config.reply_tokens
    playing = with_model(
        agent, model_of(server, temperature=config.temperature, reply_tokens=length)
    )
    if held_out is None:
        return playing, None
    model = model_of(server, temperature=config.eval_temperature, reply_tokens=length)
    return playing, Exam(_listed(held_out), with_model(agent, model), reward, config)


def _listed(tasks: Any) -> list[Task]:
    if isinstance(tasks, (str, Path)):
        from aworld.sources import load_tasks

        tasks = load_tasks(tasks)
    listed = list(tasks)
    for place, task in enumerate(listed):
        if not isinstance(task, Task):
            raise ConfigError(f"tasks[{place}] is a {type(task).__name__}: give a Task")
    return listed


def _empty_buffer(config: TrainConfig, policy: Policy) -> ExperienceBuffer:
    versions = config.max_staleness * config.updates_per_batch
    return ExperienceBuffer(max_staleness=versions, seed=config.seed, model=policy.name)


def _trainer(policy: Policy, config: TrainConfig, kept: Path) -> RLTrainer:
    return RLTrainer(
        policy,
        config.learning_rate,
        algorithm=config.algorithm,
        settings=config.settings,
        updates_per_batch=config.updates_per_batch,
        token_budget=config.token_budget,
        gradient_clip=config.gradient_clip or None,
        weight_decay=config.weight_decay,
        rate=lambda step: share_of_rate(
            step, config.schedule, warm_up=config.warm_up_steps, steps=config.steps
        ),
        reference=_reference(policy, config, kept),
    )


def _reference(policy: Policy, config: TrainConfig, kept: Path) -> Policy | None:
    """The one that is named; else the policy as it was when RL began, kept for later."""
    if not config.settings.get("kl"):
        return None
    from aworld.policies.opening import open_policy

    if config.reference is not None:
        return open_policy(config.reference)
    if (kept / "config.json").exists():
        return open_policy(kept)
    policy.save(kept)
    return policy.frozen_copy()


def _warm_up(
    policy: Policy,
    agent: Any,
    config: TrainConfig,
    demonstrations: Sequence[Conversation | Episode],
    collector: Collector,
) -> None:
    if not config.warm_up.steps:
        if demonstrations:
            raise ConfigError("there are demonstrations, and warm_up.steps is 0: say how many")
        return
    if demonstrations:
        episodes = episodes_of(policy, demonstrations, tools_of(agent))
    else:
        episodes = own_successes(collector, config)
    imitate(policy, episodes, config)
