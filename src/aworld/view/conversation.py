"""One rollout as it was: who said what, with which tools, how long it took and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aworld.store.records import Rollout
from aworld.store.telling import Told, told_steps
from aworld.view.tokens import tokens_of
from aworld.view.wording import arguments_of, as_text

Turn = dict[str, Any]


def turns_of(rollout: Rollout) -> list[Turn]:
    """In the order in which they happened, each under the name of the agent whose talk it is in."""
    steps = told_steps(rollout)
    asked = any(one.call is not None for one in steps)
    turns: list[Turn] = [] if asked else [_said("input", "", rollout.task.input)]
    for one in steps:
        turns += _of_step(one)
    return turns


def _of_step(told: Told) -> Iterator[Turn]:
    step, agent = told.step, told.agent
    if told.call is not None:
        yield from _of_model_call(told, told.call)
    elif step.get("error"):
        yield _said("error", agent, step["error"])
    else:
        yield {**_said("action", agent, step.get("action")), "reward": step.get("reward")}


def _of_model_call(told: Told, call: Mapping[str, Any]) -> Iterator[Turn]:
    step, agent = told.step, told.agent
    if told.begins_anew:
        yield _said("note", agent, "the conversation begins anew: what follows was sent as it is")
    for message in told.messages:
        yield _message(message, agent)
    usage = call.get("usage") or {}
    yield {
        **_message(told.reply, agent),
        "step": step.get("step"),
        "model": str(call.get("model") or ""),
        "began": call.get("began"),
        "ended": call.get("ended"),
        "prompt_tokens": usage.get("prompt_tokens", 0),
        "completion_tokens": usage.get("completion_tokens", 0),
        "cost": usage.get("cost", 0.0),
        "attempts": call.get("attempts"),
        "finish_reason": call.get("finish_reason"),
        "version": call.get("policy_version"),
        "tokens": tokens_of(call),
        "reward": step.get("reward"),
    }
    used = {str(one.get("id")): one for one in step.get("tool_calls") or () if _is(one)}
    for message in told.results:
        turn = _message(message, agent)
        record = used.get(str(message.get("tool_call_id"))) if _is(message) else None
        if record is not None:
            turn |= {"began": record.get("began"), "ended": record.get("ended")}
            turn["tool"] = str(record.get("tool") or "")
            turn["failed"] = bool(record.get("error"))
        yield turn


def _message(message: Any, agent: str) -> Turn:
    if not isinstance(message, Mapping):
        return _said("other", agent, message)
    turn = _said(str(message.get("role") or "other"), agent, message.get("content"))
    if message.get("refusal"):
        turn["text"] = f"{turn['text']}\n{message['refusal']}".strip()
    if message.get("reasoning_content"):
        turn["reasoning"] = as_text(message["reasoning_content"])
    if message.get("name"):
        turn["name"] = str(message["name"])
    calls = message.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        turn["calls"] = [_call(one) for one in calls]
    return turn


def _call(wanted: Any) -> dict[str, Any]:
    function = wanted.get("function") if _is(wanted) else None
    if not isinstance(function, Mapping):
        return {"name": "?", "arguments": as_text(wanted)}
    return {
        "id": str(wanted.get("id") or ""),
        "name": str(function.get("name")),
        "arguments": arguments_of(function.get("arguments")),
    }


def _said(kind: str, agent: str, what: Any) -> Turn:
    return {"kind": kind, "agent": agent, "text": as_text(what)}


def _is(value: Any) -> bool:
    return isinstance(value, Mapping)
