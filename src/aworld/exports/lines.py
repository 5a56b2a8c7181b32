"""Reads lines of messages, whoever wrote them. What is wrong is said with its file and line.

Known are: lines that `export` wrote, {"messages": [...]} as for OpenAI's fine-tuning and TRL, and
{"conversations": [{"from": ..., "value": ...}]} as ShareGPT has them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aworld.config import is_int, is_number
from aworld.core.failure import STATUSES, ErrorInfo, Status
from aworld.core.json_lines import json_lines
from aworld.errors import ConfigError, unknown_name
from aworld.exports.sharegpt import from_sharegpt

Message = dict[str, Any]

MOST_SAMPLES = 100_000
LARGEST = sys.float_info.max


@dataclass(slots=True)
class Line:
    """One conversation, and what is said about it."""

    number: int  # in the file
    messages: list[Message]
    given: int  # so many messages were there before the first reply
    values: dict[str, Any]  # the whole line

    task_id: str = ""
    sample: int | None = None
    status: Status = "success"
    reward: float | None = None
    error: ErrorInfo | None = None
    seconds: float = 0.0
    attempts: int = 1
    tools: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def read_lines(path: Path) -> Iterator[Line]:
    """Blank lines are skipped."""
    try:
        with path.open("rb") as file:
            for number, values in json_lines(file, str(path)):
                yield _line(values, number, f"{path}:{number}")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def _line(values: Any, number: int, place: str) -> Line:
    if not isinstance(values, dict):
        raise ConfigError(f"{place}: a line is an object like {{...}}, got {values!r:.60}")
    try:
        messages = _messages(values)
        return Line(
            number,
            messages,
            _given(values, messages),
            values,
            task_id=_task_id(values) or f"line-{number}",
            sample=_sample(values),
            status=_status(values),
            reward=_reward(values),
            error=_error(values),
            seconds=_seconds(values),
            attempts=_attempts(values),
            tools=_tools(values),
            metadata=_metadata(values),
        )
    except ValueError as problem:
        raise ConfigError(f"{place}: {problem}") from None


def _messages(values: dict[str, Any]) -> list[Message]:
    found = values.get("messages")
    if found is None and "conversations" in values:
        found = from_sharegpt(values)
    if found == []:
        raise ValueError("its conversation is empty: leave the line out")
    if not isinstance(found, list):
        known = ", ".join(sorted(values)[:10]) or "nothing"
        raise ValueError(f"no 'messages' and no 'conversations': a line needs one (it has {known})")
    for place, message in enumerate(found):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError(f"message {place} has no role: {message!r:.80}")
        content = message.get("content")
        if content is not None and not isinstance(content, (str, list)):
            raise ValueError(f"message {place} has a content that is no text: {content!r:.80}")
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(map(_is_call, calls)):
            raise ValueError(
                f"message {place} has tool_calls without a function's name: {calls!r:.80}"
            )
    return found


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _given(values: dict[str, Any], messages: list[Message]) -> int:
    """As the line says; else all before the first reply."""
    given = values.get("given")
    if given is None:
        replies = [place for place, one in enumerate(messages) if one["role"] == "assistant"]
        return replies[0] if replies else len(messages)
    if not is_int(given) or not 0 <= given <= len(messages):
        raise ValueError(f"'given' must say how many of the messages came first, got {given!r:.80}")
    return given


def _task_id(values: dict[str, Any]) -> str | None:
    found = values.get("task_id")
    if found is None or (isinstance(found, str) and found):
        return found
    if is_int(found):
        return str(found)
    raise ValueError(f"'task_id' must be a text, got {found!r:.80}")


def _sample(values: dict[str, Any]) -> int | None:
    found = values.get("sample")
    if found is not None and (not is_int(found) or not 0 <= found < MOST_SAMPLES):
        raise ValueError(f"'sample' must be a number from 0 on, got {found!r:.80}")
    return found


def _status(values: dict[str, Any]) -> Status:
    found = values.get("status") or "success"
    if found not in STATUSES:
        raise ValueError(unknown_name("status", str(found), STATUSES))
    return found


def _reward(values: dict[str, Any]) -> float | None:
    found = values.get("reward")
    if found is not None and not _is_finite(found):
        raise ValueError(f"'reward' must be a finite number or null, got {found!r:.80}")
    return None if found is None else float(found)


def _seconds(values: dict[str, Any]) -> float:
    found = values.get("seconds") or 0.0
    if not _is_finite(found) or found < 0:
        raise ValueError(f"'seconds' must be a number of seconds, got {found!r:.80}")
    return float(found)


def _attempts(values: dict[str, Any]) -> int:
    found = values.get("attempts") or 1
    if not is_int(found) or not 1 <= found < 2**31:
        raise ValueError(f"'attempts' must be a whole number of at least 1, got {found!r:.80}")
    return found


def _is_finite(value: Any) -> bool:
    return is_number(value) and -LARGEST <= value <= LARGEST


def _error(values: dict[str, Any]) -> ErrorInfo | None:
    found = values.get("error")
    if not found:
        return None
    if isinstance(found, dict):
        return ErrorInfo(str(found.get("kind", "Error")), str(found.get("message", "")))
    return ErrorInfo("Error", str(found))


def _tools(values: dict[str, Any]) -> list[dict[str, Any]]:
    found = values.get("tools") or []
    if isinstance(found, str):  # as JSON text, for tables
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, list):
        raise ValueError(f"'tools' must be a list, got {values.get('tools')!r:.80}")
    return found


def _metadata(values: dict[str, Any]) -> dict[str, Any]:
    found = values.get("metadata") or {}
    if not isinstance(found, dict):
        raise ValueError(f"'metadata' must be an object, got {found!r:.80}")
    return found
