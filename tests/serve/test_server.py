"""The server over HTTP: what it answers, and to whom."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from speaking import ask, chat, small_policy
from waiting import until

from aworld.errors import ConfigError
from aworld.serve import PolicyServer


def test_a_reply_carries_ids_log_probabilities_and_version(server, policy):
    wanted = {"max_tokens": 7, "logprobs": True, "return_token_ids": True, "seed": 1}
    status, body = ask(server, chat("hé", **wanted))
    assert status == 200
    (choice,) = body["choices"]
    assert body["prompt_token_ids"] == policy.encode_chat(chat("hé")["messages"])
    assert len(choice["token_ids"]) == 7
    assert choice["message"] == {"role": "assistant", "content": policy.decode(choice["token_ids"])}
    assert [len(choice["logprobs"]["content"]), choice["finish_reason"]] == [7, "length"]
    assert (body["policy_version"], choice["policy_versions"]) == (0, [0] * 7)
    prompt = len(body["prompt_token_ids"])
    assert body["usage"] == {
        "prompt_tokens": prompt,
        "completion_tokens": 7,
        "total_tokens": prompt + 7,
    }


def test_the_same_seed_gives_the_same_reply_and_no_seed_another(server):
    replies = [ask(server, chat(max_tokens=20, seed=seed))[1] for seed in (7, 7, 8, None, None)]
    texts = [reply["choices"][0]["message"]["content"] for reply in replies]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 4


def test_several_choices_differ_and_the_first_is_what_a_single_one_would_be(server):
    alone = ask(server, chat(max_tokens=20, seed=7, return_token_ids=True))[1]
    body = ask(server, chat(max_tokens=20, seed=7, n=5, return_token_ids=True))[1]
    several = [choice["token_ids"] for choice in body["choices"]]
    assert several[0] == alone["choices"][0]["token_ids"]
    assert len({tuple(ids) for ids in several}) == 5
    assert [choice["index"] for choice in body["choices"]] == list(range(5))
    assert body["usage"]["completion_tokens"] == sum(map(len, several))


def test_plain_completions_go_on_with_a_text_or_with_ids(server, policy):
    more = {"model": "byte", "seed": 3, "max_tokens": 9, "logprobs": 1, "return_token_ids": True}
    status, of_text = ask(server, {"prompt": "The fox", **more}, "/v1/completions")
    assert status == 200
    of_ids = ask(server, {"prompt": list(b"The fox"), **more}, "/v1/completions")[1]
    (choice,) = of_text["choices"]
    assert choice == of_ids["choices"][0]
    assert of_text["prompt_token_ids"] == list(b"The fox")
    assert choice["text"] == policy.decode(choice["token_ids"])
    assert len(choice["logprobs"]["token_logprobs"]) == len(choice["token_ids"])


def test_models_and_health_tell_the_version(server, policy):
    with policy.updating():
        pass
    status, models = ask(server, b"", "/v1/models", method="GET")
    assert status == 200
    assert [(m["id"], m["max_model_len"], m["policy_version"]) for m in models["data"]] == [
        ("byte", 1024, 1)
    ]
    status, health = ask(server, b"", "/health", method="GET", Authorization=None)
    assert (status, health["status"], health["policy_version"]) == (200, "ok", 1)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{not json", 400, "the body is no JSON"),
        (b"[" * 100_000, 400, "the body is no JSON"),
        (b"[]", 400, "valid dictionary"),
        ({"model": "byte"}, 400, "messages: Field required"),
        (chat(temperature="hot"), 400, "temperature: Input should be a valid number"),
        (chat(temperature=-1), 400, "temperature: "),
        (chat(max_tokens=0), 400, "max_tokens: "),
        (chat(max_tokens=True), 400, "max_tokens: "),
        (chat(seed="x"), 400, "seed: "),
        (chat(top_p=0), 400, "top_p: "),
        (chat(stop=[""]), 400, "stop: "),
        (chat(temprature=1), 400, "temprature: this server knows no such field"),
        (chat(logit_bias={"1": 5}), 400, "logit_bias: "),
        (chat(presence_penalty=0.5), 400, "presence_penalty: "),
        (chat(top_logprobs=3, logprobs=True), 400, "top_logprobs: "),
        (chat(n=2, stream=True), 400, "cannot be streamed"),
        (chat(tools=[{"type": "function"}]), 400, "tools: "),
        (chat(tools=[], tool_choice="required"), 400, "tool_choice: "),
        (chat(response_format={"type": "json_schema", "json_schema": {}}), 400, "json_schema"),
        ({**chat(), "model": "gpt-5"}, 404, "no model 'gpt-5' here: it is 'byte'"),
        ({**chat(), "messages": [{"role": "wizard"}]}, 400, "no role 'wizard'"),
        (chat([{"type": "image_url", "image_url": {}}]), 400, "parts of type 'text'"),
        (chat([1]), 400, "parts of type 'text'"),
        (chat({"a": 1}), 400, "a content is text"),
        (chat("x" * 1010, max_tokens=100), 400, "max_tokens is 100: the context of 'byte'"),
        (chat("x" * 2000), 400, "tokens: the context of 'byte' has 1024"),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_form_of_openai(server, body, status, says):
    found, answer = ask(server, body)
    assert found == status
    assert says in answer["error"]["message"]
    assert answer["error"]["type"] == "invalid_request_error"


def test_null_is_the_same_as_nothing_and_harmless_fields_are_taken(server):
    body = chat(max_tokens=3, temperature=None, stop=None, tools=None, seed=None, user="me")
    body |= {
        "response_format": {"type": "text"},
        "presence_penalty": 0,
        "parallel_tool_calls": True,
    }
    assert ask(server, body)[0] == 200


def test_a_body_too_large_is_refused(server, monkeypatch):
    monkeypatch.setattr("aworld.serve.app.MOST_BYTES", 1000)
    status, body = ask(server, chat("x" * 2000))
    assert (status, "bytes at most" in body["error"]["message"]) == (413, True)


def test_an_unknown_page_and_a_wrong_method_are_told_in_the_same_form(server):
    assert ask(server, chat(), "/v1/embeddings")[0] == 404
    status, body = ask(server, b"", method="GET")
    assert (status, body["error"]["type"]) == (405, "invalid_request_error")


@pytest.mark.parametrize("key", [None, "Bearer wrong", "Bearer ", "Basic {key}", "{key}"])
def test_without_the_key_nothing_is_told(server, key):
    header = key and key.format(key=server.key)
    for path in ("/v1/models", "/v1/chat/completions", "/v1/other"):
        status, body = ask(server, chat(), path, Authorization=header)
        assert (status, body["error"]["code"]) == (401, "invalid_api_key")


def test_every_server_has_a_key_of_its_own():
    keys = {PolicyServer(small_policy()).key for _ in range(5)}
    assert len(keys) == 5
    assert all(len(key) >= 32 for key in keys)
    with pytest.raises(ConfigError, match="key must be printable"):
        PolicyServer(small_policy(), key=" ")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example"])
def test_another_name_than_its_own_is_refused_even_with_the_key(server, host):
    assert ask(server, chat(), Host=host)[0] == 403
    assert ask(server, b"", "/health", method="GET", Host=host)[0] == 403


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "[::1]:99", "127.0.0.1"])
def test_the_names_of_loopback_are_its_own(server, host):
    assert ask(server, chat(max_tokens=1), Host=host)[0] == 200


def test_web_pages_are_refused(server):
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{server.port}"):
        assert ask(server, chat(), Origin=origin)[0] == 403


def test_further_names_can_be_allowed(policy):
    with PolicyServer(policy, allowed_hosts=["policy.example"]) as server:
        assert ask(server, chat(max_tokens=1), Host="policy.example:443")[0] == 200


def test_a_port_in_use_is_told_before_anything_starts(server, policy):
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{server.port}"):
        PolicyServer(policy, port=server.port).start()


def test_stopping_answers_those_in_flight_and_closes_the_port():
    policy = small_policy(ends=False)
    server = PolicyServer(policy).start()
    with _post(server, chat(max_tokens=1000)) as connection:
        with policy.paused():
            until(lambda: server.generator.load != (0, 0))
            stopping = threading.Thread(target=server.stop)
            stopping.start()
            until(lambda: server.generator._stopping)
        stopping.join()
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"the policy server has stopped" in answer
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_frees_its_place(stream):
    policy = small_policy(ends=False)
    with PolicyServer(policy, max_batch=1) as server:
        connection = _post(server, chat(max_tokens=1000, stream=stream))
        until(lambda: server.generator.load == (1, 0))
        with policy.paused():
            (one,) = server.generator._batch.rows
            connection.close()
            until(lambda: one.cancelled)
        until(lambda: one.ended)
        assert one.finish_reason is None
        assert 0 < len(one.ids) < 1000
        assert ask(server, chat(max_tokens=3))[0] == 200


def _post(server, body):
    data = json.dumps(body).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    head += f"Authorization: Bearer {server.key}"
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    connection.sendall(f"{head}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    return connection
