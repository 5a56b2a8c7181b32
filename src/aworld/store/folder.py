"""The folder of a run: its config, for people and for resuming."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from itertools import count
from pathlib import Path
from typing import Any

from aworld.config import RunConfig
from aworld.core.plain import plain
from aworld.core.shown import as_word
from aworld.errors import StoreError
from aworld.store.durable import read_plain_file, whole_file

CONFIG = "config.toml"


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    import tomli_w

    content = tomli_w.dumps(_without_none(plain(config)))
    with whole_file(folder / CONFIG) as file:
        file.write(content.encode())


def read_config(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_plain_file(folder / CONFIG).decode())
    except FileNotFoundError:  # killed before it was written
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder / CONFIG} cannot be read: {error}") from None


def to_start_again(folder: Path) -> str:
    """What is to be done where nothing but the config is left of a run."""
    try:
        command = read_config(folder).get("command")
    except StoreError:
        command = None
    if not isinstance(command, dict) or command.get("tasks", "-") == "-":
        return "start it again in another folder"
    config, another = as_word(folder / CONFIG), as_word(_free_beside(folder))
    return f"start it again: `aworld run --config {config} --out {another}`"


def _free_beside(folder: Path) -> Path:
    folder = folder if folder.name not in ("", "..") else folder.resolve()
    names = (folder.with_name(f"{folder.name}-{number}") for number in count(2))
    return next(place for place in names if not place.exists())


def reward_in(config: Mapping[str, Any]) -> str | None:
    """How the scores of a run are called, as far as its config tells. Nothing of the user's is
    loaded for it."""
    tables = [config.get(name) for name in ("command", "run", "import")]
    rewards = [table.get("reward") for table in tables if isinstance(table, dict)]
    given = next((reward for reward in rewards if reward), None)
    spec, *others = given if isinstance(given, list) else [given]
    if not isinstance(spec, str):
        return None
    return "weighted" if others or "*" in spec else _reward_named(spec)


def _reward_named(spec: str) -> str:
    from aworld.rewards.catalog import BUILT_IN

    name, _, rest = spec.partition("?")[0].rpartition(":")
    built_in = spec.partition(":")[0]
    if built_in in BUILT_IN:
        return BUILT_IN[built_in].rpartition(".")[2]
    own = rest if name else rest.rpartition(".")[2]
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", own).lower() if own[:1].isupper() else own


def config_as_data(conf: RunConfig) -> dict[str, Any]:
    """What can be said of it in TOML: an engine class or a reward of one's own by its name."""
    values = {field.name: getattr(conf, field.name) for field in fields(conf)}
    if isinstance(conf.cls, type):
        values["cls"] = f"{conf.cls.__module__}:{conf.cls.__qualname__}"
    if not isinstance(conf.reward, str):
        values["reward"] = None
    values["run_dir"] = None  # a run's folder can be moved
    return {**values, "engine_name": str(conf.engine_name)}


def _without_none(value: Any) -> Any:
    """TOML has no null."""
    if isinstance(value, dict):
        return {key: _without_none(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_none(part) for part in value if part is not None]
    return value
