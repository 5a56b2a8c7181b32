"""The tokens of a reply, with how likely each of them was, where that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aworld.core.sequences import why_no_tokens

MOST_TOKENS = 20_000  # of a reply that are sent to a page


def tokens_of(call: Mapping[str, Any]) -> dict[str, Any] | None:
    """Texts (or ids, where the texts are not known), log-probabilities, and whether the ids that
    training needs are there."""
    ids, logprobs = _listed(call.get("completion_ids")), _listed(call.get("logprobs"))
    texts = _listed(call.get("completion_texts"))
    size = len(texts or ids or logprobs or ())
    if not size or logprobs is None or len(logprobs) != size:
        return None
    return {
        "texts": None if texts is None else [str(text) for text in texts[:MOST_TOKENS]],
        "ids": None if ids is None else ids[:MOST_TOKENS],
        "logprobs": [_number(value) for value in logprobs[:MOST_TOKENS]],
        "count": size,
        "trainable": not why_no_tokens(dict(call)),
    }


def _listed(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) else None


def _number(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and math.isfinite(value)
    return round(float(value), 4) if known else None
