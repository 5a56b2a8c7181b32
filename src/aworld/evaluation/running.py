"""Runs an agent on tasks, each several times if asked to, and says how good it is."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from aworld.config import RunConfig, check_count, checked_run_conf
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.evaluation.figures import Evaluation, assess, checked_options
from aworld.evaluation.judging import judged_of
from aworld.rewards.base import Reward
from aworld.rewards.truth import check_truth
from aworld.runner import Runners


def evaluate(
    tasks: Task | Iterable[Task] | str | Path,
    agent: Any = None,
    reward: Reward | str | None = None,
    *,
    samples: int | None = None,
    run_conf: RunConfig | None = None,
    passes_at: float = 1.0,
    ks: Iterable[int] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Runs the tasks and scores every rollout where it was made; `assess` says what counts how.

    tasks       a list, or what `aworld.sources.load_tasks` takes: a file, a folder, a dataset
    agent       answers all of them; left out, each task has its own
    reward      a function or the name of one; left out, that of `run_conf`
    samples     how often each task is run; left out, as often as `run_conf` says
    passes_at   the least reward with which a sample has passed
    ks          the k of pass@k and pass^k: 1, 2, 4, ... and `samples`, unless others are given
    confidence  of the intervals
    seed        of the intervals; that of the sampling is `run_conf.seed`

    Your tasks stay as they are. With `run_conf.run_dir` the run is recorded, and can be resumed and
    compared with others. What every rollout did is in `responses` of the evaluation.
    """
    conf = _conf(run_conf, reward, samples)
    wanted = checked_options(passes_at=passes_at, ks=ks, confidence=confidence, seed=seed)
    for k in wanted or ():
        if k > conf.samples:
            raise ConfigError(
                f"k={k} needs at least as many samples, there are {conf.samples}: "
                f"set samples={k}, or leave it out of ks"
            )
    listed = _listed(tasks, agent)
    check_truth(conf.reward, listed)
    responses = Runners.sync_run_task(listed, conf)
    options: dict[str, Any] = {"ks": wanted, "confidence": confidence, "seed": seed}
    evaluation = assess(judged_of(responses, listed), passes_at=passes_at, **options)
    return replace(evaluation, responses=responses)


def _conf(run_conf: Any, reward: Any, samples: Any) -> RunConfig:
    conf = checked_run_conf(run_conf)
    if reward is not None:
        conf = replace(conf, reward=reward)
    if conf.reward is None:
        raise ConfigError(
            "evaluate needs a reward: a function of (task, trajectory), or a name, as in "
            "evaluate(tasks, agent, 'exact_match')"
        )
    if samples is None:
        return conf
    check_count("samples", samples, least=1)
    return replace(conf, samples=samples)


def _listed(tasks: Any, agent: Any) -> list[Task]:
    if isinstance(tasks, (str, Path)):
        from aworld.sources import load_tasks

        return list(load_tasks(tasks, agent=agent))
    if isinstance(tasks, Task):
        tasks = [tasks]
    if not isinstance(tasks, Iterable):
        raise ConfigError(f"tasks must be a list of tasks or the path of one, got {tasks!r:.80}")
    listed = list(tasks)
    if not listed:
        raise ConfigError("there are no tasks to evaluate the agent on")
    return listed if agent is None else [_asked(task, agent) for task in listed]


def _asked(task: Any, agent: Any) -> Any:
    """The same task for another agent. What is no task is left to the runner to refuse."""
    if isinstance(task, Task):
        task = copy.copy(task)
        task.agent = agent
    return task
