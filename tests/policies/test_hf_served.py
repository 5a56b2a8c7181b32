"""A Hugging Face model behind the server: tokens of several bytes, calls in the way of Hermes."""

from __future__ import annotations

import json

import openai
import pytest
import torch
from tiny_hf import tiny_hf_policy

from aworld.serve import Generator, PolicyServer, Sampling

MESSAGES = [{"role": "user", "content": "What is 12 + 5?"}]
ADD = {"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {}}}}}
CALL = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a":  12}'}}


@pytest.fixture(scope="module")
def pupil():
    """Has learned by heart to say something and to call a tool."""
    torch.set_num_threads(1)
    policy = tiny_hf_policy()
    before = policy.encode_chat(MESSAGES, [ADD])
    said = policy.encode_reply({"content": "Well é漢.", "tool_calls": [CALL]}, [ADD])
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    for _ in range(60):
        loss = -policy.logprobs(torch.tensor([before + said]))[:, len(before) - 1 :].mean()
        optimizer.zero_grad()
        loss.backward()
        with policy.updating():
            optimizer.step()
    return policy


@pytest.fixture(scope="module")
def client(pupil):
    with (
        PolicyServer(pupil) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key=server.key) as client,
    ):
        yield client


def test_log_probabilities_and_tokens_do_not_depend_on_the_company():
    policy = tiny_hf_policy()
    prompts = [policy.encode(f"{number} " * (1 + number % 9)) for number in range(30)]
    samplings = [Sampling(20 + seed, seed=seed, temperature=0.8) for seed in range(30)]
    with Generator(policy, max_batch=12) as generator:
        together = generator.generate(prompts, samplings)
        alone = generator.generate(prompts[7:8], samplings[7:8])[0]
    assert alone.ids == together[7].ids
    for made in together:
        ids = torch.tensor([made.prompt + made.ids])
        with torch.no_grad():
            expected = policy.logprobs(ids, temperature=0.8)[0, len(made.prompt) - 1 :]
        torch.testing.assert_close(torch.tensor(made.logprobs), expected, atol=1e-4, rtol=1e-4)


def test_a_call_comes_as_it_was_sampled_in_one_piece_and_streamed(client):
    asked = {"model": "tiny", "messages": MESSAGES, "tools": [ADD], "temperature": 0}
    whole = client.chat.completions.create(**asked).choices[0]
    deltas = [c.choices[0].delta for c in client.chat.completions.create(**asked, stream=True)]
    assert whole.finish_reason == "tool_calls"
    assert whole.message.content == "Well é漢."
    assert "".join(delta.content or "" for delta in deltas) == "Well é漢."
    (call,) = whole.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("add", '{"a":  12}')
    (streamed,) = [call for delta in deltas for call in delta.tool_calls or []]
    assert streamed.function.arguments == call.function.arguments
    assert json.loads(call.function.arguments) == {"a": 12}


@pytest.mark.parametrize("stop", [None, "l é", ["漢"], "ell"])
def test_a_stream_is_the_same_with_tokens_that_are_parts_of_characters(client, stop):
    asked = {"model": "tiny", "messages": MESSAGES, "temperature": 0, "max_tokens": 60}
    asked |= {"stop": stop, "tools": [ADD], "tool_choice": "none"}
    for seed, temperature in ((0, 0), (1, 1.0), (2, 2.0)):
        asked |= {"seed": seed, "temperature": temperature}
        whole = client.chat.completions.create(**asked).choices[0]
        chunks = [
            chunk.choices[0] for chunk in client.chat.completions.create(**asked, stream=True)
        ]
        assert "".join(chunk.delta.content or "" for chunk in chunks) == whole.message.content
        assert chunks[-1].finish_reason == whole.finish_reason


def test_what_is_no_token_is_refused(client):
    with pytest.raises(openai.BadRequestError, match="each from 0 to 293"):
        client.completions.create(model="tiny", prompt=[5, 294])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_graphs_on_a_gpu_say_what_a_full_pass_says_also_after_the_weights_have_moved():
    policy = tiny_hf_policy()
    policy.module.to("cuda")
    ids = [5, 6, 7, 8, 9, 10]
    cache = policy.open_cache()
    policy.prefill(cache, [0], [ids[:3]])
    for place in (3, 4, 5):
        token, position = torch.tensor(ids[place : place + 1]), torch.tensor([place])
        logits = policy.step(cache, token.cuda(), position.cuda(), place + 1)
        with torch.no_grad():
            full = policy.head(policy.hidden(torch.tensor([ids[: place + 1]]).cuda()))[0, -1]
        torch.testing.assert_close(logits[0], full, atol=1e-3, rtol=1e-3)
    before = logits.clone()
    with policy.updating(), torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.5)
    after = policy.step(cache, token.cuda(), position.cuda(), 6)
    assert (after - before).abs().max() > 1e-2
