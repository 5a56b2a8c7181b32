"""What a run leaves on disk: written while it runs, read at any time, opened from anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.store.reader import Damage, Run, open_run
    from aworld.store.records import ResultRow, Rollout

_HOMES = {
    "Damage": "aworld.store.reader",
    "Rollout": "aworld.store.records",
    "ResultRow": "aworld.store.records",
    "Run": "aworld.store.reader",
    "open_run": "aworld.store.reader",
}
__all__ = ["Damage", "ResultRow", "Rollout", "Run", "open_run"]

__getattr__ = imported_on_demand(__name__, _HOMES)
