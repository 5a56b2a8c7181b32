"""What a training is made of, opened one by one: folder, journals, server, buffer, trainer."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError, StoreError
from aworld.policies.base import Policy
from aworld.serve.server import PolicyServer
from aworld.serve.weight_sync import WeightSync
from aworld.store import lock
from aworld.store.durable import whole_file
from aworld.train.binding import Served
from aworld.train.buffer import ExperienceBuffer
from aworld.train.checkpoints import holds_training, last_sound, put_aside
from aworld.train.config import TrainConfig
from aworld.train.folders import CONFIG, check_place
from aworld.train.journal import VERDICTS, Journal
from aworld.train.schedules import share_of_rate
from aworld.train.tracking import Forgiven, JsonLines, Tracker, open_trackers
from aworld.train.trainer import RLTrainer

log = logging.getLogger("aworld")

MOST_AT_ONCE = 2048  # requests that the policy server decodes together


def claim(stack: ExitStack, folder: Path) -> lock.RunLock:
    """Before anything in it is touched: another process may be training there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_place(folder, "choose a new folder as run_dir")
    except (OSError, ValueError) as error:
        raise ConfigError(f"run_dir={str(folder)!r:.120} cannot be used: {error}") from None
    held = lock.RunLock(folder)
    stack.callback(held.release)
    return held


def last_checkpoint(folder: Path, resume: bool) -> Path | None:
    if not resume:
        if holds_training(folder):
            raise ConfigError(
                f"{folder} holds a training already: go on with it (resume=True, --resume), or "
                "choose another folder"
            )
        return None
    found, damaged = last_sound(folder)
    if damaged and found is None:
        raise StoreError(f"no checkpoint in {folder} is sound: start anew in another folder")
    for place in damaged:
        kept = put_aside(place, "damaged")
        log.warning("the checkpoint %s is damaged: it is kept as %s", place.name, kept)
    return found


def open_journals(
    stack: ExitStack,
    folder: Path,
    facts: dict[str, Any],
    trackers: Iterable[Tracker] = (),
    state: dict[str, Any] | None = None,
) -> tuple[list[Tracker], Journal]:
    """facts: what it is begun with, as plain data."""
    with whole_file(folder / CONFIG) as file:
        file.write(f"{json.dumps(facts, indent=2)}\n".encode())
    after = -1 if state is None else int(state["step"])
    others = [*open_trackers(facts["trackers"], folder, facts), *trackers]
    told = [JsonLines(folder, after=after), *map(Forgiven, others)]  # in this order
    for tracker in told:
        stack.callback(tracker.close)
    verdicts = Journal(folder / VERDICTS, after=after)
    stack.callback(verdicts.close)
    return told, verdicts


def open_server(
    stack: ExitStack, policy: Policy, config: TrainConfig, elsewhere: WeightSync | None = None
) -> Served:
    if elsewhere is not None:
        name = getattr(elsewhere, "name", policy.name)
        return Served(name, elsewhere.url, elsewhere.key, config.reply_tokens)
    workers = config.engine.worker_num or os.cpu_count() or 1
    at_once = workers * config.engine.tasks_per_worker
    served = PolicyServer(policy, host=config.host, max_batch=max(256, min(at_once, MOST_AT_ONCE)))
    server = stack.enter_context(served)
    return Served(policy.name, server.url, server.key, config.reply_tokens, lambda: server.failure)


def empty_buffer(
    config: TrainConfig, policy: Policy, elsewhere: WeightSync | None = None
) -> ExperienceBuffer:
    """A server elsewhere may not say which version it answers with."""
    updates = min(config.updates_per_batch, config.tasks_per_step)  # of a step: one for each group
    versions = config.max_staleness * updates
    return ExperienceBuffer(
        max_staleness=versions if elsewhere is None else None,
        seed=config.seed,
        model=getattr(elsewhere, "name", policy.name),
    )


def open_trainer(policy: Policy, config: TrainConfig, kept: Path | None = None) -> RLTrainer:
    """kept: the folder where the policy that RL began with is kept, or is to be."""
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
        precision=config.precision,
    )


def _reference(policy: Policy, config: TrainConfig, kept: Path | None) -> Policy | None:
    """The one that is named; else the policy as it was when RL began."""
    if not config.settings.get("kl"):
        return None
    from aworld.policies.opening import open_policy

    if config.reference is not None:
        return open_policy(config.reference)
    if kept is not None and kept.exists():
        return open_policy(kept)
    if kept is not None:  # in full or not at all
        unfinished = kept.with_name(f"{kept.name}.{os.getpid()}")
        policy.save(unfinished)
        unfinished.rename(kept)
    return policy.frozen_copy()
