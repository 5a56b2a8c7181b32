"""What a training began with, kept beside it: what has changed when it is resumed is said."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aworld.core.plain import plain
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.rewards.base import Reward
from aworld.rewards.catalog import name_of
from aworld.store.records import task_fingerprint
from aworld.train.config import TrainConfig, as_data
from aworld.train.folders import CONFIG

FREE = {"run_dir", "steps", "trackers", "host", "engine", "checkpoint_every", "keep_checkpoints"}

log = logging.getLogger("aworld")


def facts_of(config: TrainConfig, tasks: Sequence[Task], reward: Reward | str) -> dict[str, Any]:
    digest = blake2b(digest_size=8)
    for task in tasks:
        digest.update(task_fingerprint(task))
    said = {"reward": reward if isinstance(reward, str) else name_of(reward)}
    return plain(as_data(config)) | said | {"tasks": f"{len(tasks)} ({digest.hexdigest()})"}


def check_changes(folder: Path, now: dict[str, Any]) -> None:
    """Another algorithm cannot take over a trainer's state; the rest is the caller's choice, if it
    is one."""
    try:
        before = json.loads((folder / CONFIG).read_text("utf-8"))
    except (OSError, ValueError):
        return  # it is written anew; the checkpoint has all that is needed
    if before.get("algorithm") != now["algorithm"]:
        raise ConfigError(
            f"the training in {folder} began with the algorithm {before.get('algorithm')!r}, and "
            f"cannot go on with {now['algorithm']!r}: start a new one from the policy of its last "
            "checkpoint"
        )
    changes = [
        f"{name} {before[name]!r:.60} -> {value!r:.60}"
        for name, value in now.items()
        if name in before and name not in FREE and before[name] != value
    ]
    if changes:
        log.warning("the training goes on otherwise than it began: %s", "; ".join(changes))
