"""Code as text: the same in every process, another one once the code has changed."""

from __future__ import annotations

import dis
import inspect
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from types import CodeType
from typing import Any, NamedTuple

INSTALLED = ("site-packages", "dist-packages")


class Code(NamedTuple):
    text: str
    reads: tuple[str, ...]  # globals, 'name' or 'name.attribute'; not what it also sets: its memory


def digest(content: str | bytes) -> str:
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return blake2b(data, digest_size=16).hexdigest()


@lru_cache(maxsize=8192)
def code_of(code: CodeType, file: str) -> Code:
    """`file` because code objects from two files can be equal while their texts are not."""
    reads, sets = set(), set()
    for part in _nested(code):
        name = ""
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = step.argval
            elif name and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                name = f"{name}.{step.argval}"
            else:
                name = ""
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                sets.add(step.argval)
            elif name:
                reads.add(name)
    reads = {name for name in reads if name.partition(".")[0] not in sets}
    # the line of a lambda may hold others
    text = "" if code.co_name == "<lambda>" else _source(code)
    return Code(digest(text or _constant(code)), tuple(sorted(reads)))


def class_code(kind: type) -> str:
    """Empty if there is no file to read it from."""
    try:
        return _class_code(kind)
    except Exception:  # its metaclass does not let it be remembered
        return ""


@lru_cache(maxsize=2048)
def _class_code(kind: type) -> str:
    text = _source(kind)
    return digest(text) if text else ""


@lru_cache(maxsize=4096)
def is_own(module: str) -> bool:
    """Whether the user wrote it: it is neither Python's, nor aworld's, nor installed."""
    top = module.partition(".")[0]
    if top in ("aworld", "builtins"):  # its code changes with each release
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str):
        return top not in sys.stdlib_module_names
    if any(f"/{folder}/" in file.replace("\\", "/") for folder in INSTALLED):
        return False
    return not file.startswith(_stdlib())


@lru_cache(maxsize=1)
def _stdlib() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return paths["stdlib"] + os.sep, paths["platstdlib"] + os.sep


def _source(code: Any) -> str:
    try:
        return inspect.getsource(code)
    except Exception:  # built in, typed into a shell, or in a file that is no longer as it was
        return ""


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _constant(value: Any) -> str:
    """Without addresses, line numbers and the order of sets."""
    if isinstance(value, CodeType):
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        flow = (value.co_code, value.co_exceptiontable, value.co_flags, value.co_argcount)
        parts = [repr((flow, value.co_posonlyargcount, value.co_kwonlyargcount, names))]
        return "\n".join(parts + [_constant(part) for part in value.co_consts])
    if isinstance(value, tuple):
        return f"({','.join(_constant(part) for part in value)})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(_constant(part) for part in value))}}}"
    return repr(value)
