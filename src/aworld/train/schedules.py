"""How the learning rate goes: a warm-up, then constant, linear or cosine."""

from __future__ import annotations

import math
from typing import Literal

Schedule = Literal["constant", "linear", "cosine"]


def share_of_rate(step: int, schedule: Schedule, *, warm_up: int = 0, steps: int = 0) -> float:
    """What part of the learning rate the update after `step` others has. Of `linear` and `cosine`
    nothing is left after `steps`."""
    if step < warm_up:
        return (step + 1) / (warm_up + 1)
    if schedule == "constant":
        return 1.0
    done = min((step - warm_up) / max(steps - warm_up, 1), 1.0)
    return 1 - done if schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
