"""`aworld resume`: goes on with a run; only what it owes is run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aworld.cli import completion, options

if TYPE_CHECKING:
    from aworld.core.task import Task
    from aworld.store.reader import Run
    from aworld.stream import TaskStream


def resume(
    run: options.RunFolder,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            help="Run those of these statuses again: failed,timeout,crashed.",
            show_default=False,
            autocompletion=completion.statuses,
        ),
    ] = None,
    agent: options.AgentSpec = None,
    reward: options.RewardSpecs = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Although a task or the agent has changed.")
    ] = False,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="The tasks as they were recorded, not read again."),
    ] = False,
    engine: options.Engine = None,
    workers: options.Workers = None,
    per_worker: options.PerWorker = None,
    timeout: options.Timeout = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    address: options.Address = None,
    change: options.Changes = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> int:
    """Go on with a run that was interrupted, killed, or has failures to be tried again."""
    from aworld.cli import driving
    from aworld.cli.finding import damage_told, run_folder
    from aworld.cli.settings import given, resolved
    from aworld.store.folder import CONFIG

    folder = run_folder(run)
    _check_resumable(folder)
    asked = given(
        agent=agent,
        reward=reward,
        engine=engine,
        workers=workers,
        per_worker=per_worker,
        timeout=timeout,
        max_tokens=max_tokens,
        max_cost=max_cost,
        address=address,
    )
    tables = resolved(folder / CONFIG, asked, change)
    with damage_told(folder):
        stream = _stream(
            folder,
            tables["run"],
            tables["command"],
            recorded=recorded,
            retry=[status for text in retry or () for status in text.split(",") if status],
            accept_changes=accept_changes,
        )
    with driving.driven(stream, folder, quiet=quiet, resumed=True) as ending:
        return driving.told(ending, as_json=json)


def _check_resumable(folder: Path) -> None:
    from aworld.cli.places import to_go_on
    from aworld.errors import ConfigError
    from aworld.store.folder import read_config
    from aworld.train.folders import is_training

    if is_training(folder):
        raise ConfigError(f"{folder} is a training: go on with it by `{to_go_on(folder)}`")
    source = read_config(folder).get("import")
    if source is not None:
        raise ConfigError(f"there is nothing to resume in {folder}: it was imported, not run")


def _stream(
    folder: Path, run: dict[str, Any], command: dict[str, Any], *, recorded: bool, **how: Any
) -> TaskStream:
    from aworld.cli import specs
    from aworld.config import RunConfig
    from aworld.resuming import stream_owed
    from aworld.store.reader import open_run

    specs.look_in()
    specs.look_in(command.get("directory"))
    conf = RunConfig(**{**run, "run_dir": None})
    reward = specs.reward_of(command["reward"])
    with open_run(folder) as known:
        agent = _agent(known, command)
        tasks = None if recorded else _tasks(command, agent)
    return stream_owed(
        folder, tasks, agent=agent, reward=reward, run_conf=replace(conf, reward=reward), **how
    )


def _agent(run: Run, command: dict[str, Any]) -> Any:
    """None: that of each task, by its name. So it is for a run that a program has begun."""
    from aworld.cli import specs
    from aworld.cli.job import default_agent

    if command.get("agent"):
        return specs.agent_of(command["agent"])
    return default_agent() if command.get("tasks") else None


def _tasks(command: dict[str, Any], agent: Any) -> Iterable[Task] | None:
    """Read again, where their source is still there. None: as they were recorded."""
    from aworld.cli import specs
    from aworld.cli.output import say

    source = command.get("tasks")
    if not source or source == "-":
        return None
    path = Path(source.removeprefix(specs.ENVIRONMENT))
    if path.is_absolute() and not specs.is_there(source):
        say(f"{source} is not there any more: the tasks are those that were recorded")
        return None
    return specs.tasks_of(command, agent)
