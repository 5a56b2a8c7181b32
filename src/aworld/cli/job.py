"""All that a run is made of, checked before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli import specs
from aworld.cli.places import check_free, check_named, free_folder
from aworld.cli.settings import Tables
from aworld.config import RunConfig
from aworld.errors import ConfigError

if TYPE_CHECKING:
    from aworld.core.task import Task
    from aworld.stream import TaskStream

COLUMN = "say which column it is (--field ground_truth=column)"


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
    from aworld.rewards.truth import check_truth

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
    if spec is None and _is_used(agent, tasks):
        _check_model(agent)
        job.remarks.append(f"no --agent was given: the ready one asks {where_it_asks(agent)}")
    if isinstance(tasks, list):  # a generator is not read before its time
        check_truth(conf.reward, tasks, hint=COLUMN)
    return job


def default_agent() -> Any:
    from aworld.agents.llm_agent import Agent

    return Agent()


def _is_used(agent: Any, tasks: Iterable[Task]) -> bool:
    """Whether a task has this agent, as far as can be told without reading a generator."""
    from aworld.agents.checking import agents_in

    if not isinstance(tasks, list):
        return True
    different = {id(task.agent): task.agent for task in tasks}
    return any(one is agent for own in different.values() for one in agents_in(own))


def _check_model(agent: Any) -> None:
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
    from aworld.agents.checking import agents_in
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
