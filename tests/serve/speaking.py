"""Policies to serve, and plain HTTP to speak with the server."""

from __future__ import annotations

import http.client
import json

import torch

from aworld.policies import ByteConfig, BytePolicy

SMALL = {"width": 32, "layers": 2, "heads": 2, "key_heads": 1, "inner": 64}


def small_policy(seed=0, *, ends=True, **config):
    """Without `ends` it never ends a turn by itself."""
    policy = BytePolicy(ByteConfig(**{**SMALL, **config}), seed=seed)
    with torch.no_grad():
        for parameter in policy.parameters():  # so that what it says is far from uniform
            if parameter.ndim == 2:
                parameter.mul_(8)
    if not ends:
        policy.stop_ids = frozenset()
    return policy


def taught(policy, conversations, tools=None, steps=150, rate=3e-3):
    """Learns the assistant's turns of these conversations by heart."""
    rows = []
    for messages in conversations:
        for turn, message in enumerate(messages):
            if message["role"] == "assistant":
                before = policy.encode_chat(messages[:turn], tools)
                rows.append((before, policy.encode_reply(message, tools)))
    longest = max(len(before) + len(said) for before, said in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    wanted = torch.zeros(len(rows), longest - 1, dtype=torch.bool)
    for row, (before, said) in enumerate(rows):
        ids[row, : len(before) + len(said)] = torch.tensor(before + said)
        wanted[row, len(before) - 1 : len(before) + len(said) - 1] = True
    optimizer = torch.optim.AdamW(policy.parameters(), lr=rate)
    for _ in range(steps):
        loss = -policy.logprobs(ids, wanted=wanted)[wanted].mean()
        optimizer.zero_grad()
        loss.backward()
        with policy.updating():
            optimizer.step()
    return policy


def ask(server, body, path="/v1/chat/completions", *, method="POST", **headers):
    """The status and the body; `None` as a header leaves it out."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    sent = {"Authorization": f"Bearer {server.key}", "Host": f"127.0.0.1:{server.port}", **headers}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.putrequest(method, path, skip_host=True)
    for name, value in {**sent, "Content-Length": str(len(data))}.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(data)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text)


def chat(text="hello", **more):
    return {"model": "byte", "messages": [{"role": "user", "content": text}], **more}
