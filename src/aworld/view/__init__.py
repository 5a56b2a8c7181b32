"""The live view in the browser: runs, their tasks, what the agents said, and how training goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.view.opening import View, open_view

__all__ = ["View", "open_view"]

__getattr__ = imported_on_demand(
    __name__, {"View": "aworld.view.opening", "open_view": "aworld.view.opening"}
)
