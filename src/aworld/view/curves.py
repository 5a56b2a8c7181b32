"""How a training goes: its figures by step."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from aworld.train.journal import METRICS, readable_lines


def curves_of(folder: Path) -> dict[str, Any]:
    """Columns of the same length; None where a figure was not taken at a step."""
    lines = [line for line in readable_lines(folder / METRICS) if "step" in line]
    by_step: dict[float, dict[str, float | None]] = {}
    for line in lines:
        step = _number(line.pop("step"))
        if step is not None:
            known = by_step.setdefault(step, {})
            known |= {name: _number(value) for name, value in line.items()}
    steps = sorted(by_step)
    names: dict[str, None] = {}
    for step in steps:
        names |= dict.fromkeys(by_step[step])
    columns = {name: [by_step[step].get(name) for step in steps] for name in names}
    return {"steps": steps, "columns": columns}


def _number(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if known and math.isfinite(value) else None
