"""Whether an agent is the one that a run began with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from aworld.agents.calling import agent_name
from aworld.agents.makeup import Maker, is_scalar, quoted
from aworld.agents.own_code import class_code, code_of, digest

LONGEST = 500  # longer texts stand in others as a digest: what is held twice is not written twice
HOPS = 3  # how far globals are followed: those of the functions that are globals, and so on
ROUNDS = 4


class AgentIdentity(NamedTuple):
    name: str
    spec: str  # 'module:name' of a function or class that can be imported; else empty
    fingerprint: str  # another one: the agent's code or settings have changed


def identify(agent: Any) -> AgentIdentity:
    """What it is made of: the code of its function or class, and its settings. It never raises.

    Code is that of the user: its functions and classes with what they close over, the user's own
    base classes, and the plain data and functions among the globals that they read. What is from
    the standard library, aworld or another installed package counts by its name, but for the code
    of the agent itself.

    Settings are attributes, but for texts that are secrets by their names. Loggers, locks, files
    and other things of the running process count by type and name.

    It cannot know which attributes are settings and which are memory: an agent that counts its
    calls, or notes when it was made, is another one after each.
    """
    content = _code(agent) + _text(agent, Maker(as_agent=True))
    return AgentIdentity(_name(agent), _spec(agent), digest(content))


def canonical(value: Any) -> str:
    """JSON that is the same in every process for the same value, whatever it holds.

    Objects are what they hold, functions are their code. It is to be compared and not to be read
    back: of what is long inside it there is only a digest.
    """
    return _text(value, Maker(as_agent=False))


class _Node(NamedTuple):
    """A value as text with gaps: its parts are texts, or ids of other nodes."""

    value: Any  # kept, so that its id stays its own
    label: str
    names: list[str] | None  # of its parts, in their order
    parts: list[str | int]
    is_unordered: bool

    def text(self, texts: Mapping[int, str]) -> str:
        parts = [part if isinstance(part, str) else texts[part] for part in self.parts]
        if self.names is not None:
            parts = [f"{name}:{part}" for name, part in zip(self.names, parts, strict=True)]
        body = ",".join(sorted(parts) if self.is_unordered else parts)
        body = f"[{body}]" if self.names is None else f"{{{body}}}"
        return f"{{{quoted(self.label)}:{body}}}" if self.label else body


def _text(root: Any, maker: Maker) -> str:
    if is_scalar(root):
        return maker.scalar(root)
    nodes = _nodes(root, maker)
    texts: dict[int, str] = {}
    parents: defaultdict[int, list[int]] = defaultdict(list)
    unknown: dict[int, int] = {}
    for key, node in nodes.items():
        inside = {part for part in node.parts if isinstance(part, int)}
        unknown[key] = len(inside)
        for part in inside:
            parents[part].append(key)
    ready = [key for key, count in unknown.items() if not count]
    while ready:  # from the leaves up: no recursion, however deep it is
        key = ready.pop()
        text = nodes[key].text(texts)
        if key == id(root):
            return text
        texts[key] = text if len(text) <= LONGEST else f'{{"<digest>":"{digest(text)}"}}'
        for parent in parents[key]:
            unknown[parent] -= 1
            if not unknown[parent]:
                ready.append(parent)
    return _ring_text(root, {key: nodes[key] for key in nodes.keys() - texts.keys()}, texts)


def _ring_text(root: Any, ring: dict[int, _Node], texts: dict[int, str]) -> str:
    """Of values that hold themselves: what each is made of, and a few steps around it.

    So it does not depend on where one enters the ring, as the order of a set would have it.
    """
    marks = dict.fromkeys(ring, '"..."')
    for _ in range(ROUNDS):
        known = texts | marks
        marks = {key: f'"{digest(node.text(known))}"' for key, node in ring.items()}
    return f'{{"<ring>":[{",".join([marks[id(root)], *sorted(set(marks.values()))])}]}}'


def _nodes(root: Any, maker: Maker) -> dict[int, _Node]:
    """All that it is made of, each thing once."""
    nodes: dict[int, _Node] = {}
    near, far = [root], []
    for hop in range(HOPS + 1):
        while near:
            value = near.pop()
            if id(value) in nodes:
                continue
            made = maker.makeup(value)
            inside, names = made.parts, None
            if isinstance(inside, dict):
                names = sorted(inside)
                inside = [inside[name] for name in names]
            parts = [_part(part, near, maker) for part in inside]
            if names is not None and made.around and hop < HOPS:
                names += made.around
                parts += [_part(part, far, maker) for part in made.around.values()]
            names = names and [quoted(name) for name in names]
            nodes[id(value)] = _Node(value, made.label, names, parts, made.is_unordered)
        near, far = far, []
    return nodes


def _part(value: Any, waiting: list[Any], maker: Maker) -> str | int:
    if is_scalar(value):
        return maker.scalar(value)
    waiting.append(value)
    return id(value)


def _code(agent: Any) -> str:
    """Of an agent from an installed package, too: that may be the user's own."""
    for _ in range(100):  # a partial can be made to hold itself
        if issubclass(type(agent), partial):
            agent = _attribute(agent, "func")
        elif type(agent) is MethodType:
            agent = agent.__self__
        else:
            break
    if type(agent) is FunctionType:
        is_ours, code = _is_ours(agent), agent.__code__
        return "" if is_ours else code_of(code, code.co_filename).text
    return "" if _is_ours(type(agent)) else class_code(type(agent))


def _is_ours(holder: Any) -> bool:
    module = _attribute(holder, "__module__")
    return type(module) is str and module.partition(".")[0] == "aworld"


def _name(agent: Any) -> str:
    try:
        return agent_name(agent)
    except Exception:  # a name that is a text of its own kind
        return type(agent).__name__


def _spec(agent: Any) -> str:
    module, name = _attribute(agent, "__module__"), _attribute(agent, "__qualname__")
    if not callable(agent) or type(module) is not str or type(name) is not str:
        return ""
    is_named = module and name and module != "__main__" and "<" not in name
    return f"{module}:{name}" if is_named else ""


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property that raises
        return None
