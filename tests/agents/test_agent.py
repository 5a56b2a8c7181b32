"""The agent: asks, uses tools, asks again; within its limits, in the form asked for."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter

import pytest
from agent_scenes import double, observations, run, scripted, slowly
from fake_server import reply_with
from pydantic import BaseModel

from aworld import (
    Agent,
    ConfigError,
    ParallelizableAgent,
    RunConfig,
    Runners,
    SerialAgent,
    Task,
    tool,
)
from aworld.core.context import current_task
from aworld.models.openai_model import OpenAIModel
from aworld.models.scripted import ScriptedModel, call, calls

# -- the loop ------------------------------------------------------------------------------------


def test_it_asks_uses_its_tools_and_asks_again():
    response = run(scripted(call("double", number=4), "It is 8.", tools=[double]))
    assert (response.answer, response.status) == ("It is 8.", "success")
    assert observations(response) == ["8"]
    last = response.trajectory.steps[-1]["model_call"]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "tool"]


def test_a_plain_function_in_the_list_is_a_tool():
    def triple(number: int) -> int:
        """Triples."""
        return 3 * number

    assert observations(run(scripted(call("triple", number=2), "6", tools=[triple]))) == ["6"]


def test_tool_calls_of_one_reply_run_at_the_same_time_and_keep_their_order():
    words = ["a", "b", "c", "d", "e"]
    agent = scripted(calls(*(("slowly", {"word": w}) for w in words)), "done", tools=[slowly])
    response = run(agent)
    assert observations(response) == words
    used = response.trajectory.steps[0]["tool_calls"]
    assert max(u["began"] for u in used) < min(u["ended"] for u in used)


def test_what_goes_wrong_in_a_tool_is_told_to_the_model_and_the_task_goes_on():
    @tool
    def bad(how: str) -> str:
        """Goes wrong."""
        if how == "huge":
            return "x" * (100 << 20)
        raise ValueError("no such luck")

    @tool(timeout=0.2)
    def hang() -> None:
        """Takes too long."""
        time.sleep(3)

    lines = [call("bad", how="raise"), call("hang"), call("bad", how="huge")]
    response = run(scripted(*lines, call("worse"), call("bad"), "went on", tools=[bad, hang]))
    assert response.answer == "went on"
    raised, hung, huge, unknown, wrong = observations(response)
    assert raised == "ValueError: no such luck"
    assert "stopped after 0.2 s" in hung
    assert len(huge) < 21_000
    assert "characters left out" in huge
    assert "no tool named 'worse'" in unknown
    assert "how" in wrong


def test_another_agent_can_be_a_tool_and_its_steps_are_under_both_names():
    helper = Agent("helper", model=ScriptedModel([call("double", number=3), "six"]), tools=[double])
    boss = Agent("boss", model=ScriptedModel([call("helper", input="3*2?"), "ok"]), tools=[helper])
    response = run(boss)
    assert "six" in observations(response)
    agents = [step["agent"] for step in response.trajectory.steps]
    assert agents == ["boss", "boss/helper", "boss/helper", "boss"]


def test_a_conversation_can_be_the_input():
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    agent = Agent("a", model=ScriptedModel(lambda messages: str(len(messages))))
    assert run(agent, [*messages, {"role": "user", "content": "?"}]).answer == "3"


def test_an_agent_can_be_called_by_hand():
    assert asyncio.run(scripted(call("double", number=1), "2", tools=[double]).run("?")) == "2"


# -- limits --------------------------------------------------------------------------------------


@tool
async def briefly() -> str:
    """Waits a moment."""
    await asyncio.sleep(0.02)
    return "x"


def forever(**options):
    return Agent(
        "a", model=ScriptedModel(lambda _: call("double", number=1)), tools=[double], **options
    )


def test_it_is_truncated_after_max_steps():
    response = run(forever(max_steps=3))
    assert (response.status, len(response.trajectory.steps)) == ("truncated", 3)
    assert response.trajectory.status == "truncated"
    assert "max_steps=3" in response.msg


def test_it_is_truncated_after_max_tokens():
    response = run(forever(max_steps=1000, max_tokens=500))
    assert response.status == "truncated"
    assert 500 <= response.usage["prompt_tokens"] + response.usage["completion_tokens"] < 800


def test_an_answer_that_was_cut_is_truncated_and_kept(server):
    server.answer = lambda _: reply_with(
        {"role": "assistant", "content": "half an ans"}, finish_reason="length"
    )
    response = run(Agent("a", model=OpenAIModel("fake", base_url=server.url)))
    assert (response.status, response.answer) == ("truncated", "half an ans")


@pytest.mark.parametrize("limit", [{"max_tokens": 3000}, {"max_cost": 0.03}])
def test_a_run_stops_cleanly_when_its_budget_is_used_up(limit):
    model = ScriptedModel(lambda _: call("briefly"), prices=(10.0, 10.0))
    agent = Agent("a", model=model, tools=[briefly], max_steps=5)
    tasks = [Task(input="?", agent=agent) for _ in range(100)]
    conf = RunConfig(worker_num=2, tasks_per_worker=2, **limit)
    stream = Runners.stream_tasks(tasks, conf)
    responses = list(stream)
    assert len(responses) == 100
    kinds = Counter(response.status for response in responses)
    assert kinds.keys() == {"truncated", "skipped"}
    assert kinds["skipped"] > 50
    skipped = next(r for r in responses if r.status == "skipped")
    assert f"{next(iter(limit))}=" in skipped.msg
    assert 3000 <= stream.usage.tokens < 6000
    assert stream.usage.cost == pytest.approx(stream.usage.tokens * 10 / 1e6)
    assert sum(r.usage.get("cost", 0) for r in responses) == pytest.approx(stream.usage.cost)


def test_an_agents_tokens_are_its_own():
    small = Agent("small", model=ScriptedModel([call("briefly"), "ok"]), tools=[briefly])
    small.max_tokens = 300
    big = Agent("big", model=ScriptedModel(["long " * 1000]))
    for agents in ([small, big], [big, small]):
        assert run(ParallelizableAgent(agents=agents)).answer["small"] == "ok"


def test_a_cost_limit_wants_to_know_the_prices():
    with pytest.raises(ConfigError, match="max_cost needs to know what"):
        run(SerialAgent(agents=[scripted("x")]), conf=RunConfig(max_cost=1.0))


def test_what_a_task_has_spent_is_known_even_if_its_worker_had_to_be_ended():
    @tool
    async def block() -> None:
        """Blocks the event loop."""
        time.sleep(60)

    agent = scripted(call("double", number=1), call("block"), tools=[double, block])
    response = run(agent, conf=RunConfig(worker_num=1, timeout=1))
    assert response.status == "timeout"
    assert response.usage["model_calls"] == 2


# -- what is allowed -----------------------------------------------------------------------------


def test_a_tasks_own_list_of_tools_is_all_that_is_on_offer():
    agent = scripted(call("slowly", word="x"), "done", tools=[double, slowly])
    response = run(agent, tools=["double"])
    (spec,) = response.trajectory.steps[0]["model_call"]["tools"]
    assert spec["function"]["name"] == "double"
    assert "no tool named 'slowly'" in observations(response)[0]
    with pytest.raises(ConfigError, match="did you mean 'double'"):
        run(agent, tools=["doble"])


def test_a_tasks_list_of_tools_is_for_all_agents_in_it():
    helper = Agent("helper", model=ScriptedModel([call("double", number=3), "6"]), tools=[double])
    lines = [call("helper", input="?"), "ok"]
    boss = Agent("boss", model=ScriptedModel(lines), tools=[helper, slowly])
    both = run(boss, tools=["helper", "double"])
    assert (both.status, observations(both)) == ("success", ["6", "6"])
    lone = run(boss, tools=["helper"])
    assert "no tool named 'double'" in observations(lone)[1]
    assert [len(step["model_call"]["tools"]) for step in lone.trajectory.steps] == [1, 0, 0, 1]


def only_small(name, arguments):
    return True if arguments["number"] < 10 else "too large for me"


async def never(name, arguments):
    return False


def test_an_approval_hook_is_asked_before_each_call():
    lines = [call("double", number=4), call("double", number=40), "done"]
    approved = run(scripted(*lines, tools=[double], approve=only_small))
    assert observations(approved) == ["8", "the call was not approved: too large for me"]
    refused = run(scripted(*lines, tools=[double], approve=never))
    assert observations(refused) == ["the call was not approved"] * 2


def test_no_odd_arguments_get_past_the_approval_hook():
    @tool
    def act(why: str = "") -> str:
        """Acts."""
        return "acted"

    def written(arguments):
        message = call("act")
        message["tool_calls"][0]["function"]["arguments"] = arguments
        return message

    odd = [" ", "", "not json", "[" * 5000, "[]", "null", '{"why": 3}']
    response = run(scripted(*map(written, odd), "done", tools=[act], approve=never, max_steps=20))
    assert len(observations(response)) == len(odd)
    assert "acted" not in observations(response)
    # a hook that fails says no
    lines = [call("double"), "done"]
    failed = run(scripted(*lines, tools=[double], approve=only_small))
    assert observations(failed) == ["the call was not approved: 'number'"]


def test_a_tool_can_read_an_idempotency_key_that_is_the_same_for_every_attempt():
    @tool
    def pay() -> str:
        """Pays."""
        return current_task().idempotency_key

    assert observations(run(scripted(call("pay"), "paid", tools=[pay]), id="bill 7")) == ["bill 7"]


# -- the form of the answer ----------------------------------------------------------------------


class City(BaseModel):
    name: str
    people: int


def test_an_answer_comes_in_the_form_asked_for_after_corrections():
    lines = ["Paris!", '{"name": "Paris"}', '```json\n{"name": "Paris", "people": 2}\n```']
    response = run(scripted(*lines, output_type=City))
    assert response.answer == City(name="Paris", people=2)
    assert json.loads(json.dumps(response.trajectory.to_dict()))["final_result"] == {
        "name": "Paris",
        "people": 2,
    }
    said = response.trajectory.steps[1]["observation"]["content"]
    assert "people" in said
    assert "Field required" in said


def test_an_answer_that_never_fits_is_a_failure_not_an_answer():
    response = run(scripted(*["no"] * 9, output_type=City, corrections=2))
    assert response.status == "failed"
    assert "no valid answer after 2 corrections" in response.msg
    assert len(response.trajectory.steps) == 3


def test_the_schema_is_sent_to_the_server(server):
    server.answer = lambda _: reply_with(
        {"role": "assistant", "content": '{"name":"X","people":1}'}
    )
    response = run(Agent("a", model=OpenAIModel("m", base_url=server.url), output_type=City))
    assert response.answer == City(name="X", people=1)
    sent = json.loads(server.bodies[0])["response_format"]["json_schema"]["schema"]
    assert sent["required"] == ["name", "people"]


# -- seeds ---------------------------------------------------------------------------------------


def test_seeds_do_not_depend_on_which_call_is_faster():
    """Three calls of one sub-agent at once, each with its own seeds, the same in every run."""

    def seen(messages):
        return call("briefly") if len(messages) < 3 else messages[0]["content"]

    helper = Agent("helper", model=ScriptedModel(seen), tools=[briefly])
    inputs = [("helper", {"input": word}) for word in ("a", "b", "c")]
    boss = Agent("boss", model=ScriptedModel([calls(*inputs), "done"]), tools=[helper])
    seeds = set()
    for _ in range(4):
        steps = run(boss, id="t").trajectory.steps
        by_input = {}
        for step in steps:
            recorded = step["model_call"]
            first = recorded["messages"][0]["content"]
            by_input.setdefault(first, []).append(recorded["settings"]["seed"])
        seeds.add(json.dumps(by_input, sort_keys=True))
    assert len(seeds) == 1
    assert len({seed for group in by_input.values() for seed in group}) == 8
