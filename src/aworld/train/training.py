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
from aworld.serve.weight_sync import WeightSync
from aworld.store import schema
from aworld.train.binding import Served, tools_of, with_model
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
    checkpoint: Path  # the last one; its `policy` is a model that can be served

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
    weight_sync: WeightSync | None = None,
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
    if demonstrations and not config.warm_up.steps:
        raise ConfigError("there are demonstrations, and warm_up.steps is 0: say how many")
    learned, examined = _listed(tasks), None if held_out is None else _listed(held_out)
    folder = Path(config.run_dir)
    place = _last_checkpoint(folder, resume)
    state = None if place is None else read_state(place)
    with ExitStack() as stack:
        told, verdicts = _open_journals(stack, folder, config, trackers, state)
        served = _serve(stack, policy, config, weight_sync)
        model = served.model(temperature=config.temperature, reply_tokens=config.reply_tokens)
        playing = with_model(agent, model)
        exam = None
        if examined is not None:
            model = served.model(
                temperature=config.eval_temperature, reply_tokens=config.reply_tokens
            )
            exam = Exam(examined, with_model(agent, model), reward, config)
        chooser = TaskChooser(learned, playing, seed=config.seed, curriculum=config.curriculum)
        trainer: RLTrainer | None = None
        buffer, received = _empty_buffer(config, policy, weight_sync), Slots() if resume else None
        if place is not None and state is not None:
            trainer = _trainer(policy, config, folder / REFERENCE)
            buffer = restore(place, state, trainer)
            chooser.restore(state["data"]["chooser"])
            received = Slots(**state["data"]["received"])
        collector = Collector(config.rollouts(reward), chooser, buffer, received=received)
        stack.callback(collector.close)
        if trainer is None:
            if exam is not None and config.warm_up.steps:
                figures = {f"start_{name}": value for name, value in exam.take("start").items()}
                for tracker in told:
                    tracker.log(0, figures)
            _warm_up(policy, playing, config, demonstrations, collector)
            trainer = _trainer(policy, config, folder / REFERENCE)
        if weight_sync is not None:
            weight_sync.send(policy)
        buffer.advance(policy.version)
        loop = Loop(config, trainer, collector, buffer, verdicts, told, exam, weight_sync)
        if state is None:
            if exam is not None:
                loop.log(exam.take("step-0"))
            loop.save()
        else:
            loop.step, loop.taught_nothing = state["step"], state["taught_nothing"]
        loop.run()
    history = list(read_journal(folder / METRICS))
    return TrainResult(folder, policy, loop.step, history, checkpoints(folder)[-1])


def _listed(tasks: Any) -> list[Task]:
    if isinstance(tasks, (str, Path)):
        from aworld.sources import load_tasks

        tasks = load_tasks(tasks)
    listed = list(tasks)
    for place, task in enumerate(listed):
        if not isinstance(task, Task):
            raise ConfigError(f"tasks[{place}] is a {type(task).__name__}: give a Task")
    if not listed:
        raise ConfigError("there are no tasks")
    return listed


def _last_checkpoint(folder: Path, resume: bool) -> Path | None:
    saved = checkpoints(folder)
    if (saved or (folder / schema.FILE).exists()) and not resume:
        raise ConfigError(
            f"{folder} holds a training already: go on with it (resume=True, --resume), or choose "
            "another folder"
        )
    return saved[-1] if saved else None


def _open_journals(
    stack: ExitStack,
    folder: Path,
    config: TrainConfig,
    trackers: Iterable[Tracker],
    state: dict[str, Any] | None,
) -> tuple[list[Tracker], Journal]:
    folder.mkdir(parents=True, exist_ok=True)
    facts = plain(as_data(config))
    (folder / CONFIG).write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    after = -1 if state is None else int(state["step"])
    told = [JsonLines(folder, after=after), *open_trackers(config.trackers, folder, facts)]
    told += trackers
    for tracker in told:
        stack.callback(tracker.close)
    verdicts = Journal(folder / VERDICTS, after=after)
    stack.callback(verdicts.close)
    return told, verdicts


def _serve(
    stack: ExitStack, policy: Policy, config: TrainConfig, elsewhere: WeightSync | None
) -> Served:
    if elsewhere is not None:
        return Served(getattr(elsewhere, "name", policy.name), elsewhere.url, elsewhere.key)
    server = stack.enter_context(PolicyServer(policy, host=config.host))
    return Served(policy.name, server.url, server.key)


def _empty_buffer(
    config: TrainConfig, policy: Policy, elsewhere: WeightSync | None
) -> ExperienceBuffer:
    """A server elsewhere may not say which version it answers with."""
    versions = config.max_staleness * config.updates_per_batch
    return ExperienceBuffer(
        max_staleness=versions if elsewhere is None else None,
        seed=config.seed,
        model=getattr(elsewhere, "name", policy.name),
    )


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
        return
    if demonstrations:
        episodes = episodes_of(policy, demonstrations, tools_of(agent))
    else:
        episodes = own_successes(collector, config)
    imitate(policy, episodes, config)
