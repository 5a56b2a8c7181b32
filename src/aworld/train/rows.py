"""The tokens of a rollout's model calls, as rows to train on: each sampled token once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aworld.core.sequences import TokenSequence, merged, sampled_calls, why_no_tokens

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

UNKNOWN = -1  # the version of a token that has none, and the turn of one that was not sampled

NO_MODEL_CALL = "no model call"
BAD_TOKENS = "token ids or log-probabilities that are no numbers"
NOTHING_SAMPLED = "nothing was sampled"
SEVERAL_TEMPERATURES = "one conversation was sampled at several temperatures"
SEVERAL_MODELS = "calls of several models: say which one is trained"


@dataclass(frozen=True, slots=True, eq=False)
class TokenRow:
    """One token sequence. All arrays have one entry for each of its tokens."""

    ids: Ints
    sampled: Flags  # the model chose it: it can be trained on
    logprobs: Floats  # what the sampler said of it; NaN where it said nothing
    versions: Ints  # of the policy that sampled it
    turns: Ints  # by which of the episode's turns it was sampled
    temperature: float = 1.0  # that it was sampled at

    @classmethod
    def of(
        cls,
        prompt_ids: Sequence[int],
        completion_ids: Sequence[int],
        logprobs: Sequence[float] | None = None,
        *,
        version: int = UNKNOWN,
        turn: int = 0,
        temperature: float = 1.0,
    ) -> TokenRow:
        """A prompt and one reply to it."""
        row = _blank([*prompt_ids, *completion_ids], temperature)
        _mark(row, len(prompt_ids), len(row), turn, version, logprobs)
        return row

    def __len__(self) -> int:
        return len(self.ids)


class Found(NamedTuple):
    """What there is to train on in a rollout, or why there is nothing."""

    rows: tuple[TokenRow, ...] = ()
    turn_rewards: tuple[float | None, ...] = ()  # what each turn was given, where it was
    why_not: str = ""


def rows_of(
    steps: Iterable[dict[str, Any]], *, agent: str | None = None, model: str | None = None
) -> Found:
    """agent, model: the path of the agent and the name of the model whose calls are wanted; None:
    all, as long as they are calls of one model."""
    wanted = [
        step
        for step in steps
        if (call := step.get("model_call"))
        and agent in (None, step.get("agent"))
        and model in (None, call.get("model"))
    ]
    if not wanted:
        return Found(why_not=NO_MODEL_CALL)
    if len({step["model_call"].get("model") for step in wanted}) > 1:
        return Found(why_not=SEVERAL_MODELS)
    for step in wanted:
        problem = why_no_tokens(step["model_call"])
        if problem:  # half a rollout is none
            return Found(why_not=problem)
    wanted = [step for step in wanted if step["model_call"]["completion_ids"]]
    calls = sampled_calls(wanted)
    if not all(_are_tokens(call.prompt_ids) and _are_tokens(call.completion_ids) for call in calls):
        return Found(why_not=BAD_TOKENS)
    records = [step["model_call"] for step in wanted]
    try:
        made = [_row(sequence, records) for sequence in merged(calls)]
    except (TypeError, ValueError):
        return Found(why_not=BAD_TOKENS)
    rows = tuple(row for row in made if row is not None)
    if len(rows) < len(made):
        return Found(why_not=SEVERAL_TEMPERATURES)
    if not any(row.sampled.any() for row in rows):
        return Found(why_not=NOTHING_SAMPLED)
    return Found(rows, tuple(call.reward for call in calls))


def _row(sequence: TokenSequence, records: list[dict[str, Any]]) -> TokenRow | None:
    """None if it was sampled at several temperatures."""
    temperatures = {_temperature_of(records[turn.call]) for turn in sequence.turns}
    if len(temperatures) > 1:
        return None
    row = _blank(sequence.prompt_ids + sequence.completion_ids, temperatures.pop())
    for turn in sequence.turns:
        start, end = (len(sequence.prompt_ids) + place for place in (turn.start, turn.end))
        said = None if sequence.logprobs is None else sequence.logprobs[turn.start : turn.end]
        _mark(row, start, end, turn.call, _versions_of(records[turn.call]), said)
    return row


def _temperature_of(record: Mapping[str, Any]) -> float:
    asked = (record.get("settings") or {}).get("temperature")
    return 1.0 if asked is None else float(asked)


def _versions_of(record: Mapping[str, Any]) -> int | list[int]:
    """Of each token, where the weights moved while it was answering; else one for all of them."""
    each = record.get("policy_versions")
    if each is not None and len(each) == len(record["completion_ids"]):
        return [int(version) for version in each]
    version = str(record.get("policy_version"))
    return int(version) if version.isdecimal() else UNKNOWN


def _blank(ids: Sequence[int], temperature: float) -> TokenRow:
    size = len(ids)
    return TokenRow(
        np.asarray(ids, np.int32),
        np.zeros(size, np.bool_),
        np.full(size, np.nan, np.float32),
        np.full(size, UNKNOWN, np.int32),
        np.full(size, UNKNOWN, np.int32),
        temperature,
    )


def _mark(
    row: TokenRow,
    start: int,
    end: int,
    turn: int,
    version: int | list[int],
    logprobs: Sequence[float] | None,
) -> None:
    row.sampled[max(start, 1) : end] = True  # before the very first token there was no choice
    row.turns[start:end] = turn
    row.versions[start:end] = version
    if logprobs is not None:
        said = np.asarray(logprobs, np.float32)
        row.logprobs[start:end] = np.where(np.isfinite(said), said, np.nan)


def _are_tokens(ids: Sequence[object]) -> bool:
    return all(type(token) is int and 0 <= token < 2**31 for token in ids)
