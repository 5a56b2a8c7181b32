"""A run that is cancelled, closed, or no longer waited for: every task is settled all the same."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
import workloads
from workloads import give_value, tasks_of

from aworld import Runners
from aworld.engines import open_engine
from aworld.engines.base import Item


def test_cancelling_settles_every_task_that_can_be_counted(engine):
    with Runners.stream_tasks(tasks_of([0.05] * 4 + [30] * 40, workloads.wait), engine.conf()) as s:
        first = next(s)
        s.cancel()
        rest = list(s)
    statuses = [response.status for response in [first, *rest]]
    assert len({response.id for response in [first, *rest]}) == 44
    assert statuses.count("cancelled") >= 40
    assert set(statuses) == {"success", "cancelled"}


def test_an_engine_can_run_again_after_a_cancelled_run(engine):
    with open_engine(engine.conf(worker_num=1)) as opened:
        for _ in range(3):
            cancelled = opened.run(wait_forever, [Item(i) for i in range(5)])
            cancelled.cancel()
            assert {outcome.status for outcome in cancelled} == {"cancelled"}
            again = list(opened.run(give_value, [Item(i) for i in range(50)]))
            assert sorted(outcome.value for outcome in again) == list(range(50))


async def wait_forever(value, call):
    await asyncio.sleep(600)


class SlowToPickle:
    def __init__(self, begun):
        self.begun = begun

    def __reduce__(self):
        self.begun.set()
        time.sleep(0.5)
        return str, ("pickled late",)


def test_an_item_that_slips_in_while_cancelling_is_cancelled_too(engine):
    begun = threading.Event()

    def items():
        yield Item(SlowToPickle(begun))

    with open_engine(engine.conf(worker_num=1)) as opened:
        outcomes = opened.run(wait_forever, Counted(items()))
        assert begun.wait(10)
        outcomes.cancel()
        assert [outcome.status for outcome in outcomes] == ["cancelled"]


class Counted(list):
    """Has a length, so that every item of it must be settled."""

    def __init__(self, items):
        super().__init__([None])
        self.items = items

    def __iter__(self):
        return self.items


def test_a_run_awaited_under_a_timeout_raises_timeout_error(engine):
    async def main():
        async with asyncio.timeout(0.5):
            await Runners.run_task(tasks_of([30], workloads.wait), engine.conf())

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_giving_up_the_wait_for_a_response_does_not_end_the_run(engine):
    async def main():
        async with Runners.stream_tasks(tasks_of([1.0], workloads.wait), engine.conf()) as stream:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.3)
            return [response.status async for response in stream]

    assert asyncio.run(main()) == ["success"]


def test_a_closed_stream_gives_nothing_more(engine):
    stream = Runners.stream_tasks(tasks_of(range(5)), engine.conf())
    stream.close()
    assert list(stream) == []

    async def rest():
        return [response async for response in stream]

    assert asyncio.run(rest()) == []


def test_a_second_reader_is_refused(engine):
    async def main():
        async with Runners.stream_tasks(tasks_of([1.0] * 2, workloads.wait), engine.conf()) as s:
            s.open()
            first = asyncio.create_task(s.take_async())
            await asyncio.sleep(0)  # it waits by now
            with pytest.raises(RuntimeError, match="one reader"):
                await s.take_async()
            return await first

    assert asyncio.run(main())
