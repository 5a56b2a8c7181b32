"""Finds a class or function by its dotted path, importing its module only then."""

from __future__ import annotations

import importlib
from typing import Any

from aworld.errors import ConfigError


def load_dotted(path: str) -> Any:
    """`pkg.module.Name` or `pkg.module:Name`."""
    module_name, _, name = path.replace(":", ".").rpartition(".")
    if not module_name:
        raise ConfigError(f"{path!r} is no dotted path: write 'package.module.Name'")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{path!r} cannot be loaded: {error}") from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(f"{path!r} cannot be loaded: {module_name} has no {name!r}") from None
