"""What a command is asked for: defaults, then a TOML file, then options, then `--set a.b=value`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from aworld.config import RunConfig
from aworld.errors import ConfigError, unknown_name

Tables = dict[str, dict[str, Any]]  # [run] and [command]

KNOWN = {
    "run": tuple(field.name for field in fields(RunConfig)),
    "command": ("tasks", "agent", "reward", "fields", "split", "limit", "only", "directory"),
}
OPEN = {("run", "engine_options"), ("command", "fields")}  # tables with keys of their own
OPTIONS = {  # those that are not called like their setting
    "engine": "engine_name",
    "workers": "worker_num",
    "per_worker": "tasks_per_worker",
    "out": "run_dir",
    "field": "fields",
}


def resolved(config: Path | None, options: Tables, changes: Iterable[str] | None) -> Tables:
    """The later goes before the earlier."""
    layers = [] if config is None else [read(config)]
    layers += [options, *(_change(text) for text in changes or ())]
    whole: Tables = {"run": {}, "command": {}}
    for layer in layers:
        run, command = dict(layer.get("run", {})), dict(layer.get("command", {}))
        if "reward" in run:  # the same thing, by its name alone
            command.setdefault("reward", run.pop("reward"))
        for name, table in (("run", run), ("command", command)):
            for key, value in table.items():
                if (name, key) in OPEN and isinstance(value, dict):
                    value = {**whole[name].get(key, {}), **value}
                whole[name][key] = value
    return _checked(whole)


def given(**options: Any) -> Tables:
    """The settings that these options stand for, as far as they were used."""
    if options.get("field"):
        options["field"] = _columns_of(options["field"])
    tables: Tables = {"run": {}, "command": {}}
    for option, value in options.items():
        key = OPTIONS.get(option, option)
        if value is not None and value != []:
            tables["command" if key in KNOWN["command"] else "run"][key] = value
    return tables


def read(path: Path) -> Tables:
    """A file of the user's, or the `config.toml` of an earlier run."""
    tables = read_toml(path)
    for name, table in tables.items():
        _check_table(name, f"{path}: ")
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: [{name}] is a table: write its keys below it")
        for key in table:
            _check_key(name, key, f"{path}: ")
    return tables


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None


def _columns_of(texts: Iterable[str]) -> dict[str, str]:
    """`input=question` for a column, `metadata=` for none."""
    found: dict[str, str] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key.strip():
            raise ConfigError(f"--field {text!r}: write it as --field input=question")
        found[key.strip()] = value.strip()
    return found


def value_of(text: str) -> Any:
    """As TOML reads it; a bare word is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, KeyError):
        if text.startswith(("'", '"', "[", "{")):
            raise ConfigError(f"{text!r} is no value that TOML can read") from None
        return text


def _change(text: str) -> Tables:
    place, mark, value = text.partition("=")
    # the third may have dots of its own: run.engine_options.spark.executor.memory
    name, *path = [part.strip() for part in place.split(".", 2)]
    if not mark or not path or not all(path):
        raise ConfigError(f"--set {text!r}: write it as --set run.timeout=30")
    _check_table(name, "--set: ")
    _check_key(name, path[0], "--set: ")
    if len(path) > 1 and (name, path[0]) not in OPEN:
        raise ConfigError(f"--set {text!r}: {name}.{path[0]} has no parts")
    content: Any = value_of(value.strip())
    for key in reversed(path):
        content = {key: content}
    return {name: content}


def _check_table(name: str, where: str) -> None:
    if name not in KNOWN:
        raise ConfigError(f"{where}{unknown_name('table', name, KNOWN)}")


def _check_key(name: str, key: str, where: str) -> None:
    if key not in KNOWN[name]:
        known = [f"{name}.{known}" for known in KNOWN[name]]
        raise ConfigError(f"{where}{unknown_name('setting', f'{name}.{key}', known)}")


def _checked(tables: Tables) -> Tables:
    command = tables["command"]
    for key in ("tasks", "agent", "split", "directory"):
        if not isinstance(command.get(key, ""), str):
            raise ConfigError(f"command.{key} must be a text, got {command[key]!r:.80}")
    columns = command.get("fields", {})
    if not isinstance(columns, Mapping):
        raise ConfigError(f"command.fields must be a table of columns, got {columns!r:.80}")
    rewards = command.get("reward", [])
    rewards = [rewards] if isinstance(rewards, str) else rewards
    if not isinstance(rewards, list) or not all(isinstance(one, str) for one in rewards):
        raise ConfigError(f"command.reward must be a name, or a list of them, got {rewards!r:.80}")
    command["reward"] = rewards
    only = command.get("only", [])
    if not isinstance(only, list) or not all(isinstance(one, str) for one in only):
        raise ConfigError(f"command.only must be a list of ids of tasks, got {only!r:.80}")
    return tables
