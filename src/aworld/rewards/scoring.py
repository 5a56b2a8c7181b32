"""Calls any reward on a finished trajectory. It never raises."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from aworld.core.failure import ErrorInfo, describe_error
from aworld.core.task import Task
from aworld.core.trajectory import Trajectory
from aworld.rewards.base import Match, Reward, Scored
from aworld.tools.limits import TimeUpError, call_within

TOTAL = "reward"  # the key of the whole in a dict of parts


async def score(
    reward: Reward, task: Task, trajectory: Trajectory, *, timeout: float | None = None
) -> Scored:
    """What the reward says. One that raises, takes longer than `timeout` seconds or gives what is
    no reward has the value None and an error. Only being cancelled comes out as an exception.

    A dict holds named parts and, as 'reward', the whole; a part that is None is left out. A
    function of yours that is not async runs in a thread.
    """
    try:
        if isinstance(reward, Match):  # compares texts, no more: a thread would take far longer
            return as_scored(reward(task, trajectory))
        return as_scored(await call_within(timeout, reward, task, trajectory))
    except TimeUpError:
        return Scored(error=ErrorInfo("Timeout", f"the reward took longer than {timeout:g} s"))
    except asyncio.CancelledError:
        raise
    except Exception as error:
        return Scored(error=describe_error(error))


def as_scored(given: Any) -> Scored:
    """What a reward gave, checked."""
    if isinstance(given, Scored):
        value = None if given.value is None else _number(TOTAL, given.value)
        parts = {name: _number(name, part) for name, part in given.parts.items()}
        return Scored(value, parts, given.error, given.reason)
    if not isinstance(given, Mapping):
        return Scored() if given is None else Scored(_number(TOTAL, given))
    parts = {str(name): _number(name, part) for name, part in given.items() if part is not None}
    value = parts.pop(TOTAL, None)
    if TOTAL not in given:
        message = "a dict of parts needs the whole as 'reward': add it, or use rewards.weighted"
        return Scored(None, parts, ErrorInfo("BadReward", message))
    return Scored(value, parts)


def _number(name: Any, given: Any) -> float:
    # by its method, because numpy's and torch's numbers are no int or float of Python's
    if isinstance(given, (str, bytes, complex)) or not hasattr(given, "__float__"):
        kind = type(given).__name__
        raise TypeError(f"{name!r:.80} must be a number or None, the reward gave a {kind}")
    number = float(given)
    if not math.isfinite(number):
        raise ValueError(f"{name!r:.80} must be a finite number, the reward gave {number}")
    return number + 0.0  # there is no -0.0 in a store
