"""Agents made of agents: side by side, one after another, nested; failures are never answers."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from aworld import (
    ActionModel,
    Agent,
    ConfigError,
    ErrorInfo,
    ParallelizableAgent,
    RunConfig,
    Runners,
    SerialAgent,
)
from aworld.models.scripted import ScriptedModel, call

QUICK = RunConfig(worker_num=1)


class Searcher:
    def __init__(self, name):
        self.name = name

    async def async_policy(self, observation, info, **kwargs):
        return [ActionModel(policy_info=f"{self.name}: {observation.content}")]


class Waiter:
    """Answers with when it began and ended."""

    def __init__(self, name):
        self.name = name

    async def async_policy(self, observation, info, **kwargs):
        began = time.monotonic()
        await asyncio.sleep(0.5)
        return [ActionModel(policy_info=(began, time.monotonic()))]


def broken(question):
    raise LookupError("nothing found")


def shout(text):
    return str(text).upper()


def run(agent, question="q"):
    return Runners.sync_run(question, agent, QUICK)


def test_the_seeds_program_runs_as_it_is():
    google_search, bing_search, wiki = (Searcher(name) for name in ("google", "bing", "wiki"))
    sub_agents = [google_search, bing_search, wiki]
    parallel_agent = ParallelizableAgent(name="parallel_search", agents=sub_agents)
    assert run(parallel_agent).answer == {
        "google": "google: q",
        "bing": "bing: q",
        "wiki": "wiki: q",
    }

    def custom_aggregate_func(agent: ParallelizableAgent, results: dict[str, Any]) -> ActionModel:
        aggregated_result = " + ".join(results.values())
        return ActionModel(policy_info=aggregated_result)

    parallel_agent = ParallelizableAgent(agents=sub_agents, aggregate_func=custom_aggregate_func)
    assert run(parallel_agent).answer == "google: q + bing: q + wiki: q"


def test_its_agents_run_at_the_same_time():
    agents = [Waiter(str(n)) for n in range(6)]
    spans = run(ParallelizableAgent(agents=agents)).answer.values()
    assert len(spans) == 6
    assert max(began for began, _ in spans) < min(ended for _, ended in spans)


def test_each_ones_steps_are_under_its_name_even_where_it_failed():
    agents = [Searcher("a"), Agent("llm", model=ScriptedModel(["hm"])), broken]
    steps = run(ParallelizableAgent("p", agents=agents)).trajectory.steps
    assert sorted(step["agent"] for step in steps) == ["p/a", "p/broken", "p/llm"]
    (failed,) = [step for step in steps if step["agent"] == "p/broken"]
    assert (failed["action"], failed["error"]) == (None, "LookupError")


def test_a_failed_agent_is_marked_dropped_or_raised_but_never_an_answer():
    agents = [Searcher("a"), broken]
    included = run(ParallelizableAgent(agents=agents)).answer
    assert included["a"] == "a: q"
    assert isinstance(included["broken"], ErrorInfo)
    assert included["broken"].message == "nothing found"
    assert run(ParallelizableAgent(agents=agents, on_error="drop")).answer == {"a": "a: q"}
    raised = run(ParallelizableAgent(agents=agents, on_error="raise"))
    assert (raised.status, raised.answer) == ("failed", None)
    assert "nothing found" in raised.msg


def leave(question):
    raise SystemExit(3)


def test_an_agent_that_exits_or_fails_late_leaves_its_mark_and_harms_no_other():
    late = Agent("late", model=ScriptedModel([call("nothing")]), max_steps=1)
    agents = [Searcher("a"), leave, late]
    response = run(ParallelizableAgent("p", agents=agents, on_error="drop"))
    assert response.answer == {"a": "a: q"}
    assert response.attempts == 1
    marks = {step["agent"]: step["error"] for step in response.trajectory.steps if "error" in step}
    assert marks == {"p/late": "TruncatedError", "p/leave": "SystemExit"}


def test_agents_can_be_nested_and_chained():
    inner = ParallelizableAgent("inner", agents=[Searcher("x"), Searcher("y")])
    outer = ParallelizableAgent("outer", agents=[inner, Searcher("z")])
    chain = SerialAgent("chain", agents=[outer, shout])
    response = run(chain)
    assert response.answer == "{'INNER': {'X': 'X: Q', 'Y': 'Y: Q'}, 'Z': 'Z: Q'}"
    agents = {step["agent"] for step in response.trajectory.steps}
    assert agents == {
        "chain/outer/inner/x",
        "chain/outer/inner/y",
        "chain/outer/z",
        "chain/shout",
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"agents": []}, "has no agents"),
        ({"agents": [Searcher("a"), Searcher("a")]}, "two agents called 'a'"),
        ({"agents": [Searcher]}, "give an instance"),
        ({"agents": [shout], "on_error": "ignore"}, "on_error"),
        ({"agents": [shout], "aggregate_func": 3}, "aggregate_func"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_made(arguments, problem):
    with pytest.raises(ConfigError, match=problem):
        ParallelizableAgent(**arguments)
