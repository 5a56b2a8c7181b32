"""How the turns of an agent hang together whose framework tells us of model calls only."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aworld.core.context import agent_path

Message = dict[str, Any]


def as_said(steps: Iterable[Mapping[str, Any]], messages: Iterable[Message]) -> list[Message]:
    """The conversation with the calls of tools as the model wrote them. Some frameworks write
    their arguments anew, with other spaces: these would be other tokens than were sampled."""
    said = {call.get("id"): call for step in _mine(steps) for call in _calls(step)}
    return [
        {**one, "tool_calls": [_as_said(call, said.get(call.get("id"))) for call in calls]}
        if (calls := one.get("tool_calls"))
        else one
        for one in messages
    ]


def note_results(steps: Iterable[dict[str, Any]], messages: Iterable[Message]) -> None:
    """What an agent's tools gave comes with its next request: it belongs to the step before."""
    results = {one.get("tool_call_id"): one for one in messages if one.get("role") == "tool"}
    now = time.time()
    for step in _mine(steps) if results else ():
        calls = _calls(step)
        if step.get("observation") is not None or any(one["id"] not in results for one in calls):
            continue
        if calls:
            step["observation"] = [results[one["id"]] for one in calls]
            step["tool_calls"] = [
                {
                    "id": one["id"],
                    "tool": one["function"]["name"],
                    "arguments": one["function"]["arguments"],
                    "result": results[one["id"]].get("content"),
                    "error": None,
                    "began": step["model_call"]["ended"],  # it was somewhere in between
                    "ended": now,
                }
                for one in calls
            ]


def _mine(steps: Iterable[dict[str, Any]] | Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    me = agent_path()
    return (step for step in steps if step.get("model_call") and step.get("agent") == me)


def _calls(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """That can be told from others."""
    wanted = step["model_call"]["reply"].get("tool_calls") or ()
    return [call for call in wanted if call.get("id")]


def _as_said(call: dict[str, Any], said: dict[str, Any] | None) -> dict[str, Any]:
    return call if said is None or _meaning(call) != _meaning(said) else said


def _meaning(call: Mapping[str, Any]) -> Any:
    function = call.get("function") or {}
    arguments: Any = function.get("arguments")
    try:
        return function.get("name"), json.loads(arguments)
    except (TypeError, ValueError):
        return function.get("name"), arguments
