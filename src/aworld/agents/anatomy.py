"""Looks into objects without running their own code."""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from aworld.agents.own_code import digest, is_own

ADDRESS = re.compile(r" at 0x[0-9a-f]+", re.I)
BUILTINS = (dict, list, tuple, deque, set, frozenset, str, int, float, bytes, bytearray)
# Things of the running process: what is in them says nothing of who uses them.
RUNTIME = {
    *("_asyncio", "_contextvars", "_io", "_queue", "_random", "_socket"),
    *("_sqlite3", "_ssl", "_thread", "_weakref", "_weakrefset"),
    *("asyncio", "concurrent", "contextvars", "http", "io"),
    *("logging", "mmap", "multiprocessing", "queue", "random", "selectors"),
    *("socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "weakref"),
}
HELD = ("__pydantic_extra__", "__pydantic_private__")


class Kind(NamedTuple):
    """What is the same for all instances of a class."""

    name: str
    is_own: bool  # the user wrote it
    is_aworld: bool
    is_runtime: bool
    is_array: bool
    is_data: bool
    slots: tuple[tuple[str, Any], ...]
    lazy: frozenset[str]  # attributes that are there once they were asked for


@lru_cache(maxsize=4096)
def kind_of(kind: type) -> Kind:
    bases = kind.__mro__
    own, aworld = is_own(kind.__module__), _top(kind) == "aworld"
    is_dataclass = "__dataclass_fields__" in kind.__dict__
    slots, lazy = [], set()
    for base in bases:
        # others' slots hold caches: a path's hash
        has_state = is_dataclass or _top(base) == "aworld" or is_own(base.__module__)
        for name, member in base.__dict__.items():
            if type(member) is MemberDescriptorType and (has_state or name in HELD):
                slots.append((name, member))
            elif type(member) is cached_property:
                lazy.add(name)
    return Kind(
        name=kind.__qualname__ if own or aworld else f"{kind.__module__}.{kind.__qualname__}",
        is_own=own,
        is_aworld=aworld,
        is_runtime=any(_top(base) in RUNTIME for base in bases),
        is_array=any("__array__" in b.__dict__ and not is_own(b.__module__) for b in bases),
        is_data=is_dataclass or any("model_dump" in base.__dict__ for base in bases),
        slots=tuple(slots),
        lazy=frozenset(lazy),
    )


def attributes(value: Any, kind: Kind) -> dict[str, Any]:
    """The settings that it holds: not what was computed from them, nor what is private to us."""
    try:
        found = dict(object.__getattribute__(value, "__dict__"))
    except (AttributeError, TypeError, ValueError):
        found = {}
    for name, slot in kind.slots:
        try:
            found[name] = slot.__get__(value)
        except AttributeError:  # not set
            pass
    only_public = kind.is_aworld or kind.is_runtime
    return {
        name: part
        for name, part in found.items()
        if type(name) is str
        and name not in kind.lazy
        and not (only_public and name.startswith("_"))
    }


def contents(value: Any, kind: type) -> Any:
    """What it holds as a dict, list, text or number, whatever its subclass makes of that."""
    base: Any = next(base for base in BUILTINS if issubclass(kind, base))
    if base is dict:
        return dict(dict.items(value))
    if base is str:
        return str.__str__(value)
    if base is int:
        return int.__int__(value)
    if base is float:
        return float.__float__(value)
    if base in (bytes, bytearray):
        return bytes(memoryview(value))
    members = base.__iter__(value)
    return frozenset(members) if base in (set, frozenset) else list(members)


def array_parts(value: Any) -> list[Any]:
    """Of anything that numpy can read: its type, its shape, and all that is in it."""
    here = value.detach().cpu() if hasattr(value, "detach") else value
    try:
        array = sys.modules["numpy"].asarray(here)
    except (KeyError, TypeError):  # a type that numpy does not know: bfloat16
        return [str(value.dtype), str(value.shape)]
    inside = array.tolist() if array.dtype.hasobject else digest(array.tobytes())
    return [str(array.dtype), list(array.shape), inside]


def text_of(value: Any, kind: type) -> str | None:
    """How it writes itself, if that is not the user's code."""
    base: Any = next(base for base in kind.__mro__ if not is_own(base.__module__))
    if base is not kind and base.__str__ is object.__str__:
        return None
    return ADDRESS.sub("", base.__str__(value))


def cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            if name != "__class__":  # super() needs it; it leads back to where we come from
                yield name, cell.cell_contents
        except ValueError:  # not set yet
            pass


def reached(names: Iterable[str], around: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What code reads by these names: 'helper', or 'prompts.SYSTEM' of a module of the user's."""
    for name in names:
        first, *rest = name.split(".")
        value, is_there = around.get(first), first in around
        for attribute in rest:
            is_there = type(value) is ModuleType and is_own(value.__name__)
            value = value.__dict__.get(attribute) if is_there else None
        if is_there:
            yield name, value


def _top(kind: type) -> str:
    return kind.__module__.partition(".")[0]
