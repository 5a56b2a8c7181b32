"""The server as its users see it: the openai client, our own model and agent, many at once."""

from __future__ import annotations

import asyncio

import openai
import pytest
import torch
from speaking import chat, small_policy, taught

from aworld import Agent, RunConfig, Runners, Task, tool
from aworld.core.context import TaskContext, in_task
from aworld.models.base import ModelRequest
from aworld.models.openai_model import OpenAIModel
from aworld.serve import PolicyServer

MESSAGES = [{"role": "user", "content": "hello"}]


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key, max_retries=0) as client:
        yield client


def model_of(server, **settings):
    return OpenAIModel(
        "byte", base_url=f"{server.url}/v1", api_key=server.key, token_ids=True, **settings
    )


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


ADD = {
    "type": "function",
    "function": {"name": "add", "parameters": {"properties": {"a": {}, "b": {}}}},
}
CALL = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":3}'}}
LESSON = [
    {"role": "user", "content": "2+3?"},
    {"role": "assistant", "content": "Well.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "5"},
    {"role": "assistant", "content": "It is 5."},
]


@pytest.fixture(scope="module")
def pupil():
    """A model that has learned one conversation by heart."""
    torch.set_num_threads(1)
    return taught(small_policy(), [LESSON], [ADD])


def test_the_openai_client_reads_the_reply(client):
    reply = client.chat.completions.create(
        model="byte", messages=MESSAGES, max_tokens=8, seed=1, logprobs=True
    )
    assert reply.usage.completion_tokens == 8
    assert len(reply.choices[0].logprobs.content) == 8
    assert reply.policy_version == 0
    assert [model.id for model in client.models.list()] == ["byte"]


def test_the_openai_client_raises_what_the_server_refuses(client, server):
    with pytest.raises(openai.BadRequestError, match="the context of 'byte'"):
        client.chat.completions.create(model="byte", messages=MESSAGES, max_tokens=5000)
    with pytest.raises(openai.NotFoundError, match="no model 'other' here"):
        client.chat.completions.create(model="other", messages=MESSAGES)
    with (
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong") as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()


@pytest.mark.parametrize("stop", [None, "l", ["zz", "e"]])
def test_a_streamed_reply_is_the_same_as_one_in_one_piece(client, stop):
    asked = {"model": "byte", "messages": MESSAGES, "max_tokens": 60, "seed": 4, "logprobs": True}
    asked |= {"stop": stop, "extra_body": {"return_token_ids": True}}
    whole = client.chat.completions.create(**asked)
    text, ids, logprobs, versions, finish = "", [], [], [], None
    for chunk in client.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    ):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            ids += getattr(choice, "token_ids", [])
            versions += getattr(choice, "policy_versions", [])
            logprobs += (
                [entry.logprob for entry in choice.logprobs.content] if choice.logprobs else []
            )
            finish = choice.finish_reason or finish
        usage = chunk.usage
    (choice,) = whole.choices
    assert text == choice.message.content
    assert (ids, finish) == (choice.token_ids, choice.finish_reason)
    assert logprobs == [entry.logprob for entry in choice.logprobs.content]
    assert versions == [0] * len(ids)
    assert usage == whole.usage


def test_a_streamed_plain_completion_is_the_same_as_one_in_one_piece(client):
    asked = {"model": "byte", "prompt": "The fox", "max_tokens": 60, "seed": 4}
    whole = client.completions.create(**asked)
    chunks = client.completions.create(**asked, stream=True)
    assert "".join(c.choices[0].text for c in chunks) == whole.choices[0].text


def test_our_model_records_ids_log_probabilities_and_version(server, policy):
    with policy.updating():
        pass
    model = model_of(server, max_tokens=9, temperature=0.7)
    reply, record = asyncio.run(model.ask(ModelRequest(MESSAGES)))
    assert reply.prompt_ids == policy.encode_chat(MESSAGES)
    assert len(reply.completion_ids) == len(reply.logprobs) == reply.completion_tokens == 9
    assert reply.policy_version == record["policy_version"] == "1"
    ids = torch.tensor([reply.prompt_ids + reply.completion_ids])
    with torch.no_grad():
        expected = policy.logprobs(ids, temperature=0.7)[0, len(reply.prompt_ids) - 1 :]
    torch.testing.assert_close(torch.tensor(reply.logprobs), expected, atol=1e-4, rtol=1e-4)


def test_weights_that_move_during_a_reply_are_recorded_token_for_token():
    policy = small_policy(ends=False)

    async def asked(server):
        model = model_of(server, max_tokens=900)
        asking = asyncio.ensure_future(model.ask(ModelRequest(MESSAGES)))
        while server.generator.load != (1, 0):
            await asyncio.sleep(0.001)
        with policy.updating():
            (one,) = server.generator._batch.rows
            before = len(one.ids)
        return await asking, before

    with PolicyServer(policy) as server:
        (_, record), before = asyncio.run(asked(server))
    assert record["policy_version"] == "0"  # of the oldest
    assert record["policy_versions"] == [0] * before + [1] * (900 - before)


def test_our_model_reads_a_stream_just_the_same(server):
    async def both():
        model = model_of(server, max_tokens=30)
        heard = []
        with in_task(TaskContext(seed=1)):
            whole = await model.complete(
                ModelRequest(MESSAGES, settings={"seed": 3, "max_tokens": 9})
            )
            streamed = await model.complete(
                ModelRequest(MESSAGES, settings={"seed": 3, "max_tokens": 9}), heard.append
            )
        return whole, streamed, "".join(heard)

    whole, streamed, heard = asyncio.run(both())
    assert heard == streamed.text == whole.text
    for part in ("prompt_ids", "completion_ids", "logprobs", "policy_version", "finish_reason"):
        assert getattr(streamed, part) == getattr(whole, part) is not None


def test_an_agent_in_worker_processes_uses_a_tool_that_the_model_calls(pupil):
    with PolicyServer(pupil) as server:
        agent = Agent("pupil", model=model_of(server, temperature=0.0, max_tokens=60), tools=[add])
        tasks = [Task(input="2+3?", agent=agent, id=str(number)) for number in range(6)]
        responses = Runners.sync_run_task(tasks, RunConfig(worker_num=2))
    for response in responses.values():
        assert response.success
        assert response.answer == "It is 5."
        first, second = (step["model_call"] for step in response.trajectory.steps)
        assert first["finish_reason"] == "tool_calls"
        assert first["reply"]["content"] == "Well."
        assert [message["content"] for message in response.trajectory.steps[0]["observation"]] == [
            "5"
        ]
        # what the model was shown and said before is, token for token, how the next prompt begins
        so_far = first["prompt_ids"] + first["completion_ids"]
        assert second["prompt_ids"][: len(so_far)] == so_far
        assert second["policy_version"] == str(pupil.version)


def test_a_call_is_streamed_as_a_call_and_not_as_text(pupil):
    with (
        PolicyServer(pupil) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key) as client,
    ):
        asked = {"model": "byte", "messages": LESSON[:1], "tools": [ADD], "temperature": 0}
        whole = client.chat.completions.create(**asked)
        chunks = list(client.chat.completions.create(**asked, stream=True))
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
        without = client.chat.completions.create(**asked, tool_choice="none", max_tokens=5)
    (call,) = [call for delta in deltas for call in delta.tool_calls or []]
    assert call.function.name == "add"
    assert call.function.arguments == '{"a": 2, "b": 3}'
    assert "".join(delta.content or "" for delta in deltas) == "Well."
    assert whole.choices[0].message.content == "Well."
    assert whole.choices[0].message.tool_calls[0].id == call.id
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert without.choices[0].message.tool_calls is None


def test_two_hundred_at_once_are_all_answered_as_they_would_be_alone(policy):
    policy.stop_ids = frozenset()

    async def everybody(server, numbers):
        model = model_of(server, max_tokens=12, temperature=1.0)
        requests = [
            ModelRequest(chat(f"question {number}")["messages"], settings={"seed": number})
            for number in numbers
        ]
        replies = await asyncio.gather(*(model.ask(request) for request in requests))
        return [reply for reply, _ in replies]

    with PolicyServer(policy, max_batch=64) as server:
        together = asyncio.run(everybody(server, range(200)))
        some = range(0, 200, 40)
        alone = [asyncio.run(everybody(server, [number]))[0] for number in some]
    assert [len(reply.completion_ids) for reply in together] == [12] * 200
    for number, reply in zip(some, alone, strict=True):
        assert together[number].completion_ids == reply.completion_ids
    for number, reply in enumerate(together):
        assert f"question {number}".encode() in bytes(t for t in reply.prompt_ids if t < 256)
