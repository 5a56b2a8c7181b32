"""What a value is made of, one step down."""

from __future__ import annotations

import math
import re
from enum import Enum
from functools import cached_property, partial
from json.encoder import encode_basestring_ascii as quoted
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
)
from typing import Any, NamedTuple

from aworld.agents.anatomy import (
    ADDRESS,
    BUILTINS,
    array_parts,
    attributes,
    cells,
    contents,
    kind_of,
    reached,
    text_of,
)
from aworld.agents.own_code import class_code, code_of, digest, is_own
from aworld.core.secret import HIDDEN

PLAIN = (*BUILTINS, type(None), complex, Enum, re.Pattern, partial)
COUNTED = ("_thread", "multiprocessing", "tempfile", "threading")  # 'Thread-7' is no name
SECRET = re.compile(
    r"token$|(api|access|private|secret)_?key$|passw(or)?d$|secret(_value)?$|credentials?$"
    r"|^authorization$",
    re.I,
)
MARKER = re.compile(r"(bos|end|eos|image|mask|pad|sep|special|start|stop|unk)_token$", re.I)


class Makeup(NamedTuple):
    label: str = ""  # what kind of thing it is; empty for what JSON knows
    parts: list[Any] | dict[str, Any] | tuple[()] = ()
    around: dict[str, Any] | None = None  # the globals that its code reads
    is_unordered: bool = False


def is_scalar(value: Any) -> bool:
    """By identity: a class can have an equality of its own."""
    kind = type(value)
    return kind is str or kind is int or kind is bool or kind is float or value is None


class Maker:
    """`as_agent`: an object is also the code of its class, and its secrets are no matter."""

    def __init__(self, *, as_agent: bool):
        self.as_agent = as_agent

    def makeup(self, value: Any) -> Makeup:
        try:
            return self._makeup(value, type(value))
        except Exception:  # broken in a way of its own
            return Makeup(type.__repr__(type(value)))

    def scalar(self, value: Any) -> str:
        """JSON, and the numbers that it does not know."""
        if type(value) is str:
            is_told = self.as_agent and " at 0x" in value
            return quoted(ADDRESS.sub("", value) if is_told else value)
        if type(value) is float:
            return repr(value) if math.isfinite(value) else f'"<{value}>"'
        if type(value) is int:  # Python refuses to write very long ones
            return str(value) if value.bit_length() < 1024 else f'"<{value:#x}>"'
        return "null" if value is None else "true" if value else "false"

    def _makeup(self, value: Any, kind: type) -> Makeup:
        if kind is dict or kind is MappingProxyType:
            return self._mapping(value)
        if kind is list or kind is tuple:
            return Makeup(parts=list(value))
        if kind is set or kind is frozenset:
            return Makeup("<set>", list(value), is_unordered=True)
        if kind in (bytes, bytearray, memoryview):
            return Makeup("<bytes>", [digest(bytes(value))])
        if issubclass(kind, type):
            return self._class(value)
        if kind is FunctionType:
            return self._function(value)
        if kind is MethodType:
            return Makeup("<method>", [value.__func__, value.__self__])
        if kind is BuiltinFunctionType or kind is MethodWrapperType:
            owner = None if type(value.__self__) is ModuleType else value.__self__
            return Makeup("<builtin>", [value.__qualname__, owner])
        if kind is property:
            return Makeup("<property>", [value.fget, value.fset])
        if kind is re.Pattern:
            return Makeup("<pattern>", [value.pattern, value.flags])
        if kind is GenericAlias or kind is UnionType:
            return Makeup(f"<{value}>", list(value.__args__))
        if issubclass(kind, ModuleType):
            return Makeup(f"<module {value.__name__}>")
        if issubclass(kind, Enum):
            return Makeup(f"<{kind.__qualname__}>", [value._name_, value._value_])
        return self._object(value, kind)

    def _mapping(self, value: Any) -> Makeup:
        if all(type(key) is str for key in value):
            return Makeup(parts=self._named(value))
        return Makeup("<dict>", list(value.items()), is_unordered=True)

    def _named(self, parts: Any, prefix: str = "") -> dict[str, Any]:
        """Only texts are hidden: `token=None` says something."""
        return {
            prefix + name: HIDDEN
            if self.as_agent and type(part) in (str, bytes) and _is_secret(name)
            else part
            for name, part in parts.items()
        }

    def _object(self, value: Any, kind: type) -> Makeup:
        known = kind_of(kind)
        label = f"<{known.name}>"
        if known.is_array:
            return Makeup(label, array_parts(value))
        if known.is_runtime and not known.is_own:
            name = None if kind.__module__.startswith(COUNTED) else getattr(value, "name", None)
            return Makeup(label, [name] if type(name) is str else [])
        parts = self._named(attributes(value, known), ".")
        if issubclass(kind, partial):
            parts |= {"function": value.func, "args": value.args, "keywords": value.keywords}
        elif issubclass(kind, BUILTINS):
            parts["contents"] = contents(value, kind)
        elif issubclass(kind, BaseException):
            parts["contents"] = value.args
        elif not parts and not known.is_aworld:
            parts["contents"] = text_of(value, kind)
        if known.is_own and self.as_agent:
            parts["class"] = kind
        return Makeup(label, parts)

    def _function(self, function: FunctionType) -> Makeup:
        """A decorator's wrapper is its own code, and what it holds: the function it wraps."""
        code, around = function.__code__, function.__globals__
        module = str(around.get("__name__"))
        parts = self._named(function.__dict__, ".")
        if function.__closure__:
            parts |= self._named(dict(cells(function)), "closure ")
        if not is_own(module):
            return Makeup(f"<function {module}.{code.co_qualname}>", parts)
        parts["code"], reads = code_of(code, code.co_filename)
        if function.__defaults__:
            parts["defaults"] = function.__defaults__
        if function.__kwdefaults__:
            parts["keyword defaults"] = function.__kwdefaults__
        used = {name: part for name, part in reached(reads, around) if self._is_setting(part)}
        # not `__qualname__`: a Tool may change that when it travels
        label = f"<function {code.co_qualname}>"
        return Makeup(label, parts, self._named(used, "global "))

    def _class(self, kind: type) -> Makeup:
        known = kind_of(kind)
        if not known.is_own:
            return Makeup(f"<class {known.name}>")
        source = class_code(kind)
        members = {}
        for name, member in kind.__dict__.items():
            if type(member) in (staticmethod, classmethod):
                member = member.__func__
            elif type(member) is cached_property:
                member = member.func
            if type(member) is FunctionType:
                # what dataclass and others have made follows from the source
                is_wanted = not (source and member.__code__.co_filename.startswith("<"))
            else:
                is_internal = name.startswith("_") and name.endswith("_")
                is_setting = not is_internal and self._is_setting(member)
                is_wanted = type(member) is property or is_setting
            if is_wanted:
                members[name] = member
        bases = [base for base in kind.__mro__[1:] if kind_of(base).is_own]
        parts = {"code": source, "bases": bases, **self._named(members, ".")}
        return Makeup(f"<class {known.name}>", parts)

    def _is_setting(self, value: Any) -> bool:
        """Whether what code finds around it belongs to it: plain data, and code of the user's."""
        kind = type(value)
        if issubclass(kind, PLAIN):
            return True
        if kind is FunctionType:
            return is_own(str(value.__globals__.get("__name__")))
        if issubclass(kind, type):
            return kind_of(value).is_own
        known = kind_of(kind)
        if known.is_own:
            return known.is_data or any("__call__" in base.__dict__ for base in kind.__mro__)
        is_wrapper = "__wrapped__" in getattr(value, "__dict__", ())
        return known.is_aworld or known.is_array or is_wrapper


def _is_secret(name: str) -> bool:
    return SECRET.search(name) is not None and MARKER.search(name) is None
