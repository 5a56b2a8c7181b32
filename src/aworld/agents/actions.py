"""Observations as text, and text as actions, by the action space of an environment."""

from __future__ import annotations

import json
import re
from typing import Any

from aworld.core.plain import plain

WHOLE_NUMBER = re.compile(r"(?<![\d.])-?\d+(?!\.?\d)")
HIGHLIGHT = re.compile(r"\x1b\[[0-9;]+m(.*?)\x1b\[0m")


def as_text(observation: Any, environment: Any) -> str:
    """With what the environment draws as text, if it was made with render_mode='ansi'."""
    observation = simple(observation)
    text = observation
    if not isinstance(text, str):
        text = json.dumps(plain(observation), ensure_ascii=False)
    if getattr(environment, "render_mode", None) != "ansi":
        return text
    # colour marks a place for a person; for a model brackets do
    return text + "\n" + HIGHLIGHT.sub(r"[\1]", str(environment.render()))


def simple(value: Any) -> Any:
    """Without numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: simple(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [simple(part) for part in value]
    return value


def how_to_act(space: Any) -> str:
    """What the agent is told; nothing where any text is an action."""
    if space is None or _is(space, "Text"):
        return ""
    if _is(space, "Discrete"):
        return f"Answer with your action: a whole number from {space.start} to {_last(space)}."
    return f"Answer with your action alone, as JSON: one of {space}."


def read_action(answer: Any, space: Any) -> Any:
    """The action that an answer means. ValueError: there is none in it."""
    action = _parsed(answer, space) if isinstance(answer, str) else answer
    if space is not None and not space.contains(action):
        raise ValueError(f"{answer!r:.200} is not one of {space}")
    return action


def _parsed(text: str, space: Any) -> Any:
    if space is None or _is(space, "Text"):
        return text.strip()
    if _is(space, "Discrete"):
        numbers = WHOLE_NUMBER.findall(text)
        if not numbers:
            raise ValueError(f"there is no whole number in {text!r:.200}")
        return int(numbers[-1])  # an answer that gives its reasons ends with the action
    try:
        action = json.loads(text)
        has_shape = getattr(space, "shape", None) is not None
        return space.from_jsonable([action])[0] if has_shape else action
    except (ValueError, TypeError) as error:
        raise ValueError(f"{text!r:.200} cannot be read: {error}") from None


def _is(space: Any, kind: str) -> bool:
    # by name: an environment may come from Gymnasium, or from the gym before it
    return any(base.__name__ == kind for base in type(space).__mro__)


def _last(space: Any) -> int:
    return int(space.start + space.n - 1)
