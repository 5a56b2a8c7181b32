"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aworld.cli import completion
from aworld.cli.output import keep_for_json


def option(name: str, help: str, **more: Any) -> Any:
    """One whose default needs no word."""
    return typer.Option(name, help=help, show_default=False, **more)


RunFolder = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The folder of a run, or its name in runs/.",
        show_default=False,
        autocompletion=completion.run_folders,
    ),
]
AgentSpec = Annotated[
    str | None,
    option(
        "--agent",
        "Who answers: file.py:name or module:name. Left out: a ready one, which asks the model of "
        "LLM_MODEL_NAME and LLM_BASE_URL, or the embedded one.",
    ),
]
Engine = Annotated[
    str | None,
    option("--engine", "Where tasks run: local, ray, spark.", autocompletion=completion.engines),
]
Workers = Annotated[int | None, option("--workers", "How many workers; 0: in this process.")]
PerWorker = Annotated[int | None, option("--per-worker", "Tasks in flight in each worker.")]
Samples = Annotated[int | None, option("--samples", "How often each task is run.")]
RewardSpecs = Annotated[
    list[str] | None,
    option(
        "--reward",
        "Scores each answer: exact_match, 'numeric_match:tolerance=0.1', module:function, "
        "file.py:function. Several are added up, with weights if given: 0.2*contains.",
        autocompletion=completion.rewards,
    ),
]
RewardName = Annotated[
    str | None, option("--reward", "Which scores to go by, where there are several.")
]
Out = Annotated[str | None, option("--out", "A new folder for the run.")]
Timeout = Annotated[float | None, option("--timeout", "Seconds that a task may run.")]
Seed = Annotated[int | None, option("--seed", "Makes sampling repeatable.")]
Limit = Annotated[int | None, option("--limit", "No more than these many tasks.")]
Only = Annotated[
    list[str] | None, option("--only", "The task with this id, and no other; several add up.")
]
WithView = Annotated[
    bool, typer.Option("--view", help="Show it in the browser while it goes: see `aworld view`.")
]
FieldNames = Annotated[
    list[str] | None,
    option("--field", "Which column is which: input=question, ground_truth=answer, id=qid."),
]
Split = Annotated[str | None, option("--split", "Which part of a dataset's folder.")]
Config = Annotated[
    Path | None,
    option("--config", "TOML with the tables run and command, or an earlier run's config.toml."),
]
Changes = Annotated[
    list[str] | None, option("--set", "Any setting: run.max_attempts=2, command.limit=10.")
]
MaxTokens = Annotated[int | None, option("--max-tokens", "Stop when so many are used.")]
MaxCost = Annotated[float | None, option("--max-cost", "Stop when it has cost so much.")]
Address = Annotated[str | None, option("--address", "Of a Ray or Spark cluster.")]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object, for programs; all else goes to standard error.",
        callback=keep_for_json,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Where = Annotated[
    str | None, option("--where", "A condition: \"reward > 0.5 and status = 'success'\".")
]
PassesAt = Annotated[float, typer.Option("--passes-at", help="The least reward that has passed.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]
