"""All that training needs to go on, in a folder that is whole or not there."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aworld.core.failure import first_line
from aworld.errors import StoreError
from aworld.store import schema
from aworld.store.durable import sync
from aworld.train.buffer import ExperienceBuffer
from aworld.train.collecting import Collector
from aworld.train.folders import unused
from aworld.train.trainer import RLTrainer

FOLDER = "checkpoints"
UNFINISHED = "unfinished"  # one name for all: what a killed process left is replaced by the next
STATE = "state.json"
NAME = re.compile(r"step-(\d+)")


def save_checkpoint(
    run_dir: Path, step: int, trainer: RLTrainer, collector: Collector, *, keep: int
) -> Path:
    """Weights (as a model that can be loaded and served, too), optimizer, buffer, random states,
    and the place in the data."""
    place = run_dir / FOLDER / f"step-{step:06}"
    unfinished = place.with_name(UNFINISHED)
    try:
        _write(place, unfinished, step, trainer, collector)
    except (OSError, RuntimeError) as error:  # torch raises the latter when a disk is full
        raise StoreError(f"a checkpoint cannot be written: {first_line(error):.160}") from error
    for old in checkpoints(run_dir)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return place


def _write(
    place: Path, unfinished: Path, step: int, trainer: RLTrainer, collector: Collector
) -> None:
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    policy = trainer.policy
    with policy.paused():  # a server may be reading the weights; nobody moves them but we
        policy.save(unfinished / "policy")
    torch.save({"trainer": trainer.state_dict(), "random": _random()}, unfinished / "trainer.pt")
    data = collector.save(unfinished / "buffer.npz")
    state = {"step": step, "version": policy.version, "data": data}
    digests = {str(path.relative_to(unfinished)): _digest(path) for path in _files(unfinished)}
    (unfinished / STATE).write_text(json.dumps(state | {"files": digests}), "utf-8")
    for path in unfinished.rglob("*"):
        sync(path)
    sync(unfinished)
    shutil.rmtree(place, ignore_errors=True)
    unfinished.rename(place)
    sync(place.parent)


def checkpoints(run_dir: Path) -> list[Path]:
    """Those that there are, the oldest first."""
    folder = run_dir / FOLDER
    found = [path for path in folder.glob("step-*") if NAME.fullmatch(path.name)]
    return sorted(found, key=step_of)


def step_of(place: Path) -> int:
    return int(place.name.partition("-")[2])


def holds_training(run_dir: Path) -> bool:
    return bool(checkpoints(run_dir)) or (run_dir / schema.FILE).exists()


def last_sound(run_dir: Path) -> tuple[Path | None, list[Path]]:
    """The last one that is as it was written, and those after it that are not."""
    damaged: list[Path] = []
    for place in reversed(checkpoints(run_dir)):
        if _is_sound(place):
            return place, damaged
        damaged.append(place)
    return None, damaged


def put_aside(place: Path, why: str) -> Path:
    """Nothing is thrown away: it may be looked at."""
    kept = unused(place.with_name(f"{why}-{place.name}"))
    place.rename(kept)
    return kept


def read_state(place: Path) -> dict[str, Any]:
    try:
        return json.loads((place / STATE).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"the checkpoint {place} cannot be read: {error}") from None


def _is_sound(place: Path) -> bool:
    try:
        digests = read_state(place)["files"]
        return all(_digest(place / name) == digest for name, digest in digests.items())
    except (StoreError, OSError, LookupError, AttributeError):
        return False


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def restore(place: Path, state: dict[str, Any], trainer: RLTrainer) -> ExperienceBuffer:
    """Puts the trainer, its policy and the random states back to where they were."""
    saved = torch.load(place / "trainer.pt", map_location="cpu", weights_only=True)
    trainer.load_state_dict(saved["trainer"])
    trainer.policy.version = state["version"]
    _restore_random(saved["random"])
    return ExperienceBuffer.load(place / "buffer.npz")


def _random() -> dict[str, Any]:
    version, numbers, gauss = random.getstate()
    kind, keys, *rest = np.random.get_state()
    return {
        "python": [version, list(numbers), gauss],
        "numpy": [kind, torch.from_numpy(np.asarray(keys, np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _restore_random(saved: dict[str, Any]) -> None:
    version, numbers, gauss = saved["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, *rest = saved["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(saved["torch"])
    if saved["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(saved["cuda"])
