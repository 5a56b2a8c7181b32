"""Whether an agent is the one that a run began with."""

from __future__ import annotations

import inspect
import json
import re
from hashlib import blake2b
from typing import Any, NamedTuple

from aworld.agents.calling import agent_name
from aworld.core.plain import as_json

ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.I)


class AgentIdentity(NamedTuple):
    name: str
    spec: str  # 'module:name' of a function or class that can be imported; else empty
    fingerprint: str  # another one: the agent's code or settings have changed


def identify(agent: Any) -> AgentIdentity:
    """What it is made of: the code of its function or class, and its settings."""
    content = json.dumps(_content(agent, set()), sort_keys=True, default=str)
    content = ADDRESS.sub("", content)
    digest = blake2b(content.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return AgentIdentity(agent_name(agent), _spec(agent), digest)


def _spec(agent: Any) -> str:
    module, name = getattr(agent, "__module__", ""), getattr(agent, "__qualname__", "")
    is_named = callable(agent) and module and name and module != "__main__"
    return f"{module}:{name}" if is_named and "<" not in name else ""


def _content(value: Any, around: set[int]) -> Any:
    """Plain data that stays the same from process to process."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if id(value) in around:
        return "..."
    around = around | {id(value)}
    if isinstance(value, dict):
        return {str(key): _content(part, around) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_content(part, around) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(part) for part in value)
    if inspect.isroutine(value) or inspect.isclass(value):
        bound = getattr(value, "__self__", None)
        owner = None if bound is None or inspect.ismodule(bound) else _content(bound, around)
        return [getattr(value, "__qualname__", str(value)), _source(value), owner]
    if hasattr(value, "__dict__"):
        kind = type(value)
        own = kind.__module__.split(".")[0] == "aworld"  # its code changes with each release
        settings = _content(vars(value), around)
        return [kind.__qualname__, "" if own else _source(kind), settings]
    return as_json(value)


def _source(code: Any) -> str:
    try:
        return inspect.getsource(code)
    except (OSError, TypeError):  # built in, or typed into a shell
        compiled = getattr(code, "__code__", None)
        return "" if compiled is None else f"{compiled.co_code!r} {compiled.co_consts!r}"
