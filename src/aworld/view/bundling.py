"""The page's modules as one script, for a file of its own."""

from __future__ import annotations

import re
from pathlib import Path

STATIC = Path(__file__).parent / "static"
FIRST = "main.js"

# The two forms of import that the modules use, and what they export.
IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


def bundled() -> str:
    """Each module is a function that is called once; it gives what the module exports."""
    order: list[str] = []
    _in_order(FIRST, order)
    parts = [_as_function(name) for name in order]
    return '"use strict";\nconst modules = {};\n' + "\n".join(parts)


def _in_order(name: str, order: list[str]) -> None:
    """Those that a module needs come before it."""
    for _, needed in IMPORT.findall(_text(name)):
        if needed not in order:
            _in_order(needed, order)
    if name not in order:
        order.append(name)


def _as_function(name: str) -> str:
    text = IMPORT.sub(_taken, _text(name))
    exported = ", ".join(EXPORT.findall(text))
    text = EXPORT.sub("", text)
    if re.search(r"^(import|export) ", text, re.MULTILINE):
        raise ValueError(f"{name} imports or exports in a way that cannot be bundled")
    return f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {exported} }};\n}})();'


def _taken(found: re.Match[str]) -> str:
    names, module = found.groups()
    names = names.removeprefix("* as ").replace(" as ", ": ")
    return f'const {names} = modules["{module}"];\n'


def _text(name: str) -> str:
    return (STATIC / name).read_text("utf-8")
