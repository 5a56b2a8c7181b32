"""What is recorded is what was sent and received: token for token, byte for byte."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from fake_server import FakeServer, reply_with

from aworld import Agent, ParallelizableAgent, RunConfig, Runners, Task, Trajectory, tool
from aworld.models.openai_model import OpenAIModel
from aworld.models.scripted import ScriptedModel, call


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    await asyncio.sleep(0.01)
    return a + b


def three_calls_at_once(request):
    """Two tools at the same time, then the answer."""
    if any(message["role"] == "tool" for message in request["messages"]):
        return reply_with({"role": "assistant", "content": "é 漢 \u2028 done"})
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "add", "arguments": arguments}}
        for n, arguments in enumerate(['{"a":1,"b":2}', '{"a": 3, "b": 4}', "not json"])
    ]
    return reply_with({"role": "assistant", "content": "Let me see.", "tool_calls": calls})


def canonical(value):
    return json.dumps(value, sort_keys=True).encode()


def calls_of(responses):
    return [
        step["model_call"]
        for response in responses.values()
        for step in response.trajectory.steps
        if "model_call" in step
    ]


def request_of(call):
    """The request, put together again from the record."""
    tools = {"tools": call["tools"]} if call["tools"] else {}
    return {**call["settings"], "messages": call["messages"], **tools}


def test_the_record_equals_what_the_server_saw_and_said(server):
    server.answer = three_calls_at_once
    model = OpenAIModel("fake", base_url=server.url, temperature=0.7, top_p=0.9)
    one = Agent("one", model=model, tools=[add], system_prompt="Be exact: ünïcödé.")
    other = Agent("other", model=model, tools=[add])
    both = ParallelizableAgent("both", agents=[one, other])
    tasks = [Task(input=f"question {n}", agent=both, id=str(n)) for n in range(40)]
    responses = Runners.sync_run_task(tasks, RunConfig(worker_num=2, tasks_per_worker=20))
    assert all(response.success for response in responses.values())
    calls = calls_of(responses)
    assert len(calls) == 40 * 2 * 2
    assert Counter(map(canonical, map(request_of, calls))) == Counter(
        canonical(json.loads(body)) for body in server.bodies
    )
    said = Counter(
        canonical(json.loads(reply)["choices"][0]["message"]) for reply in server.replies
    )
    assert Counter(canonical(call["reply"]) for call in calls) == said
    for response in responses.values():
        assert {step["agent"] for step in response.trajectory.steps} == {"both/one", "both/other"}
        question = f"question {response.id}"
        for recorded in calls_of({"": response}):
            assert (
                next(m for m in recorded["messages"] if m["role"] == "user")["content"] == question
            )


def test_a_streamed_reply_is_recorded_like_a_whole_one(server):
    server.answer = three_calls_at_once
    agent = Agent("a", model=OpenAIModel("fake", base_url=server.url), tools=[add])
    whole = Runners.sync_run("q", agent, RunConfig(seed=1))
    events = list(Runners.stream_events(Task(input="q", agent=agent), RunConfig(seed=1)))
    assert [event.kind for event in events][-1] == "finished"
    streamed = events[-1].response
    assert "".join(event.text for event in events if event.kind == "text") == (
        "Let me see.é 漢 \u2028 done"
    )
    assert [step["action"] for step in streamed.trajectory.steps] == [
        step["action"] for step in whole.trajectory.steps
    ]
    assert streamed.usage == whole.usage
    kinds = Counter(event.kind for event in events)
    assert (kinds["tool_call"], kinds["tool_result"]) == (3, 3)


def test_token_ids_and_logprobs_are_kept_as_the_server_gave_them(server):
    def with_ids(request):
        assert request["return_token_ids"]
        assert request["logprobs"]
        logprobs = {"content": [{"token": "4", "logprob": -0.25}, {"token": "2", "logprob": -1.5}]}
        reply = reply_with(
            {"role": "assistant", "content": "42"}, token_ids=[19, 17], logprobs=logprobs
        )
        return {**reply, "prompt_token_ids": [1, 2, 3], "policy_version": "7"}

    server.answer = with_ids
    model = OpenAIModel("fake", base_url=server.url, token_ids=True)
    (recorded,) = calls_of({"": Runners.sync_run("q", Agent("a", model=model))})
    assert recorded["prompt_ids"] == [1, 2, 3]
    assert recorded["completion_ids"] == [19, 17]
    assert recorded["logprobs"] == [-0.25, -1.5]
    assert recorded["completion_texts"] == ["4", "2"]
    assert recorded["policy_version"] == "7"


def test_a_trajectory_survives_json():
    agent = Agent("a", model=ScriptedModel([call("add", a=1, b=2), "3"]), tools=[add])
    trajectory = Runners.sync_run("1 + 2?", agent).trajectory
    data = json.loads(json.dumps(trajectory.to_dict()))
    assert data["schema_version"] == 1
    assert Trajectory.from_dict(data) == trajectory


@pytest.mark.parametrize(
    ("change", "message"),
    [({"schema_version": 99}, "schema_version 99"), ({"colour": 1}, "colour")],
)
def test_a_trajectory_of_another_form_is_refused_by_name(change, message):
    data = {**Trajectory("t", "a").to_dict(), **change}
    with pytest.raises(ValueError, match=message):
        Trajectory.from_dict(data)


def test_failed_attempts_are_not_in_the_record_twice(server):
    server.fault = lambda number: "500" if number % 2 else None
    agent = Agent("a", model=OpenAIModel("fake", base_url=server.url), tools=[add])
    response = Runners.sync_run("Add 1 and 2", agent)
    assert response.answer == "3"
    calls = calls_of({"": response})
    assert [call["attempts"] for call in calls] == [2, 2]
    assert response.usage["model_calls"] == 2


def test_two_servers_do_not_mix():
    with FakeServer() as one, FakeServer() as other:
        for server, word in ((one, "one"), (other, "other")):
            server.answer = lambda request, word=word: reply_with(
                {"role": "assistant", "content": word}
            )
        agents = {
            word: Agent(word, model=OpenAIModel("fake", base_url=server.url))
            for server, word in ((one, "one"), (other, "other"))
        }
        tasks = [
            Task(input="?", agent=agents[word], id=f"{word} {n}")
            for n in range(20)
            for word in agents
        ]
        responses = Runners.sync_run_task(tasks)
        assert all(r.answer == r.id.split()[0] for r in responses.values())
