"""Whole conversations, put together again from the model calls of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Model calls of one agent, each of which goes on from where the one before it ended."""

    agent: str  # a path: "team/solver" is the agent that "team" has called
    calls: tuple[Mapping[str, Any], ...]

    @property
    def messages(self) -> list[Message]:
        """All of it: what the last call was asked, and its reply."""
        return [*self.calls[-1]["messages"], self.calls[-1]["reply"]]

    @property
    def given(self) -> int:
        """How many messages were there before the first reply."""
        return len(self.calls[0]["messages"])

    @property
    def tools(self) -> list[dict[str, Any]]:
        return list(self.calls[-1].get("tools") or ())

    def goes_on_in(self, call: Mapping[str, Any]) -> bool:
        before, messages = self.calls[-1]["messages"], call["messages"]
        count = len(before)
        # the reply first: it tells most of those that do not fit
        return (
            len(messages) > count
            and _same(messages[count], self.calls[-1]["reply"])
            and all(map(_same, messages, before))
        )


def conversations(steps: Iterable[Mapping[str, Any]]) -> list[Conversation]:
    """In the order in which they ended. An agent has several where what it had said before was
    rewritten, and where it was called several times."""
    found: list[Conversation] = []
    for step in steps:
        call, agent = step.get("model_call"), step.get("agent") or ""
        if not isinstance(call, Mapping) or not isinstance(call.get("reply"), Mapping):
            continue
        # the latest that fits: others may go on at the same time, after the same words
        before: tuple[Mapping[str, Any], ...] = ()
        for place in reversed(range(len(found))):
            if found[place].agent == agent and found[place].goes_on_in(call):
                before = found.pop(place).calls
                break
        found.append(Conversation(agent, (*before, call)))
    return found


def main_agent(found: Iterable[Conversation], answer: Any) -> str | None:
    """The agent that is inside no other. Of several, the one that gave the answer; if none of them
    did so in these words, the last one to speak."""
    found = list(found)
    depth = min((conversation.agent.count("/") for conversation in found), default=0)
    outermost = [one for one in found if one.agent.count("/") == depth]
    answered = [one for one in outermost if one.calls[-1]["reply"].get("content") == answer]
    return next((one.agent for one in reversed(answered or outermost)), None)


def _same(one: Any, other: Any) -> bool:
    return one is other or one == other or _said(one) == _said(other)


def _said(message: Any) -> Any:
    """Without what only a server's reply has: some agents do not send it back."""
    if not isinstance(message, Mapping):
        return message
    content = message.get("content") or ""
    calls = message.get("tool_calls") or []
    return message.get("role"), content, calls, message.get("tool_call_id")
