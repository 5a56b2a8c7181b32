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
from aworld.store.telling import Told, told_steps

if TYPE_CHECKING:
    from aworld.store.records import Rollout

STYLES = {"system": "dim", "user": "cyan", "assistant": "green", "tool": "magenta"}


def turns(rollout: Rollout) -> Iterator[RenderableType]:
    response = rollout.response
    name = response.id if rollout.round == 0 else f"{response.id}, attempt {rollout.round + 1}"
    yield Text(harmless(name), style="bold underline")
    steps = told_steps(rollout)
    if all(one.call is None for one in steps):
        yield from said("input", rollout.task.input)
    for one in steps:
        yield from _turn(one)


def _turn(told: Told) -> Iterator[RenderableType]:
    step, agent = told.step, told.agent or "agent"
    if told.call is not None:
        for message in told.messages:
            yield from _message(message, agent)
        yield from _message(told.reply, agent, note=_cost(told.call))
        for message in told.results:
            yield from _message(message, agent)
    elif step.get("error"):
        yield Text(harmless(f"{agent} raised {step['error']}"), style="red")
    else:
        yield from said(agent, step.get("action"), style="green")
    if step.get("reward") is not None:
        yield Text(f"  reward of this step: {step['reward']:g}", style="dim")


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
