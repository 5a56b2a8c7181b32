"""`aworld train`: a TOML file in, a better model out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aworld.cli import options

if TYPE_CHECKING:
    from aworld.cli.train_job import TrainJob
    from aworld.policies.base import Policy

ConfigFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="TOML with model, tasks, reward, and if wanted agent, held_out, demonstrations and "
        "the settings of the training (steps, samples, learning_rate, ...).",
        show_default=False,
    ),
]
RunDir = Annotated[
    str | None,
    typer.Option("--run-dir", help="The folder of the training.", show_default=False),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", min=1, help="How many batches are trained on.", show_default=False),
]


def train(
    config: ConfigFile,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the last checkpoint in the folder.")
    ] = False,
    run_dir: RunDir = None,
    steps: Steps = None,
    seed: options.Seed = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything, say what would run; start nothing.")
    ] = False,
    view: options.WithView = False,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> int:
    """Make a model better at tasks, by a reward. It can be interrupted and resumed."""
    from aworld.cli.output import say
    from aworld.cli.train_file import read_train_file
    from aworld.cli.train_job import check_installed, prepared
    from aworld.cli.train_model import use_threads
    from aworld.cli.watching import watched
    from aworld.core.shown import as_word

    check_installed()
    changed = {"run_dir": run_dir, "steps": steps, "seed": seed}
    file = read_train_file(config, **changed)
    job = prepared(file, resume=resume)
    from aworld.cli import train_driving as driving

    given = [
        f"--{key.replace('_', '-')} {as_word(value)}"
        for key, value in changed.items()
        if value is not None
    ]
    if resume and job.before >= file.config.steps and not dry_run:
        say(f"all {job.before} steps are trained already; --steps asks for more")
        return driving.told(driving.TrainEnding(file, 0.0, options=given), as_json=json)
    for remark in () if driving.helps() else job.remarks:
        say(remark)
    use_threads(file.get("threads"))
    policy = job.open_policy()
    file.config.check_room(policy.context_tokens)
    demonstrations = job.episodes(policy)
    if dry_run:
        _tell(job, policy, as_json=json)
        return driving.ALL_DONE
    how: dict[str, Any] = {"resume": resume, "quiet": quiet, "options": given}
    with watched(file.run_dir, wanted=view and not driving.helps()):
        ending = driving.drive(job, policy, demonstrations, **how)
        return driving.told(ending, as_json=json)


def _tell(job: TrainJob, policy: Policy, *, as_json: bool) -> None:
    from aworld.cli.dry import check_place, print_plan
    from aworld.cli.output import print_json

    check_place(job.file.run_dir)
    (print_json if as_json else print_plan)(_plan(job, policy))


def _plan(job: TrainJob, policy: Policy) -> dict[str, Any]:
    from aworld.engines.base import cpu_count

    file, config = job.file, job.file.config
    engine, left = config.engine, max(config.steps - job.before, 0)
    warm_up = config.warm_up.steps
    return {
        "model": file.get("model"),
        "parameters": sum(weight.numel() for weight in policy.parameters()),
        "device": str(policy.device),
        "agent": file.get("agent"),
        "tasks": len(job.tasks),
        "held_out": None if job.held_out is None else len(job.held_out),
        "reward": ", ".join(file.rewards),
        "warm_up": f"{warm_up} updates" if warm_up else None,
        "demonstrations": len(job.demonstrations) or None,
        "worked_examples": len(job.worked_examples) or None,
        "algorithm": config.algorithm,
        "steps": config.steps,
        "steps_before": job.before or None,
        "rollouts": left * config.tasks_per_step * config.samples,
        "engine": str(engine.cls or engine.engine_name),
        "workers": cpu_count() if engine.worker_num is None else engine.worker_num,
        "folder": str(file.run_dir),
    }
