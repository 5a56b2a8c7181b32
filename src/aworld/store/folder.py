"""The folder of a run: its config, for people and for resuming."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from aworld.config import RunConfig
from aworld.core.plain import plain
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
