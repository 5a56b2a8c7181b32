"""Any reward can be called, and none can do harm."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scene import finished, scored

from aworld import rewards
from aworld.errors import ConfigError, ModelError
from aworld.rewards import Scored, exact_match, failures_as, name_of, named, tool_used, weighted

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
    | st.complex_numbers() | st.builds(object) | st.just(float),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.text() | st.just("reward"), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
raised = st.sampled_from(
    [ValueError, KeyError, ModelError, SystemExit, KeyboardInterrupt, asyncio.CancelledError]
)


def gives(value):
    return lambda task, trajectory: value


@given(anything, st.booleans())
def test_whatever_a_reward_gives_is_a_number_or_none(value, is_async):
    async def later(task, trajectory):
        return value

    result = scored(later if is_async else gives(value), "a")
    assert result.value is None or math.isfinite(result.value)
    assert all(math.isfinite(part) for part in result.parts.values())
    if isinstance(value, (int, float)) and not isinstance(value, type) and abs(value) < 1e300:
        assert result.value == value
        assert result.error is None


@given(raised, st.booleans())
def test_whatever_a_reward_raises_is_an_error_and_not_zero(error, is_async):
    def now(task, trajectory):
        raise error("so")

    async def later(task, trajectory):
        raise error("so")

    result = scored(later if is_async else now, "a")
    assert result.value is None
    assert result.error is not None
    assert "so" in result.error.message


@pytest.mark.parametrize("reward", [None, 3, "exact_match", lambda: 1.0, float])
def test_what_is_no_reward_is_said(reward):
    result = scored(reward, "a")
    assert result.value is None
    assert result.error is not None


def test_a_dict_names_its_whole():
    assert scored(gives({"reward": 1, "a": True, "b": None}), "x") == Scored(1.0, {"a": 1.0})
    assert scored(gives({"reward": None, "a": 0.5}), "x") == Scored(None, {"a": 0.5})
    nameless = scored(gives({"a": 0.5}), "x")
    assert (nameless.value, nameless.parts) == (None, {"a": 0.5})
    assert nameless.error is not None
    assert "rewards.weighted" in nameless.error.message


def test_numbers_of_other_libraries_are_numbers():
    class Tensor:
        def __float__(self):
            return 0.25

    assert scored(gives(Tensor()), "x").value == 0.25


@pytest.mark.parametrize("value", [Fraction(1, 2), 10**400, math.nan, "1"])
def test_only_finite_numbers_are_rewards(value):
    result = scored(gives(value), "x")
    assert (result.value is None) == (result.error is not None) == (value != Fraction(1, 2))


def test_a_reward_that_takes_too_long_is_given_up():
    async def slow(task, trajectory):
        await asyncio.sleep(30)

    def blocking(task, trajectory):
        over.wait(30)

    over = threading.Event()
    for reward in (slow, blocking):
        began = time.monotonic()
        result = asyncio.run(rewards.score(reward, *finished("a"), timeout=0.05))
        assert time.monotonic() - began < 15
        assert result.error is not None
        assert result.error.kind == "Timeout"
    over.set()


def test_cancelling_stops_the_scoring():
    began, ended = asyncio.Event(), asyncio.Event()

    async def main():
        work = asyncio.create_task(rewards.score(forever, *finished("a")))
        await began.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert ended.is_set()

    async def forever(task, trajectory):
        began.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    asyncio.run(main())


def test_a_weighted_sum_keeps_its_parts():
    reward = weighted(
        right=exact_match, brief=(0.5, gives(0.5)), bad=(-1, gives({"reward": 1, "x": 3}))
    )
    result = scored(reward, "a", "a")
    assert result == Scored(0.25, {"right": 1.0, "brief": 0.5, "bad": 1.0, "bad.x": 3.0})


def test_a_missing_part_makes_the_whole_missing_unless_skipped():
    parts = {"right": exact_match, "known": (2.0, gives(0.5))}
    assert scored(weighted(**parts), "a") == Scored(None, {"known": 0.5})
    assert scored(weighted(**parts, on_missing="skip"), "a") == Scored(1.0, {"known": 0.5})
    assert scored(weighted(right=exact_match, on_missing="skip"), "a") == Scored()


@pytest.mark.parametrize("on_missing", ["none", "skip"])
def test_a_part_that_raises_is_never_skipped(on_missing):
    def broken(task, trajectory):
        raise ValueError("no scale")

    result = scored(weighted(known=gives(1), bad=broken, on_missing=on_missing), "a")
    assert (result.value, result.parts) == (None, {"known": 1.0})
    assert result.error is not None
    assert result.error.message == "bad: no scale"


@pytest.mark.parametrize(
    "parts",
    [{}, {"reward": exact_match}, {"a": 1}, {"a": ("x", exact_match)}, {"on_missing": "no"}],
)
def test_a_sum_that_makes_no_sense_is_refused(parts):
    with pytest.raises(ConfigError):
        weighted(**parts)


def test_failures_can_be_given_a_value_where_nothing_else_is_known():
    reward = failures_as(-1, exact_match)
    values = {
        status: scored(reward, None, "a", status=status).value
        for status in (
            "success",
            "failed",
            "timeout",
            "crashed",
            "truncated",
            "cancelled",
            "skipped",
        )
    }
    assert values.pop("success") == 0.0
    assert values.pop("cancelled") is values.pop("skipped") is None
    assert set(values.values()) == {-1.0}


def test_a_tool_counts_when_it_worked():
    calls = [{"tool": "search", "error": None}, {"tool": "search", "error": "ToolError"}]
    steps = [
        {"step": 0, "tool_calls": calls[:1]},
        {"step": 1},
        {"step": 2, "tool_calls": calls[1:]},
    ]
    assert scored(tool_used("search"), "a", steps=steps).value == 1.0
    assert scored(tool_used("search", 2), "a", steps=steps).value == 0.0
    assert scored(tool_used("search", 2, count_errors=True), "a", steps=steps).value == 1.0
    assert scored(tool_used("fetch"), "a", steps=steps).value == 0.0
    assert scored(tool_used("search"), None, steps=steps, status="failed").value is None
    with pytest.raises(ConfigError, match="at_least"):
        tool_used("search", 0)


def own_reward(task, trajectory):
    return 0.5


def test_rewards_are_found_by_name():
    assert named("exact_match") is exact_match
    assert named("numeric_match", tolerance=0.1) == rewards.numeric_match(tolerance=0.1)
    assert named("tool_used", name="search") == tool_used("search")
    assert scored(named(f"{__name__}:own_reward"), "a").value == 0.5
    assert name_of(named("exact_match")) == "exact_match"
    assert name_of(own_reward) == "own_reward"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("exact_mach", {}, "did you mean 'exact_match'.*known: code_tests, contains"),
        ("regex_match", {}, "'regex_match' cannot be made: missing.*'pattern'"),
        ("exact_match", {"x": 1}, "no ExactMatch setting named 'x'"),
        ("math:pi", {}, "no reward but a float"),
        ("math:nothing", {}, "has no 'nothing'"),
        ("no_such_module:f", {}, "cannot be loaded"),
    ],
)
def test_a_name_that_finds_nothing_says_what_to_do(name, options, said):
    with pytest.raises(ConfigError, match=said):
        named(name, **options)
