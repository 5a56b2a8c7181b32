"""From the words of a command line to agents, rewards and tasks."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from aworld.cli.settings import value_of
from aworld.errors import AWorldError, ConfigError

if TYPE_CHECKING:
    from aworld.core.task import Task
    from aworld.rewards.base import Reward

Found = TypeVar("Found")

WEIGHT = re.compile(r"([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\*(.+)", re.DOTALL)
ENVIRONMENT = "env:"
NEXT_OPTION = re.compile(r",(?=\s*\w+\s*=)")


def look_in(folder: str | None = None) -> None:
    """Modules of the folder that the command is given in can be named, as in a script there."""
    place = folder or os.getcwd()
    if place not in sys.path:
        sys.path.insert(0, place)


def agent_of(spec: str) -> Any:
    """`file.py:name` or `package.module:name`; a class is called, without arguments."""
    from aworld.agents.calling import why_no_agent
    from aworld.core.plugins import load_object

    found = loaded(spec, lambda: load_object(spec))
    if isinstance(found, type):
        check_call(found, (), f"--agent {spec} is a class that needs arguments: give an object")
        found = loaded(spec, found)
    problem = why_no_agent(found)
    if problem:
        raise ConfigError(f"--agent {spec} {problem}")
    return found


def reward_of(specs: Iterable[str]) -> Reward | str | None:
    """Of several, the weighted sum. One that needs no more than its name stays a name."""
    given = list(specs)
    if len(given) < 2 and not any(WEIGHT.fullmatch(spec) for spec in given):
        return _one_reward(given[0]) if given else None
    from aworld.rewards.catalog import name_of, the_reward
    from aworld.rewards.combined import weighted

    parts: dict[str, tuple[float, Reward]] = {}
    for spec in given:
        with_weight = WEIGHT.fullmatch(spec)
        weight, bare = with_weight.groups() if with_weight else ("1", spec)
        reward = the_reward(_one_reward(bare))
        name = name_of(reward)
        count = sum(known.partition("~")[0] == name for known in parts)
        parts[f"{name}~{count}" if count else name] = (_number(weight, spec), reward)
    return weighted(on_missing="none", **parts)


def tasks_of(command: Mapping[str, Any], agent: Any) -> Iterable[Task]:
    """A list, or a generator where the source is one."""
    from aworld.sources import load_tasks

    source = command.get("tasks")
    if not source:
        raise ConfigError("which tasks? give a file, a folder, '-' or module:function")
    columns = {field: column or None for field, column in command.get("fields", {}).items()}
    found = loaded(
        source,
        lambda: load_tasks(
            source,
            agent,
            fields=columns or None,
            split=command.get("split"),
            limit=command.get("limit"),
        ),
    )
    return _those_named(found, command["only"]) if command.get("only") else found


def _those_named(tasks: Iterable[Task], names: list[str]) -> list[Task]:
    found = [task for task in tasks if task.id in names]
    missing = set(names) - {task.id for task in found}
    if missing:
        raise ConfigError(f"--only: there is no task {min(missing)!r}")
    return found


def is_there(source: str) -> bool:
    """Whether a source that is a path, perhaps with a split or a name after it, still exists."""
    file = source.removeprefix(ENVIRONMENT).partition(".py:")[0]
    places = (source, source.rpartition("#")[0], f"{file}.py")
    return any(place and Path(place).exists() for place in places)


def with_whole_paths(command: Mapping[str, Any]) -> dict[str, Any]:
    """To be written down: it means the same wherever it is read."""
    kept = {**command, "directory": command.get("directory") or os.getcwd()}
    if "tasks" in kept:
        kept["tasks"] = _whole_source(kept["tasks"])
    if "agent" in kept:
        kept["agent"] = _whole_file(kept["agent"])
    kept["reward"] = [_whole_reward(spec) for spec in kept.get("reward", ())]
    kept["fields"] = {key: column or "" for key, column in kept.get("fields", {}).items()}
    return {key: value for key, value in kept.items() if value not in ([], {})}


def loaded(spec: str, load: Callable[[], Found]) -> Found:
    """What the user's own code raises is bad input, too."""
    try:
        return load()
    except AWorldError as error:
        if isinstance(error.__cause__, SyntaxError):
            raise _unreadable(spec, error.__cause__) from error
        raise
    except SyntaxError as error:
        raise _unreadable(spec, error) from error
    except SystemExit as error:
        raise ConfigError(f"{spec!r} cannot be loaded: it ends the program, {error!r}") from error
    except Exception as error:
        raise ConfigError(f"{spec!r} cannot be loaded: {error!r}") from error


def _unreadable(spec: str, error: SyntaxError) -> ConfigError:
    """Where the code is wrong, as a compiler says it."""
    if error.filename is None or error.lineno is None:
        return ConfigError(f"{spec!r} cannot be loaded: {error!r}")
    file = Path(error.filename)
    shown = file.relative_to(os.getcwd()) if file.is_relative_to(os.getcwd()) else file
    return ConfigError(f"{spec!r} cannot be loaded: {shown}:{error.lineno}: {error.msg}")


def check_call(function: Any, arguments: tuple[Any, ...], problem: str) -> None:
    """Whether it can be called so, as far as can be told."""
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        raise ConfigError(f"{problem} ({error})") from None
    except ValueError:  # built in: it does not say what it takes
        pass


def _one_reward(spec: str) -> Any:
    from aworld.core.plugins import load_object
    from aworld.rewards.catalog import BUILT_IN, named
    from aworld.sources.queries import split_query

    name, mark, rest = spec.partition(":")
    if name in BUILT_IN:
        found = named(name, **_options(rest, spec))  # refused here, if it is to be
        return found if mark else name
    path, options = split_query(spec)
    wrong = f"--reward {spec} must be a function of (task, trajectory)"
    if ".py:" not in path:
        found = loaded(spec, lambda: named(path, **options))
        check_call(found, (None, None), wrong)
        return found if options else path
    found = loaded(spec, lambda: load_object(path))
    if options or isinstance(found, type):
        made: Any = found
        found = loaded(spec, lambda: made(**options))
    if not callable(found):
        raise ConfigError(f"{spec!r} is no reward but a {type(found).__name__}: give a function")
    check_call(found, (None, None), wrong)
    return found


def _options(text: str, spec: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in NEXT_OPTION.split(text) if text.strip() else ():
        key, mark, value = part.partition("=")
        if not mark or not key.strip().isidentifier():
            raise ConfigError(f"--reward {spec!r}: write its options as name:tolerance=0.1,...")
        found[key.strip()] = value_of(value.strip())
    return found


def _number(weight: str, spec: str) -> float:
    try:
        return float(weight)
    except ValueError:
        raise ConfigError(f"--reward {spec!r}: {weight!r} is no weight, write 0.5*name") from None


def _whole_source(source: str) -> str:
    place, mark, split = source.rpartition("#")
    for path, rest in ((source, ""), (place, f"{mark}{split}")):
        if path and path != "-" and Path(path).exists():
            return f"{Path(path).absolute()}{rest}"
    kind = ENVIRONMENT if source.startswith(ENVIRONMENT) else ""
    return f"{kind}{_whole_file(source.removeprefix(kind))}"


def _whole_file(spec: str) -> str:
    place, mark, name = spec.partition(".py:")
    return f"{Path(place).absolute()}{mark}{name}" if mark else spec


def _whole_reward(spec: str) -> str:
    with_weight = WEIGHT.fullmatch(spec)
    if with_weight is None:
        return _whole_file(spec)
    return f"{with_weight[1]}*{_whole_file(with_weight[2])}"
