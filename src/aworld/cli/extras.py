"""Which extras of aworld are installed, in full and new enough, by what the package declares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from aworld.cli.machine import Check

PURPOSES = {
    "openai": "models at any OpenAI-compatible server",
    "local": "a small model in the workers: no key, no server",
    "mcp": "the tools of MCP servers",
    "sandbox": "code of models",
    "ray": "the engine Ray",
    "spark": "the engine Spark",
    "data": "Parquet and dataset folders",
    "gym": "reasoning-gym and Gymnasium",
    "view": "the live view in the browser",
    "serve": "serving a model",
    "train": "training",
}
NEED = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<parts>[\w,-]+)\])?(?:>=(?P<least>[\d.]+))?")


def extras() -> Iterator[Check]:
    try:
        requires("aworld")
    except PackageNotFoundError:
        unknown = "it is on Python's path, but not installed: its extras are not known"
        yield Check("aworld[...]", "missing", unknown, "pip install aworld")
        return
    for extra, purpose in PURPOSES.items():
        found, missing, old = _state(extra)
        name = f"aworld[{extra}]"
        if missing:
            lacks = f"for {purpose}, lacks {', '.join(missing)}"
            yield Check(name, "missing", lacks, f"pip install '{name}'")
        elif old:
            yield Check(name, "broken", "; ".join(old), f"pip install --upgrade '{name}'")
        else:
            yield Check(name, "ok", ", ".join(found))


def _state(extra: str) -> tuple[list[str], list[str], list[str]]:
    """The packages of an extra: which are there, which are missing, and which are too old."""
    found: list[str] = []
    missing: list[str] = []
    old: list[str] = []
    for line in requires("aworld") or []:
        need, _, marker = line.partition(";")
        parsed = NEED.match(need.strip())
        if f"extra == '{extra}'" not in marker.replace('"', "'") or parsed is None:
            continue
        name, least = parsed["name"], parsed["least"]
        if name == "aworld":  # this extra has others in it
            for part in parsed["parts"].split(","):
                for all_of_them, more in zip((found, missing, old), _state(part), strict=True):
                    all_of_them += more
            continue
        try:
            has = version(name)
        except PackageNotFoundError:
            missing.append(name)
            continue
        if least and _numbers(has) < _numbers(least):
            old.append(f"{name} {has} is older than {least}")
        found.append(f"{name} {has}")
    return found, missing, old


def _numbers(text: str) -> tuple[int, ...]:
    """1.10.0rc1 is (1, 10, 0): enough to tell what is too old."""
    return tuple(int(number) for number in re.findall(r"(?:^|\.)(\d+)", text))
