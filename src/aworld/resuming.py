"""Goes on with a run that was recorded: only what is owed is run."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from aworld.config import RunConfig, checked_run_conf
from aworld.core.failure import STATUSES
from aworld.core.plugins import load_dotted
from aworld.core.task import Task
from aworld.errors import ConfigError, unknown_name
from aworld.intake import Intake
from aworld.recorder import Recorder
from aworld.rewards.catalog import name_of, the_reward
from aworld.store.reader import Run, open_run
from aworld.stream import TaskStream

LASTING = ("samples", "seed", "sequence_dependent")  # settings that a resumed run keeps


def stream_owed(
    run_dir: Any,
    tasks: Task | Iterable[Task] | None = None,
    *,
    agent: Any = None,
    reward: Any = None,
    run_conf: RunConfig | None = None,
    retry: Collection[str] = (),
    accept_changes: bool = False,
) -> TaskStream:
    """See `Runners.resume`."""
    retry = [retry] if isinstance(retry, str) else list(retry)
    for status in retry:
        if status not in STATUSES:
            raise ConfigError(unknown_name("status to retry", status, STATUSES))
    with open_run(run_dir) as run:
        conf = _config(run, run_conf, reward)
        given = _recorded_tasks(run, agent) if tasks is None else tasks
    resume = partial(_resume, retry=retry, accept_changes=accept_changes)
    return TaskStream(given, conf, record_in=resume)


def _resume(conf: RunConfig, intake: Intake, **options: Any) -> Recorder:
    assert conf.run_dir is not None
    return Recorder.resume(Path(conf.run_dir), intake, **options)


def _config(run: Run, given: RunConfig | None, reward: Any) -> RunConfig:
    """As the run began, unless another is given. What makes its results what they are stays."""
    began = RunConfig(**run.config.get("run", {}))
    conf, usual = began if given is None else checked_run_conf(given), RunConfig()
    for name in LASTING:
        now, before = getattr(conf, name), getattr(began, name)
        if now == getattr(usual, name):
            conf = replace(conf, **{name: before})
        elif now != before:
            raise ConfigError(
                f"{run.folder} has {name}={before!r}, not {now!r}: leave it as it was, or start a "
                "new run"
            )
    configured = began.reward if conf.reward is None else conf.reward
    return replace(conf, reward=_reward(run, reward, configured), run_dir=run.folder)


def _reward(run: Run, given: Any, configured: Any) -> Any:
    """The one that the run was scored by: others have names, and scores, of their own."""
    reward = configured if given is None else given
    began = run.meta.get("reward")
    if reward is None and began is None:
        return None
    if reward is None:
        raise ConfigError(
            f"{run.folder} was scored by {began!r}, which cannot be found by its name: give the "
            "function again, as reward="
        )
    name = name_of(the_reward(reward))
    if name != began:
        scored = f"scored by {began!r}" if began else "not scored"
        raise ConfigError(
            f"{run.folder} was {scored}, not by {name!r}: resume it as it was, and score it "
            "afterwards (rescore, `aworld rescore`)"
        )
    return reward


def _recorded_tasks(run: Run, agent: Any) -> list[Task]:
    if run.total is None:
        raise ConfigError(
            f"{run.folder} had not read all of its tasks when it stopped: give them again, as "
            "tasks="
        )
    numbers = {position: number for position, _, number, _ in run.task_marks()}
    agents = {} if agent is not None else _agents_by_name(run, set(numbers.values()))
    tasks = []
    for position, task in run.tasks():
        task.agent = agent if agent is not None else agents[numbers[position]]
        tasks.append(task)
    if len(tasks) * run.samples != run.total:
        lost = [damage.reason for damage in run.damage]
        raise ConfigError(
            f"{run.folder} has lost {run.total // run.samples - len(tasks)} of its tasks "
            f"({'; '.join(lost[:3])}): give them again, as tasks="
        )
    return tasks


def _agents_by_name(run: Run, numbers: set[int]) -> dict[int, Any]:
    found, known = {}, run.agents()
    for number in numbers:
        name, spec, _ = known.get(number, ("?", "", ""))
        if not spec:
            raise ConfigError(
                f"the agent {name!r} of {run.folder} cannot be found by its name: give it again, "
                "as agent=, or the tasks, as tasks="
            )
        found[number] = load_dotted(spec)
    return found
