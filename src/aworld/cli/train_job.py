"""All that a training is made of, checked before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli import specs
from aworld.cli.job import default_agent
from aworld.cli.train_file import TrainFile
from aworld.core.shown import as_word
from aworld.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from aworld.core.task import Task
    from aworld.policies.base import Policy
    from aworld.train.episodes import Episode

COLUMN = "say which column it is ([fields] ground_truth = 'column')"
NEEDED = ("torch", "safetensors", "starlette", "uvicorn")


@dataclass
class TrainJob:
    file: TrainFile
    agent: Any
    tasks: list[Task]
    held_out: list[Task] | None
    reward: Any
    demonstrations: list[Mapping[str, Any]]
    worked_examples: list[Any]
    before: int = 0  # steps that were trained already
    remarks: list[str] = field(default_factory=list)

    def open_policy(self) -> Policy:
        """The slowest part, and the last that is checked."""
        from aworld.cli.train_model import opened

        return opened(self.file)

    def episodes(self, policy: Policy) -> list[Episode]:
        """The demonstrations, as this model would say them."""
        from aworld.train.binding import tools_of
        from aworld.train.demonstrations import episodes_of

        if not self.demonstrations:
            return []
        try:
            return episodes_of(policy, self.demonstrations, tools_of(_playing(self.agent)))
        except ConfigError as error:
            raise ConfigError(f"demonstrations: {error}") from None


def check_installed() -> None:
    if any(find_spec(package) is None for package in NEEDED):
        raise ConfigError("training needs: pip install 'aworld[train]'")


def prepared(file: TrainFile, *, resume: bool) -> TrainJob:
    from aworld.rewards.truth import check_truth
    from aworld.train.warming import Lessons

    before = steps_before(file, resume=resume)
    specs.look_in()
    specs.look_in(str(file.path.parent.absolute()))
    job = TrainJob(
        file,
        agent=_agent(file),
        tasks=_tasks(file, file.get("tasks")),
        held_out=_tasks(file, file.get("held_out")) if file.get("held_out") else None,
        reward=specs.reward_of(map(file.place_reward, file.rewards)),
        demonstrations=_rows(file, "demonstrations"),
        worked_examples=_rows(file, "worked_examples"),
        before=before,
    )
    Lessons(job.demonstrations, job.worked_examples).check(file.config)
    for asked in (job.tasks, job.held_out):
        if asked is not None:
            check_truth(job.reward, asked, hint=COLUMN)
    if file.get("agent") is None:
        job.remarks.append("no agent was named: the ready one is trained")
    if resume and not before:
        job.remarks.append(f"there is no step to go on from in {file.run_dir}: it begins anew")
    return job


def steps_before(file: TrainFile, *, resume: bool) -> int:
    """How many the folder holds, if it is one to go on with."""
    from aworld.store.reader import open_run
    from aworld.store.schema import FILE
    from aworld.train.checkpoints import checkpoints, holds_training, step_of
    from aworld.train.folders import check_place

    folder = file.run_dir
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file: choose a folder with --run-dir")
    check_place(folder, "choose another folder with --run-dir")
    if holds_training(folder) and not resume:
        raise ConfigError(
            f"{folder} holds a training already: go on with it by `aworld train "
            f"{as_word(file.path)} --resume`, or choose another folder with --run-dir"
        )
    if (folder / FILE).exists():
        with open_run(folder) as run:
            writer = run.writer
        if writer is not None:
            raise StoreError(
                f"process {writer.get('pid')} on {writer.get('host')} trains in {folder}: wait for "
                "it, or choose another folder with --run-dir"
            )
    saved = checkpoints(folder)
    return step_of(saved[-1]) if saved else 0


def _agent(file: TrainFile) -> Any:
    """An Agent, or a function of the model; it is tried out with a model that is never asked."""
    from aworld.core.plugins import load_object

    if file.get("agent") is None:
        return default_agent()
    spec = file.place(file.get("agent"))
    agent = specs.loaded(spec, lambda: load_object(spec))
    try:
        if isinstance(agent, type) or callable(agent):
            specs.check_call(agent, (None,), f"{spec} is called with the model, and gives an agent")
        specs.loaded(spec, lambda: _playing(agent))
    except ConfigError as error:
        raise ConfigError(f"agent = {file.get('agent')!r}: {error}") from None
    return agent


def _playing(agent: Any) -> Any:
    from aworld.train.binding import Served, with_model

    return with_model(agent, Served("none", "http://127.0.0.1:9", "none").model(1.0))


def _tasks(file: TrainFile, source: str) -> list[Task]:
    from aworld.agents.playing import Player
    from aworld.train.tasks import listed_tasks

    place = file.place(source)
    fields = {field: column or None for field, column in file.table("fields").items()}
    found = specs.loaded(place, lambda: listed_tasks(place, fields or None))
    for task in found:
        if task.agent is not None and not isinstance(task.agent, Player):
            raise ConfigError(
                f"{place}: task {task.id!r:.80} has an agent of its own: leave it out"
            )
    return found


def _rows(file: TrainFile, key: str) -> list[Any]:
    """Of a file, or as they stand in ours."""
    from aworld.sources.files import read_file

    given = file.get(key)
    if not isinstance(given, str):
        return given or []
    path = Path(file.place(given))
    if not path.is_file():
        raise ConfigError(f"{key}: there is no file '{path}'")
    return [row.values for row in read_file(path)]
