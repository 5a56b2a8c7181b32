"""Which conversation of a rollout is exported. Whatever is left out is counted, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from aworld.exports.conversations import Conversation, conversations, main_agent
from aworld.store.records import Rollout

LeftOut = Counter[str]

NO_MODEL_CALL = "rollouts without a model call"
NOT_BY_AGENT = "rollouts in which that agent made no model call"
EARLIER = (
    "earlier conversations of the same agent: its context was rewritten, or it was called again"
)
NO_PROMPT = "conversations that begin with a reply"
NO_REWARD = "rollouts without a reward"


def conversations_of(rollout: Rollout, agent: str | None = None) -> list[Conversation]:
    """Those of the agent with this path, or of the main agent; the last one last."""
    trajectory = rollout.response.trajectory
    found = conversations(() if trajectory is None else trajectory.steps)
    wanted = main_agent(found, rollout.response.answer) if agent is None else agent
    return [conversation for conversation in found if conversation.agent == wanted]


def scored_conversations(
    rollouts: Iterable[Rollout], left_out: LeftOut, agent: str | None = None
) -> Iterator[tuple[float, Conversation]]:
    """The reward and the last conversation of each rollout that has both, and a prompt."""
    for rollout in rollouts:
        if rollout.reward is None:
            left_out[NO_REWARD] += 1
            continue
        conversation = last_conversation(rollout, left_out, agent)
        if conversation is None:
            continue
        if not conversation.given:
            left_out[NO_PROMPT] += 1
        else:
            yield rollout.reward, conversation


def last_conversation(
    rollout: Rollout, left_out: LeftOut, agent: str | None = None
) -> Conversation | None:
    found = conversations_of(rollout, agent)
    if not found:
        left_out[NO_MODEL_CALL if agent is None else NOT_BY_AGENT] += 1
        return None
    left_out[EARLIER] += len(found) - 1
    return found[-1]
