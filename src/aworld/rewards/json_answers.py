"""A reward for answers in JSON: the whole, what lies at a path, or a subset of it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aworld.errors import ConfigError
from aworld.rewards.base import Match

FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
NOTHING = object()  # None is a value of JSON


@dataclass(frozen=True)
class JsonMatch(Match):
    """The answer is JSON that equals the ground truth (a value, or its JSON as a text).

    The text may be JSON alone or have it in a Markdown block, of which the last one counts.

    path    where in the answer the ground truth is: 'items.0.name', or ['items', 0, 'name']
    subset  the answer may have more keys than the ground truth, at every level
    """

    path: str | Sequence[str | int] = ()
    subset: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        keys = self.path if isinstance(self.path, (list, tuple)) else [self.path]
        if not all(isinstance(key, (str, int)) for key in keys):
            raise ConfigError(f"path must be 'a.b.0' or a list of keys, got {self.path!r:.80}")

    def matches(self, answer: Any, truth: Any) -> bool:
        value = self._at_path(read_json(answer) if isinstance(answer, str) else answer)
        if value is NOTHING:
            return False
        if _fits(value, truth, self.subset):
            return True
        parsed = read_json(truth) if isinstance(truth, str) else NOTHING
        return parsed is not NOTHING and _fits(value, parsed, self.subset)

    def _at_path(self, value: Any) -> Any:
        path = self.path
        for key in (path.split(".") if path else ()) if isinstance(path, str) else path:
            if isinstance(value, list) and re.fullmatch("-?[0-9]{1,9}", str(key)):
                index = int(key)
                value = value[index] if -len(value) <= index < len(value) else NOTHING
            elif isinstance(value, dict):
                value = value.get(str(key), NOTHING)
            else:
                return NOTHING
        return value


def read_json(text: str) -> Any:
    """The value, or NOTHING."""
    for candidate in (text, *FENCED.findall(text)[-1:]):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return NOTHING


def _fits(value: Any, truth: Any, subset: bool) -> bool:
    if isinstance(value, dict) and isinstance(truth, dict):
        same_keys = truth.keys() <= value.keys() if subset else truth.keys() == value.keys()
        return same_keys and all(_fits(value[key], truth[key], subset) for key in truth)
    if isinstance(value, list) and isinstance(truth, list):
        pairs = zip(value, truth, strict=False)
        return len(value) == len(truth) and all(_fits(*pair, subset) for pair in pairs)
    if isinstance(value, bool) or isinstance(truth, bool):
        return value is truth  # for Python, True is 1
    return value == truth


json_match = JsonMatch()
"""The answer is JSON that equals the ground truth (`path`, `subset`, `any_of`)."""
