"""Names that are imported when they are first asked for: a package stays light to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

NEEDS = {  # of those packages that need more than aworld alone
    "aworld.policies": "models that are trained need: pip install 'aworld[train]'",
    "aworld.serve": "serving a model needs: pip install 'aworld[serve]'",
    "aworld.train": "training needs: pip install 'aworld[train]'",
}


def imported_on_demand(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `homes` says in which module each of its names lives."""

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(_imported(home, package), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def _imported(home: str, package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(home)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if package not in NEEDS or missing in ("", "aworld"):  # a mistake of ours is shown as it is
            raise
        from aworld.errors import ConfigError

        raise ConfigError(f"{NEEDS[package]} (there is no {missing!r} here)") from error
