"""Token sequences to train on: what was sampled, as it was sampled, each token once.

Nothing is tokenized here. A model call whose prompt begins with all that an earlier call has seen
and said goes on with that call's sequence; the tokens in between (results of tools, the words
around a turn) are not trained on. Any other call begins a sequence of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class SampledCall(NamedTuple):
    """A model call as its tokens."""

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float] | None = None  # of the completion
    policy_version: str | None = None
    finish_reason: str = "stop"
    reward: float | None = None  # of this turn alone, where there is one
    agent: str = ""
    model: str = ""


class Turn(NamedTuple):
    """What one model call sampled: `completion_ids[start:end]` of its sequence."""

    start: int
    end: int
    policy_version: str | None
    finish_reason: str
    reward: float | None
    call: int = 0  # which of the calls that were given


@dataclass(slots=True)
class TokenSequence:
    """`loss_mask` is 1 where a token was sampled; there, `logprobs` holds what the sampler said."""

    agent: str
    model: str
    prompt_ids: list[int]
    completion_ids: list[int] = field(default_factory=list)
    loss_mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = None
    turns: list[Turn] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.prompt_ids) + len(self.completion_ids)


def why_no_tokens(call: Mapping[str, Any]) -> str | None:
    """Why a recorded model call cannot be trained on, or None if it can."""
    completion, logprobs = call.get("completion_ids"), call.get("logprobs")
    if call.get("prompt_ids") is None or completion is None:
        return "no token ids: the model's server does not give them"
    if logprobs is not None and len(logprobs) != len(completion):
        return "not as many log-probabilities as tokens"
    return None


def sampled_calls(steps: Iterable[Mapping[str, Any]]) -> list[SampledCall]:
    """The model calls of a trajectory that can be trained on."""
    return [
        SampledCall(
            call["prompt_ids"],
            call["completion_ids"],
            call.get("logprobs"),
            call.get("policy_version"),
            call.get("finish_reason") or "stop",
            step.get("reward"),
            step.get("agent") or "",
            call.get("model") or "",
        )
        for step in steps
        if (call := step.get("model_call")) is not None and why_no_tokens(call) is None
    ]


def merged(calls: Iterable[SampledCall]) -> list[TokenSequence]:
    """In the order in which they began."""
    sequences: list[TokenSequence] = []
    for number, call in enumerate(calls):
        if not call.completion_ids:  # nothing was sampled
            continue
        fitting = [sequence for sequence in sequences if _goes_on(sequence, call)]
        if fitting:
            sequence = max(fitting, key=len)
        else:
            logprobs = None if call.logprobs is None else []
            prompt = list(call.prompt_ids)
            sequence = TokenSequence(call.agent, call.model, prompt, logprobs=logprobs)
            sequences.append(sequence)
        _append(sequence, call, number)
    return sequences


def _goes_on(sequence: TokenSequence, call: SampledCall) -> bool:
    prompt, middle, end = call.prompt_ids, len(sequence.prompt_ids), len(sequence)
    return (
        (call.agent, call.model) == (sequence.agent, sequence.model)
        and (call.logprobs is None) == (sequence.logprobs is None)
        and len(prompt) >= end
        and prompt[middle:end] == sequence.completion_ids
        and prompt[:middle] == sequence.prompt_ids
    )


def _append(sequence: TokenSequence, call: SampledCall, number: int) -> None:
    between = call.prompt_ids[len(sequence) :]
    start = len(sequence.completion_ids) + len(between)
    end = start + len(call.completion_ids)
    sequence.completion_ids += [*between, *call.completion_ids]
    sequence.loss_mask += [0] * len(between) + [1] * len(call.completion_ids)
    if sequence.logprobs is not None and call.logprobs is not None:
        sequence.logprobs += [0.0] * len(between) + call.logprobs
    turn = Turn(start, end, call.policy_version, call.finish_reason, call.reward, number)
    sequence.turns.append(turn)
