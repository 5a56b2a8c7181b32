"""After "too many requests" all workers slow down once, together; then they speed up again."""

from __future__ import annotations

import asyncio
import math

import pytest

from aworld import ModelError, RunConfig
from aworld.core.context import TaskContext
from aworld.ledger import Ledger
from aworld.models.pace import Pace


class Wire:
    """Joins the paces of several workers with one ledger, as a run does."""

    announced = None

    def __init__(self):
        self.ledger = Ledger(RunConfig())
        self.ledger.open(self)  # type: ignore[arg-type]

    def tell(self, news):
        self.ledger.hear(0, news)

    def announce(self, announcement):
        self.announced = announcement


async def call(pace, task, *, ends, refused=False):
    async with pace.turn(task):
        await ends.wait()
        if refused:
            raise ModelError("too many", status=429, may_pass=True)


async def burst(paces, task, *, refused):
    """Ten calls at once in each worker; with `refused`, all of them are refused."""
    ends = asyncio.Event()
    calls = [
        asyncio.ensure_future(call(pace, task, ends=ends, refused=refused))
        for pace in paces
        for _ in range(10)
    ]
    await asyncio.sleep(0.01)
    ends.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, ModelError) for result in results) == (
        len(calls) if refused else 0
    )


def test_one_burst_of_refusals_slows_each_worker_down_once():
    async def main():
        task = TaskContext(line=Wire())
        paces = [Pace("x") for _ in range(4)]
        await burst(paces, task, refused=True)
        for pace in paces:
            async with pace.turn(task):  # hears what was announced
                pass
        return [pace.limit for pace in paces]

    for limit in asyncio.run(main()):
        assert limit == pytest.approx(7.0, abs=0.5)


def test_a_worker_that_was_not_refused_slows_down_with_the_others():
    async def main():
        task = TaskContext(line=Wire())
        busy, other = Pace("x"), Pace("x")
        await burst([other], task, refused=False)
        await burst([busy], task, refused=True)
        async with other.turn(task):
            return other.limit, Pace("another endpoint").limit

    slowed, untouched = asyncio.run(main())
    assert slowed == pytest.approx(7.0, abs=0.5)
    assert untouched == math.inf


def test_calls_that_go_well_let_it_speed_up_until_it_is_free_again():
    async def main():
        task = TaskContext(line=Wire())
        pace = Pace("x")
        await burst([pace], task, refused=True)
        slow = pace.limit
        for _ in range(20):
            async with pace.turn(task):
                pass
        faster = pace.limit
        for _ in range(50_000):
            async with pace.turn(task):
                pass
        return slow, faster, pace.limit

    slow, faster, free = asyncio.run(main())
    assert slow < faster < 12
    assert free == math.inf
