"""A rollout as a person reads it: who said what, and which tools were used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from aworld.cli.blocks import block, said, title
from aworld.core.plain import plain
from aworld.core.shown import harmless

if TYPE_CHECKING:
    from aworld.store.records import Rollout

STYLES = {"system": "dim", "user": "cyan", "assistant": "green", "tool": "magenta"}


def turns(rollout: Rollout) -> Iterator[RenderableType]:
    response = rollout.response
    name = response.id if rollout.round == 0 else f"{response.id}, attempt {rollout.round + 1}"
    yield Text(harmless(name), style="bold underline")
    steps = response.trajectory.steps if response.trajectory is not None else []
    if not any(isinstance(step.get("model_call"), Mapping) for step in steps):
        yield from said("input", rollout.task.input)
    seen: dict[str, list[Any]] = {}
    for step in steps:
        yield from _turn(step, seen)


def _turn(step: Mapping[str, Any], seen: dict[str, list[Any]]) -> Iterator[RenderableType]:
    """`seen`: the conversation of each agent as far as it was shown already."""
    call, agent = step.get("model_call"), str(step.get("agent") or "agent")
    if isinstance(call, Mapping):
        yield from _model_call(step, call, agent, seen)
    elif step.get("error"):
        yield Text(harmless(f"{agent} raised {step['error']}"), style="red")
    else:
        yield from said(agent, step.get("action"), style="green")
    if step.get("reward") is not None:
        yield Text(f"  reward of this step: {step['reward']:g}", style="dim")


def _model_call(
    step: Mapping[str, Any], call: Mapping[str, Any], agent: str, seen: dict[str, list[Any]]
) -> Iterator[RenderableType]:
    messages, known = list(call.get("messages") or ()), seen.get(agent, [])
    start = len(known) if messages[: len(known)] == known else 0
    reply, observed = call.get("reply") or {}, step.get("observation")
    results = observed if isinstance(observed, list) else [observed] if observed else []
    for message in messages[start:]:
        yield from _message(message, agent)
    yield from _message(reply, agent, note=_cost(call))
    for message in results:
        yield from _message(message, agent)
    seen[agent] = [*messages, reply, *results]


def _message(message: Any, agent: str, *, note: str = "") -> Iterator[RenderableType]:
    if not isinstance(message, Mapping):
        yield from said(agent, message)
        return
    role = str(message.get("role") or "?")
    who = f"{role} ({agent})" if role == "assistant" else role
    yield title(who, STYLES.get(role, ""), note)
    for key in ("reasoning_content", "content", "refusal"):
        if message.get(key):
            yield block(message[key], style="dim italic" if key == "reasoning_content" else "")
    for wanted in message.get("tool_calls") or ():
        function = wanted.get("function") if isinstance(wanted, Mapping) else None
        if isinstance(function, Mapping):
            call = f"{function.get('name')}({_arguments(function.get('arguments'))})"
            yield block(f"-> {call}", style="yellow")


def _arguments(given: Any) -> str:
    if not isinstance(given, str):
        return json.dumps(plain(given), ensure_ascii=False)
    try:
        values = json.loads(given)
    except ValueError:
        return given
    if not isinstance(values, dict):
        return given
    return ", ".join(f"{key}={json.dumps(one, ensure_ascii=False)}" for key, one in values.items())


def _cost(call: Mapping[str, Any]) -> str:
    usage = call.get("usage") or {}
    tokens = f"{usage.get('prompt_tokens', 0)} + {usage.get('completion_tokens', 0)} tokens"
    seconds = (call.get("ended") or 0.0) - (call.get("began") or 0.0)
    return f"{tokens}, {seconds:.2f} s"
