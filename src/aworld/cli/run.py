"""`aworld run`: tasks in, a recorded run out."""

from __future__ import annotations

from typing import Annotated

import typer

from aworld.cli import options

TasksArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TASKS",
        help="A .jsonl, .json, .csv or .parquet file, a dataset's folder, '-' for standard input, "
        "module:function, 'rg:chain_sum?size=20'.",
        show_default=False,
    ),
]


def run(
    tasks: TasksArgument = None,
    agent: options.AgentSpec = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    per_worker: options.PerWorker = None,
    samples: options.Samples = None,
    reward: options.RewardSpecs = None,
    out: options.Out = None,
    timeout: options.Timeout = None,
    seed: options.Seed = None,
    limit: options.Limit = None,
    only: options.Only = None,
    field: options.FieldNames = None,
    split: options.Split = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    address: options.Address = None,
    config: options.Config = None,
    change: options.Changes = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would run, and check it; start nothing.")
    ] = False,
    view: options.WithView = False,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> int:
    """Run an agent on tasks. Every result is on disk as soon as it is there."""
    from aworld.cli import driving, dry
    from aworld.cli.job import prepared
    from aworld.cli.output import say
    from aworld.cli.settings import given, resolved
    from aworld.cli.watching import watched

    asked = given(
        tasks=tasks,
        agent=agent,
        engine=engine,
        workers=workers,
        per_worker=per_worker,
        samples=samples,
        reward=reward,
        out=out,
        timeout=timeout,
        seed=seed,
        limit=limit,
        only=only,
        field=field,
        split=split,
        max_tokens=max_tokens,
        max_cost=max_cost,
        address=address,
    )
    job = prepared(resolved(config, asked, change))
    for remark in job.remarks:
        say(remark)
    if dry_run:
        dry.tell(job, as_json=json)
        return driving.ALL_DONE
    with (
        watched(job.folder, wanted=view),
        driving.driven(job.stream(), job.folder, quiet=quiet) as ending,
    ):
        return driving.told(ending, as_json=json)
