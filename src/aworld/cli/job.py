"""All that a run is made of, checked before anything is spent."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli import specs
from aworld.cli.output import as_word
from aworld.cli.settings import Tables
from aworld.config import RunConfig
from aworld.errors import ConfigError, StoreError
from aworld.store import lock, schema
from aworld.store.folder import CONFIG
from aworld.store.live import LIVE, PAUSE
from aworld.train.folders import is_training

if TYPE_CHECKING:
    from aworld.core.task import Task
    from aworld.stream import TaskStream

RUNS = Path("runs")
BLOBS = "blobs"
DATABASE = {f"{schema.FILE}{ending}" for ending in ("", "-wal", "-shm")}
FILES = {lock.FILE, CONFIG, *DATABASE, LIVE, PAUSE}  # of a run without results
UNFINISHED = re.compile(rf"{re.escape(CONFIG)}\.\d+")


@dataclass
class Job:
    tasks: Iterable[Task]
    agent: Any  # of those tasks that have none of their own
    conf: RunConfig
    command: dict[str, Any]  # what is written down of it, to resume it
    remarks: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        assert self.conf.run_dir is not None
        return Path(self.conf.run_dir)

    def stream(self) -> TaskStream:
        """It is recorded. Nothing starts before it is looked at."""
        from aworld.recorder import Recorder
        from aworld.stream import TaskStream

        create = partial(Recorder.create, command=self.command)
        return TaskStream(self.tasks, self.conf, record_in=create)


def prepared(tables: Tables) -> Job:
    command, run = tables["command"], tables["run"]
    specs.look_in()
    specs.look_in(command.get("directory"))
    if run.get("run_dir") is not None:
        check_named(str(run["run_dir"]))
    conf = RunConfig(**{**run, "reward": specs.reward_of(command["reward"])})
    folder = Path(conf.run_dir) if conf.run_dir is not None else free_folder(command.get("tasks"))
    check_free(folder)
    spec = command.get("agent")
    agent = default_agent() if spec is None else specs.agent_of(spec)
    tasks = specs.tasks_of(command, agent)
    job = Job(tasks, agent, replace(conf, run_dir=folder), specs.with_whole_paths(command))
    if spec is None and is_used(agent, tasks):
        check_model(agent)
        job.remarks.append(f"no --agent was given: the ready one asks {where_it_asks(agent)}")
    check_truth(conf.reward, tasks)
    return job


def default_agent() -> Any:
    from aworld.agents.llm_agent import Agent

    return Agent()


def is_used(agent: Any, tasks: Iterable[Task]) -> bool:
    """Whether a task has this agent, as far as can be told without reading a generator."""
    from aworld.agents.inside import agents_in

    if not isinstance(tasks, list):
        return True
    different = {id(task.agent): task.agent for task in tasks}
    return any(one is agent for own in different.values() for one in agents_in(own))


def check_model(agent: Any) -> None:
    """The embedded model is looked for before the workers are started in vain."""
    from aworld.models.embedded import EmbeddedModel

    if isinstance(agent.model, EmbeddedModel) and agent.model.path is None:
        from aworld.models.embedded_server import smollm2_path

        try:
            smollm2_path()
        except ConfigError as error:
            raise ConfigError(
                f"give an agent (--agent file.py:name), or set LLM_MODEL_NAME and LLM_BASE_URL; "
                f"without them {error}"
            ) from None


def where_it_asks(agent: Any) -> str:
    """Which models the agents ask, and where: fit to be shown."""
    from aworld.agents.inside import agents_in
    from aworld.agents.llm_agent import Agent
    from aworld.core.secret import bare_url

    found: dict[str, None] = {}
    for one in agents_in(agent):
        if isinstance(one, Agent):
            url = getattr(one.model, "base_url", None)
            found[repr(one.model) if url is None else f"{one.model!r} at {bare_url(url)}"] = None
        else:
            found["what its own code asks"] = None
    return ", ".join(found)


def check_truth(reward: Any, tasks: Iterable[Task]) -> None:
    from aworld.rewards.base import Match
    from aworld.rewards.catalog import name_of, named

    if reward is None or not isinstance(tasks, list):
        return
    found = named(reward) if isinstance(reward, str) else reward
    if isinstance(found, Match) and all(task.ground_truth is None for task in tasks):
        raise ConfigError(
            f"the reward {name_of(found)!r} compares answers with the ground truth, and no task "
            "has one: say which column it is (--field ground_truth=column), or leave it out"
        )


def check_named(out: str) -> None:
    if not out.strip():
        raise ConfigError("--out needs the name of a new folder: it is empty")


def check_free(folder: Path) -> None:
    """New, or empty; what is left of a run that was broken off before it began does not count."""
    if (folder / schema.FILE).exists():
        raise StoreError(
            f"{folder} holds a run already: go on with it by `{to_go_on(folder)}`, or choose "
            "another folder with --out"
        )
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file: choose a new folder with --out")
    others = [place.name for place in folder.iterdir()] if folder.exists() else []
    if lock.FILE in others:
        others = [n for n in others if n not in FILES and not UNFINISHED.fullmatch(n)]
    if others:
        raise StoreError(
            f"{folder} is not empty (it holds {min(others)!r}): choose a new folder with --out"
        )


def to_go_on(folder: Path) -> str:
    """The command for it."""
    training = is_training(folder)
    return "aworld train CONFIG --resume" if training else f"aworld resume {as_word(folder)}"


def discard(folder: Path) -> bool:
    """Removes a run that has come to nothing, so that it can be started again. Whether it is gone:
    nobody else may have taken it up, and it must hold no result."""
    from aworld.store.reader import open_run

    try:
        held = lock.RunLock(folder)
    except StoreError:
        return False
    try:
        with open_run(folder) as run:
            if run.counts():
                return False
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / BLOBS, ignore_errors=True)
        folder.rmdir()
    except OSError:  # somebody has put something there meanwhile
        pass
    finally:
        held.release()
    return not (folder / schema.FILE).exists()


def free_folder(tasks: str | None) -> Path:
    """`runs/<date-time>-<what the tasks are called>`."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{stem_of(tasks or 'tasks')}"
    folder = RUNS / name
    count = 1
    while folder.exists():
        count += 1
        folder = RUNS / f"{name}-{count}"
    return folder


def stem_of(source: str) -> str:
    if source == "-":
        return "stdin"
    name = source.partition("?")[0].partition("#")[0]
    name = name.rpartition(":")[2] if not Path(source).exists() else name
    stem = Path(name.rstrip("/")).stem or "tasks"
    return re.sub(r"[^\w.-]+", "-", stem)[:60].strip(".-") or "tasks"
