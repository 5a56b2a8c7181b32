"""A rollout told step by step: each message once, under the agent in whose conversation it is."""

from __future__ import annotations

from aworld.core.task import Task, TaskResponse
from aworld.core.trajectory import Trajectory
from aworld.store.records import Rollout
from aworld.store.telling import told_steps


def asked(messages: str, reply: str, results: str = "", agent: str = "one") -> dict:
    """Messages by one letter each."""
    call = {"messages": [*messages], "reply": reply}
    return {"agent": agent, "model_call": call, "observation": [*results] or None}


def told(*steps: dict) -> list[tuple[str, str, bool]]:
    response = TaskResponse(id="t", trajectory=Trajectory("t", "one", steps=[*steps]))
    found = told_steps(Rollout(0, Task("q", id="t"), 0, response))
    return [
        ("".join([*one.messages, one.reply, *one.results]), one.agent, one.begins_anew)
        for one in found
    ]


def test_what_is_sent_again_with_each_call_is_told_once():
    assert told(asked("ab", "c", "de"), asked("abcdef", "g")) == [
        ("abcde", "one", False),
        ("fg", "one", False),
    ]


def test_a_rewritten_conversation_is_told_from_its_beginning():
    assert told(asked("ab", "c"), asked("xy", "z")) == [("abc", "one", False), ("xyz", "one", True)]


def test_agents_that_speak_in_turns_have_conversations_of_their_own():
    steps = (asked("a", "b"), asked("a", "c", agent="two"), asked("abd", "e"))
    assert told(*steps) == [("ab", "one", False), ("ac", "two", False), ("de", "one", False)]


def test_without_a_trajectory_there_is_nothing_to_tell():
    assert told_steps(Rollout(0, Task("q", id="t"), 0, TaskResponse(id="t"))) == []
