"""Every loss once more, slow and obvious: one token after another, from the formulas in the papers.

`now` holds the logits that a derivative is taken of; `fixed` the same logits where the loss takes
them as constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from aworld.train.batches import TokenBatch

Logits = Sequence[Sequence[Sequence[float]]]


class Token(NamedTuple):
    row: int
    place: int
    new: float  # log-probability
    constant: float  # the same, as a constant
    entropy: float
    sampled: float  # NaN: not known
    old: float
    ref: float
    advantage: float
    episode: int
    turn: int


def slow_loss(
    name: str, now: Logits, fixed: Logits, batch: TokenBatch, settings: Any, values: Any = None
) -> float:
    tokens = list(_tokens(now, fixed, batch))
    cost = {"gspo": _gspo, "cispo": _cispo, "reinforce": _plain, "rloo": _plain, "sft": _imitation}
    costs = cost.get(name, _clipped)(tokens, batch, settings)
    if name != "sft":
        costs = [c + _extras(t, settings) for c, t in zip(costs, tokens, strict=True)]
    total = _added_up(costs, tokens, settings)
    if name == "ppo":
        total += settings.value_weight * _value_loss(tokens, batch, values, settings)
    return total


def _tokens(now: Logits, fixed: Logits, batch: TokenBatch) -> Iterator[Token]:
    old = batch.sampled_logprobs if batch.old_logprobs is None else batch.old_logprobs
    ref = batch.ref_logprobs
    for row in range(len(batch)):
        for place in range(batch.mask.shape[1]):
            if not batch.mask[row, place]:
                continue
            chosen = int(batch.ids[row, place + 1])
            likely = _log_softmax(now[row][place])
            constant = _log_softmax(fixed[row][place])[chosen]
            before = float(old[row, place])
            yield Token(
                row,
                place,
                likely[chosen],
                constant,
                -sum(math.exp(one) * one for one in likely),
                float(batch.sampled_logprobs[row, place]),
                constant if math.isnan(before) else before,
                math.nan if ref is None else float(ref[row, place]),
                float(batch.advantages[row, place]),
                int(batch.episode[row]),
                int(batch.turn[row, place]),
            )


def _log_softmax(logits: Sequence[float]) -> list[float]:
    total = math.log(sum(math.exp(one) for one in logits))
    return [one - total for one in logits]


def _weight(trainer: float, token: Token, most: float | None) -> float:
    if most is None or math.isnan(token.sampled):
        return 1.0
    return min(math.exp(trainer - token.sampled), most)


def _plain(tokens: list[Token], batch: TokenBatch, s: Any) -> list[float]:
    return [-_weight(t.constant, t, s.max_weight) * t.advantage * t.new for t in tokens]


def _imitation(tokens: list[Token], batch: TokenBatch, s: Any) -> list[float]:
    return [-t.new for t in tokens]


def _surrogate(ratio: float, advantage: float, s: Any) -> float:
    within = min(max(ratio, 1 - s.clip_low), 1 + s.clip_high)
    return -min(ratio * advantage, within * advantage)


def _between(token: Token, batch: TokenBatch, s: Any) -> float:
    return 1.0 if batch.old_logprobs is None else _weight(token.old, token, s.max_weight)


def _clipped(tokens: list[Token], batch: TokenBatch, s: Any) -> list[float]:
    return [
        _surrogate(math.exp(t.new - t.old), t.advantage, s) * _between(t, batch, s) for t in tokens
    ]


def _cispo(tokens: list[Token], batch: TokenBatch, s: Any) -> list[float]:
    costs = []
    for t in tokens:
        weight = min(max(math.exp(t.constant - t.old), 1 - s.clip_low), 1 + s.clip_high)
        costs.append(-weight * t.advantage * t.new * _between(t, batch, s))
    return costs


def _gspo(tokens: list[Token], batch: TokenBatch, s: Any) -> list[float]:
    costs = []
    for t in tokens:
        ours = [other for other in tokens if other.row == t.row]
        ratio = math.exp(sum(o.new - o.old for o in ours) / len(ours))
        cost = _surrogate(ratio, t.advantage, s)
        if batch.old_logprobs is not None and s.max_weight is not None:
            apart = [0.0 if math.isnan(o.sampled) else o.old - o.sampled for o in ours]
            cost *= min(math.exp(sum(apart) / len(ours)), s.max_weight)
        costs.append(cost)
    return costs


def _extras(token: Token, s: Any) -> float:
    extra = -s.entropy * token.entropy
    if s.kl:
        apart = token.new - token.ref
        kinds = {"k1": apart, "k2": apart**2 / 2, "k3": math.exp(-apart) - 1 + apart}
        extra += s.kl * kinds[s.kl_estimator]
    return extra


def _added_up(costs: list[float], tokens: list[Token], s: Any) -> float:
    episodes = {token.episode for token in tokens}
    if s.aggregation == "token":
        return sum(costs) / len(costs)
    if s.aggregation == "constant":
        return sum(costs) / (len(episodes) * s.token_budget)
    means = []
    for episode in episodes:
        ours = [c for c, token in zip(costs, tokens, strict=True) if token.episode == episode]
        means.append(sum(ours) / len(ours))
    return sum(means) / len(means)


def _value_loss(tokens: list[Token], batch: TokenBatch, values: Any, s: Any) -> float:
    assert batch.returns is not None
    assert batch.old_values is not None
    seen, wrong = set(), []
    for token in tokens:
        if (token.row, token.turn) in seen:
            continue
        seen.add((token.row, token.turn))
        value = float(values[token.row][token.place])
        wanted = float(batch.returns[token.row, token.place])
        old = float(batch.old_values[token.row, token.place])
        error = (value - wanted) ** 2
        if s.clip_value is not None:
            held = old + min(max(value - old, -s.clip_value), s.clip_value)
            error = max(error, (held - wanted) ** 2)
        wrong.append(error / 2)
    return sum(wrong) / len(wrong)
