"""An `openai` client that a model gives: like any other, but what it asks is recorded."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from typing import ClassVar

import openai
import pytest
import torch

from aworld import Agent, BudgetError, TruncatedError
from aworld.agents.identity import identify
from aworld.core.context import TaskContext, acting_as, in_task
from aworld.models.base import Model
from aworld.models.openai_model import OpenAIModel
from aworld.models.recorded_client import recorded_client
from aworld.models.scripted import ScriptedModel, call
from aworld.policies import ByteConfig, BytePolicy
from aworld.serve import PolicyServer

HELLO = [{"role": "user", "content": "hello"}]
ADD = {"name": "add", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}}
TOOLS = [{"type": "function", "function": ADD}]


@pytest.fixture(scope="module")
def server():
    torch.set_num_threads(1)
    size = ByteConfig(width=32, layers=1, heads=2, inner=64, context_tokens=64)
    with PolicyServer(BytePolicy(size)) as server:
        yield server


def model_of(server: PolicyServer, **settings) -> OpenAIModel:
    settings = {"temperature": 1.0, "max_tokens": 5, **settings}
    return OpenAIModel(
        "byte", base_url=f"{server.url}/v1", api_key=server.key, token_ids=True, **settings
    )


def in_a_task(work) -> list[dict]:
    """The steps that an async function leaves."""

    async def body():
        with in_task(TaskContext("t", seed=3)) as task, acting_as("me"):
            await work()
            return task.steps

    return asyncio.run(body())


def test_a_call_is_recorded_as_one_of_our_own_agent(server):
    model = model_of(server)

    async def ours():
        with pytest.raises(TruncatedError):  # its answer is cut
            await Agent("me", model=model).run("hello")

    async def theirs():
        reply = await model.client().chat.completions.create(model="byte", messages=HELLO)
        said.append(reply.choices[0].message.content)

    said = []
    (own,), (step,) = in_a_task(ours), in_a_task(theirs)
    for one in (own, step):
        del one["model_call"]["began"], one["model_call"]["ended"]
    assert step == own
    record = step["model_call"]
    assert len(record["completion_ids"]) == len(record["logprobs"]) == 5
    assert record["policy_version"] == "0"
    assert record["settings"]["temperature"] == 1.0
    assert record["reply"]["content"] == said[0]


def test_a_stream_is_recorded_too(server):
    heard, usage = [], []

    async def streaming():
        client = model_of(server).client()
        stream = await client.chat.completions.create(
            model="byte", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
        async for chunk in stream:
            heard.extend(choice.delta.content or "" for choice in chunk.choices)
            usage.append(chunk.usage)

    (step,) = in_a_task(streaming)
    assert "".join(heard) == step["model_call"]["reply"]["content"]
    assert usage[-1].completion_tokens == len(step["model_call"]["completion_ids"]) == 5
    assert "stream" not in step["model_call"]["settings"]


def test_calls_at_once_are_all_recorded_each_with_luck_of_its_own(server):
    async def many():
        client = model_of(server).client()
        asked = [client.chat.completions.create(model="byte", messages=HELLO) for _ in range(8)]
        replies = await asyncio.gather(*asked)
        said.extend(reply.choices[0].message.content for reply in replies)

    said = []
    steps = in_a_task(many)
    assert sorted(said) == sorted(step["model_call"]["reply"]["content"] for step in steps)
    assert len({step["model_call"]["settings"]["seed"] for step in steps}) == 8
    assert [step["step"] for step in steps] == list(range(8))


def test_outside_of_a_task_it_is_a_client_like_any_other(server):
    async def body():
        return await model_of(server).client().chat.completions.create(model="byte", messages=HELLO)

    assert asyncio.run(body()).usage.completion_tokens == 5


def test_what_the_caller_sets_is_sent_and_recorded(server):
    async def body():
        await (
            model_of(server)
            .client()
            .chat.completions.create(
                model="byte", messages=HELLO, temperature=0.5, max_completion_tokens=3, seed=None
            )
        )

    (step,) = in_a_task(body)
    settings = step["model_call"]["settings"]
    assert (settings["temperature"], settings["max_tokens"]) == (0.5, 3)
    assert "max_completion_tokens" not in settings
    assert isinstance(settings["seed"], int)


def test_what_the_server_refuses_is_raised_as_openai_does(server):
    async def too_long():
        client = model_of(server).client().with_options(max_retries=5)
        with pytest.raises(openai.BadRequestError, match="max_tokens is 1000: the context"):
            await client.chat.completions.create(model="byte", messages=HELLO, max_tokens=1000)

    assert in_a_task(too_long) == []


def test_a_server_that_is_gone_is_an_error_of_the_call():
    async def ask():
        gone = OpenAIModel("m", base_url="http://127.0.0.1:9/v1", retries=1, connect_seconds=0.2)
        client = gone.client().with_options(max_retries=5)
        with pytest.raises(openai.InternalServerError, match="cannot be reached"):
            await client.chat.completions.create(model="m", messages=HELLO)

    assert in_a_task(ask) == []


def test_what_would_not_be_recorded_is_refused(server):
    async def body():
        client = model_of(server).client()
        ask = client.chat.completions.create
        with pytest.raises(openai.NotFoundError, match="'gpt' was wanted"):
            await ask(model="gpt", messages=HELLO)
        with pytest.raises(openai.NotFoundError, match="OpenAIChatCompletionsModel"):
            await client.responses.create(model="byte", input="hello")
        with pytest.raises(openai.BadRequestError, match="one choice"):
            await ask(model="byte", messages=HELLO, n=2)
        with pytest.raises(openai.BadRequestError, match="leave it out"):
            await ask(model="byte", messages=HELLO, logprobs=True)

    assert in_a_task(body) == []


def test_results_of_tools_belong_to_the_step_that_called_them():
    async def body():
        client = recorded_client(ScriptedModel([call("add", a=1, b=2), call("add", a=3, b=3), "6"]))
        messages = list(HELLO)
        for result in ("3", "6", None):
            reply = await client.chat.completions.create(
                model="scripted", messages=messages, tools=TOOLS
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            for wanted in message.tool_calls or ():
                messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})

    first, second, last = in_a_task(body)
    assert first["observation"] == [{"role": "tool", "tool_call_id": "call_0", "content": "3"}]
    (used,) = first["tool_calls"]
    assert (used["tool"], used["arguments"], used["result"]) == ("add", '{"a": 1, "b": 2}', "3")
    assert second["tool_calls"][0]["result"] == "6"
    assert last["observation"] is None
    assert last["model_call"]["tools"] == TOOLS


def test_what_the_model_said_goes_back_to_it_as_it_was():
    """A framework may write the arguments of a call with other spaces."""
    said = call("add", a=1, b=2)["tool_calls"][0]
    asked = {"id": "call_0", "type": "function"}
    other = {**asked, "function": {"name": "add", "arguments": '{"a":1,"b":3}'}}

    async def body():
        client = recorded_client(ScriptedModel([call("add", a=1, b=2), "3", "4"]))
        ask = client.chat.completions.create
        await ask(model="scripted", messages=HELLO, tools=TOOLS)
        spaced = {**asked, "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}
        for made in (spaced, other):
            turn = {"role": "assistant", "tool_calls": [made]}
            await ask(model="scripted", messages=[*HELLO, turn], tools=TOOLS)

    _, same, changed = in_a_task(body)
    assert same["model_call"]["messages"][1]["tool_calls"] == [said]
    assert changed["model_call"]["messages"][1]["tool_calls"] == [other]


def test_calls_of_tools_can_be_streamed():
    async def body():
        client = recorded_client(ScriptedModel([call("add", a=1, b=2)]))
        async with client.chat.completions.stream(
            model="scripted", messages=HELLO, tools=TOOLS
        ) as stream:
            made = (await stream.get_final_completion()).choices[0]
        assert made.finish_reason == "tool_calls"
        assert made.message.tool_calls[0].function.arguments == '{"a": 1, "b": 2}'

    assert len(in_a_task(body)) == 1


class Slow(Model):
    async def complete(self, request, on_text=None):
        await asyncio.sleep(60)
        raise AssertionError


def test_a_caller_waits_no_longer_than_it_wants_to():
    async def body():
        client = recorded_client(Slow("slow")).with_options(timeout=0.05)
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(model="slow", messages=HELLO)

    assert in_a_task(body) == []


def test_a_spent_budget_ends_the_task_as_it_does_elsewhere():
    class Stopped:
        announced: ClassVar = {"stop": "max_tokens=5 are used up"}

        def tell(self, news):
            pass

    async def body():
        client = recorded_client(ScriptedModel(["hello"]))
        with in_task(TaskContext(line=Stopped())):
            await client.chat.completions.create(model="scripted", messages=HELLO)

    with pytest.raises(BudgetError, match="used up"):
        asyncio.run(body())


def test_it_travels_and_is_known_again(server):
    model = model_of(server)
    client = model.client().with_options(max_retries=1)
    twin = pickle.loads(pickle.dumps(client))
    assert twin.max_retries == 1
    assert server.key not in repr(vars(client))

    async def ask():
        await twin.chat.completions.create(model="byte", messages=HELLO)

    assert len(in_a_task(ask)) == 1

    class Mine:
        def __init__(self, client):
            self.client = client

    one, same, other = (
        identify(Mine(made.client())).fingerprint
        for made in (model, model_of(server), model_of(server, temperature=0.5))
    )
    assert one == same != other
    sync = pickle.loads(pickle.dumps(model.sync_client()))
    assert sync.chat.completions.create(model="byte", messages=HELLO).usage.completion_tokens == 5


def test_code_that_blocks_has_a_client_of_its_own(server):
    async def body():
        client = model_of(server).sync_client()
        ask = client.chat.completions.create
        ask(model="byte", messages=HELLO)  # here, where an event loop runs
        calls = [asyncio.to_thread(ask, model="byte", messages=HELLO) for _ in range(3)]
        await asyncio.gather(*calls)
        chunks = ask(model="byte", messages=HELLO, stream=True)
        assert sum(len(chunk.choices) for chunk in chunks) == 2
        with pytest.raises(openai.NotFoundError):
            ask(model="gpt", messages=HELLO)

    steps = in_a_task(body)
    assert len({step["model_call"]["settings"]["seed"] for step in steps}) == 5
    assert {step["agent"] for step in steps} == {"me"}


def test_it_leaves_nothing_open(server):
    script = f"""
import asyncio, gc
from aworld.models.openai_model import OpenAIModel
model = OpenAIModel("byte", base_url="{server.url}/v1", api_key="{server.key}", max_tokens=2)
asked = dict(model="byte", messages=[{{"role": "user", "content": "a"}}])
async def ask():
    await model.client().chat.completions.create(**asked)
asyncio.run(ask())
model.sync_client().chat.completions.create(**asked)
gc.collect()
print("done")
"""
    command = [sys.executable, "-W", "default", "-W", "ignore::DeprecationWarning", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
