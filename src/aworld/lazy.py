"""Names that are imported when they are first asked for: a package stays light to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def imported_on_demand(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `homes` says in which module each of its names lives."""

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
