"""Whatever a tool does, it ends its own call and nothing else, and in its time."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import threading
import time
from typing import Any

import pytest

from aworld.tools import ToolError, tool


def test_an_exception_becomes_an_observation(run):
    @tool
    def broken(key: str) -> str:
        return {}[key]

    result = run(broken, key="missing")
    assert result.text == "KeyError: 'missing'"
    assert result.error.kind == "KeyError"
    assert "broken" in result.error.traceback


def test_a_tool_error_speaks_in_its_own_words(run):
    @tool
    def picky() -> str:
        raise ToolError("ask for something else")

    result = run(picky)
    assert result.text == "ask for something else"
    assert result.error.kind == "ToolError"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_thread_that_wants_to_end_the_program_ends_only_the_call(run, error):
    @tool
    def rude() -> str:
        raise error

    assert type(error).__name__ in run(rude).text


def test_an_async_tool_that_exits_or_cancels_itself_ends_only_the_call(run):
    @tool
    async def leave() -> str:
        sys.exit(3)

    @tool
    async def give_up() -> str:
        raise asyncio.CancelledError

    assert "it raised SystemExit(3), which would end the worker" in run(leave).text
    assert "CancelledError" in run(give_up).text


def test_a_tool_that_hangs_is_stopped_and_the_model_is_told(run):
    release = threading.Event()

    @tool(timeout=0.1)
    def hang() -> str:
        release.wait(60)
        return "late"

    began = time.monotonic()
    result = run(hang)
    release.set()
    assert result.text == "the tool was stopped after 0.1 s"
    assert result.error.kind == "Timeout"
    assert 0.1 <= result.seconds <= time.monotonic() - began < 5


def test_an_async_tool_is_cancelled_at_its_timeout(run):
    cleaned_up = []

    @tool(timeout=0.1)
    async def hang() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned_up.append(True)
        return "late"

    assert run(hang).error.kind == "Timeout"
    assert cleaned_up == [True]


def test_an_async_tool_that_ignores_its_cancellation_is_left_behind():
    async def scenario() -> Any:
        release = asyncio.Event()

        @tool(timeout=0.05)
        async def stubborn() -> str:
            while not release.is_set():
                try:
                    await asyncio.wait_for(release.wait(), 60)
                except asyncio.CancelledError:
                    pass
            return "late"

        result = await stubborn.run({})
        release.set()
        return result

    began = time.monotonic()
    assert asyncio.run(scenario()).error.kind == "Timeout"
    assert time.monotonic() - began < 5


def test_a_cancelled_task_does_not_wait_for_its_tool():
    release = threading.Event()

    @tool(timeout=None)
    def hang() -> None:
        release.wait(60)

    async def scenario() -> None:
        task = asyncio.create_task(hang.run({}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(scenario())
    assert time.monotonic() - began < 5
    release.set()


def test_a_coroutine_from_a_plain_function_is_awaited_within_the_same_time(run):
    async def slow() -> None:
        await asyncio.sleep(60)

    @tool(timeout=0.1)
    def hand_out() -> Any:
        return slow()

    assert run(hand_out).error.kind == "Timeout"


def test_a_thread_sees_the_context_of_its_task():
    who = contextvars.ContextVar("who", default="nobody")

    @tool
    def ask() -> str:
        seen = who.get()
        who.set("the thread")
        return seen

    async def scenario() -> tuple[str, str]:
        who.set("the task")
        return (await ask.run({})).text, who.get()

    assert asyncio.run(scenario()) == ("the task", "the task")


def test_a_call_that_is_given_up_before_it_begins_leaves_nothing_behind():
    async def go():
        from aworld.tools.limits import call_within

        work = asyncio.ensure_future(call_within(5.0, print, "never"))
        await asyncio.sleep(0)  # it has made its task, which has not run yet
        for task in asyncio.all_tasks() - {asyncio.current_task()}:  # as a worker does that leaves
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await asyncio.sleep(0)
        gc.collect()  # "was never awaited" would be an error

    asyncio.run(go())
