"""Agents of any framework train: what their own `openai` client asks is recorded."""

from __future__ import annotations

import json

import pytest
import torch
from framework_agents import (
    TOOLS,
    Plain,
    Streaming,
    add,
    blocking,
    by_place,
    openai_agents,
    pydantic_ai,
)
from schooling import low_bytes, school, tasks, tiny_policy

from aworld import Task, open_run
from aworld.cli.turns import turns
from aworld.exports.conversations import conversations
from aworld.train import RLTrainer, train
from aworld.train.episodes import episode_of_rollout
from aworld.train.journal import read_journal

SUMS = {"3+4": (3, 4), "1+8": (1, 8)}


@pytest.fixture(scope="module")
def adding():
    """The weights of a policy that has been shown how to use the tool."""
    shown = []
    for question, (a, b) in SUMS.items():
        function = {"name": "add", "arguments": json.dumps({"a": a, "b": b})}
        call = {"id": "1", "type": "function", "function": function}
        messages = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": str(a + b)},
            {"role": "assistant", "content": str(a + b)},
        ]
        shown.append({"messages": messages, "tools": TOOLS})
    policy = tiny_policy()
    teacher = RLTrainer(policy, learning_rate=1e-2)
    for _ in range(150):
        teacher.sft_step(shown)
    return policy.module.state_dict()


@pytest.mark.parametrize("framework", [Plain, openai_agents, pydantic_ai])
def test_a_framework_and_its_own_tools_train(tmp_path, adding, framework):
    policy = tiny_policy()
    policy.module.load_state_dict(adding)
    config = school(tmp_path, steps=1, tasks_per_step=2, reply_tokens=12)
    given = [Task(question, id=question) for question in SUMS]
    train(lambda model: framework(model.client()), given, by_place, config, policy=policy)
    assert policy.version == 1
    moved = policy.module.state_dict()
    assert not all(torch.equal(moved[name], weights) for name, weights in adding.items())
    verdicts = list(read_journal(tmp_path / "verdicts.jsonl"))
    assert len(verdicts) == 8
    with open_run(tmp_path) as run:
        rollouts = list(run.rollouts())
    episodes = [episode_of_rollout(rollout) for rollout in rollouts]
    assert [episode.why_not for episode in episodes] == [""] * 8
    used = [rollout for rollout in rollouts if rollout.trajectory.steps[0].get("tool_calls")]
    assert len(used) >= 6
    for rollout in used:
        first, last = rollout.trajectory.steps
        (call,) = first["tool_calls"]
        assert call["tool"] == "add"
        assert call["result"] == str(add(**json.loads(call["arguments"])))
        assert first["observation"][0]["content"] == call["result"]
        assert rollout.response.answer == last["model_call"]["reply"]["content"]
        # one conversation, in which both turns were sampled
        (row,) = episode_of_rollout(rollout).rows
        assert set(row.turns[row.sampled]) == {0, 1}
        (conversation,) = conversations(rollout.trajectory.steps)
        assert len(conversation.messages) == 4
        assert list(turns(rollout))


def test_streams_and_several_steps(tmp_path):
    policy = tiny_policy()
    config = school(tmp_path, steps=2)
    result = train(
        lambda model: Streaming(model.client()), tasks(), low_bytes, config, policy=policy
    )
    assert (result.steps, policy.version) == (2, 2)
    with open_run(tmp_path) as run:
        calls = [rollout.trajectory.steps[0]["model_call"] for rollout in run.rollouts()]
    assert len(calls) == 32
    assert {call["policy_version"] for call in calls} == {"0", "1"}
    assert {call["settings"]["temperature"] for call in calls} == {1.0}


def test_code_that_blocks(tmp_path):
    policy = tiny_policy()
    config = school(tmp_path, steps=1)
    train(lambda model: blocking(model.sync_client()), tasks(), low_bytes, config, policy=policy)
    assert policy.version == 1
    assert len(list(read_journal(tmp_path / "verdicts.jsonl"))) == 16
