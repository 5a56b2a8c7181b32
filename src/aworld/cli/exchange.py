"""`aworld export` and `aworld import`: runs as files of other tools, and the other way round."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aworld.cli import completion, options

Format = Annotated[
    str,
    typer.Option(
        "--to",
        help="messages.jsonl, parquet, trl-sft, trl-dpo, trl-kto, verl, openai or tokens.",
        show_default=False,
        autocompletion=completion.formats,
    ),
]


def export(
    run: options.RunFolder,
    to: Format,
    out: Annotated[
        Path | None,
        typer.Option(help="The file; else it is in the run's folder.", show_default=False),
    ] = None,
    where: options.Where = None,
    reward: options.RewardName = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Of the format: pairs=all, threshold=0.5, ...", show_default=False),
    ] = None,
    json: options.AsJson = False,
) -> int:
    """Write a run, or a part of it, as a file that another tool loads."""
    from aworld.cli.finding import found_run
    from aworld.cli.output import console, print_json
    from aworld.exports import export as write

    more = _options(option or [])
    with found_run(run, reward=reward) as opened:
        made = write(opened, to, out, where=where, overwrite=overwrite, **more)
    if json:
        print_json({"path": made.path, "rows": made.rows, "left_out": made.left_out})
    else:
        console().print(f"{made.rows} rows: {made.path}")
        for why, count in made.left_out.items():
            console().print(f"left out: {count} {why}")
    return 0


def import_file(
    file: Annotated[Path, typer.Argument(help="JSONL of messages.", show_default=False)],
    out: Annotated[
        str, typer.Option("--out", help="A new folder for the run.", show_default=False)
    ],
    reward: Annotated[
        str | None,
        typer.Option(
            help="What gave the rewards that are in the file; else 'imported'.", show_default=False
        ),
    ] = None,
    agent: Annotated[str, typer.Option(help="Whose words they are.")] = "imported",
    json: options.AsJson = False,
) -> int:
    """Make a recorded run of a file of messages."""
    from aworld.cli.output import console, print_json
    from aworld.cli.places import check_free, check_named
    from aworld.exports import import_messages

    check_named(out)
    check_free(Path(out))
    made = import_messages(file, out, reward=reward, agent=agent)
    if json:
        print_json(made)
    else:
        console().print(f"{made.rollouts} rollouts of {made.tasks} tasks: {made.folder}")
    return 0


def _options(texts: list[str]) -> dict[str, Any]:
    from aworld.cli.settings import value_of
    from aworld.errors import ConfigError

    found: dict[str, Any] = {}
    for text in texts:
        key, mark, value = text.partition("=")
        if not mark or not key.isidentifier():
            raise ConfigError(f"--option {text!r}: write it as --option threshold=0.5")
        found[key] = value_of(value)
    return found
