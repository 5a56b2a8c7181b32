"""When something is killed, and what: decided by a seed before the first task runs."""

from __future__ import annotations

import random
from collections import deque
from typing import NamedTuple

APART_SECONDS = 3.0  # more often starves a Ray cluster
MOST_DRIVERS = 10  # a driver needs some time to come up, and more to have something to lose
EVERY_SECONDS = {"worker": 10.0, "node": 60.0, "executor": 40.0, "driver": 45.0}


class Fault(NamedTuple):
    at: float  # seconds after the start
    kind: str


def drawn(kinds: list[str], seconds: float, luck: random.Random) -> deque[Fault]:
    """At random times, each kind about as often as EVERY_SECONDS says, the earliest first."""
    faults = []
    for kind in kinds:
        every = EVERY_SECONDS[kind]
        if kind == "driver":
            every = max(every, seconds / MOST_DRIVERS)
        at = every * luck.uniform(0.5, 1.0)
        while at < seconds:
            faults.append(Fault(at, kind))
            at += every * luck.uniform(0.5, 1.5)
    return deque(sorted(faults))
