"""`aworld eval`, `compare` and `rescore`: how good runs are."""

from __future__ import annotations

from typing import Annotated

import typer

from aworld.cli import completion, options

WhatToEvaluate = Annotated[
    str,
    typer.Argument(
        metavar="TASKS|RUN",
        help="Tasks, to be run first (see `aworld run`), or the folder of a run.",
        show_default=False,
        autocompletion=completion.run_folders,
    ),
]
Ks = Annotated[
    list[int] | None, typer.Option("--k", help="Of pass@k; else 1, 2, 4, ...", show_default=False)
]
ScoresName = Annotated[
    str | None, typer.Option("--name", help="What the scores are called.", show_default=False)
]


def evaluate(
    what: WhatToEvaluate,
    agent: options.AgentSpec = None,
    reward: options.RewardSpecs = None,
    samples: options.Samples = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    per_worker: options.PerWorker = None,
    out: options.Out = None,
    timeout: options.Timeout = None,
    seed: options.Seed = None,
    limit: options.Limit = None,
    field: options.FieldNames = None,
    split: options.Split = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    address: options.Address = None,
    config: options.Config = None,
    change: options.Changes = None,
    passes_at: options.PassesAt = 1.0,
    confidence: options.Confidence = 0.95,
    k: Ks = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> int:
    """Say how good an agent is: pass@k, pass^k and the mean reward, with their intervals."""
    from aworld.cli import assessing
    from aworld.cli.finding import known_folder
    from aworld.cli.settings import given, resolved

    asked = given(
        agent=agent,
        engine=engine,
        workers=workers,
        per_worker=per_worker,
        samples=samples,
        out=out,
        timeout=timeout,
        seed=seed,
        limit=limit,
        field=field,
        split=split,
        max_tokens=max_tokens,
        max_cost=max_cost,
        address=address,
    )
    how = {"passes_at": passes_at, "ks": k or None, "confidence": confidence}
    if known_folder(what) is not None:
        assessing.refuse(what, [*asked["run"], *asked["command"], *(change or ())])
        return assessing.recorded(what, reward or [], how, as_json=json)
    asked["command"] |= {"tasks": what, **({"reward": reward} if reward else {})}
    return assessing.run_first(resolved(config, asked, change), how, quiet=quiet, as_json=json)


def compare(
    first: options.RunFolder,
    second: options.RunFolder,
    reward: options.RewardName = None,
    confidence: options.Confidence = 0.95,
    json: options.AsJson = False,
) -> int:
    """Compare two runs on the same tasks, task by task, with the interval of the difference."""
    from aworld.cli.finding import found_run
    from aworld.cli.output import console, print_json
    from aworld.evaluation import compare_runs

    with found_run(first, reward=reward) as one, found_run(second, reward=reward) as other:
        comparison = compare_runs(one, other, confidence=confidence)
    if json:
        print_json(comparison.to_dict())
    else:
        console().print(comparison)
    return 0


def rescore(
    run: options.RunFolder,
    reward: options.RewardSpecs = None,
    name: ScoresName = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,
    json: options.AsJson = False,
) -> int:
    """Score what is recorded once more, without a single model call. Earlier scores are kept."""
    from aworld.cli import assessing

    return assessing.rescored(
        run, reward or [], name=name, timeout=timeout, quiet=quiet, as_json=json
    )
