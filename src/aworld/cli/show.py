"""`aworld show`: a page of a run's results, or one rollout from its first word to its last."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from aworld.cli import options

if TYPE_CHECKING:
    from aworld.store.reader import Run
    from aworld.store.records import Rollout


def show(
    run: options.RunFolder,
    task: Annotated[
        str | None, typer.Argument(help="The id of a task, or how it begins.", show_default=False)
    ] = None,
    sample: Annotated[int, typer.Option(help="Which sample of the task.")] = 0,
    attempt: Annotated[
        int | None,
        typer.Option(help="An earlier result, given up for a later one: 1 is the first."),
    ] = None,
    where: options.Where = None,
    page: Annotated[int, typer.Option(min=1, help="Which page of the results.")] = 1,
    reward: options.RewardName = None,
    json: options.AsJson = False,
) -> int:
    """Show the results of a run, or what happened in one task."""
    from aworld.cli import page as pages
    from aworld.cli.finding import found_run
    from aworld.cli.outcome import outcome
    from aworld.cli.output import console, print_json
    from aworld.cli.turns import turns
    from aworld.core.shown import as_word
    from aworld.store.telling import as_data

    with found_run(run, reward=reward) as opened:
        if task is None:
            return pages.show(opened, where=where, number=page, as_json=json)
        name, sample = _named_task(opened, task, sample)
        rollout, attempts = _chosen(opened, name, sample, attempt)
        if json:
            print_json({**as_data(rollout), "attempts": attempts})
            return 0
        screen = console()
        for part in (*turns(rollout), *outcome(rollout, scored_by=opened.scoring.name)):
            screen.print(part)
        if attempts > 1 and attempt is None:
            command = f"aworld show {as_word(run)} {shlex.quote(task)} --attempt 1"
            screen.print(f"\n{attempts - 1} earlier, given up for this one: {command}")
    return 0


def _named_task(run: Run, given: str, sample: int) -> tuple[str, int]:
    """By its id, by how its id begins, or with its sample as in `id#2`."""
    from aworld.cli.finding import check_sample, unknown_task
    from aworld.errors import ConfigError

    ids = [task_id for _, task_id, *_ in run.task_marks()]
    bare, mark, number = given.rpartition("#")
    with_sample = mark and number.isdecimal()
    for name, of in ((given, sample), *(((bare, int(number)),) if with_sample else ())):
        fitting = [name] if name in ids else [known for known in ids if known.startswith(name)]
        if len(fitting) == 1:
            check_sample(run, of)
            return fitting[0], of
        if fitting:
            raise ConfigError(
                f"{len(fitting)} tasks begin with {name!r}: {', '.join(map(repr, fitting[:5]))}..."
            )
    raise unknown_task(run, given, ids)


def _chosen(run: Run, id: str, sample: int, attempt: int | None) -> tuple[Rollout, int]:
    """The rollout, and how many there are of it."""
    from aworld.errors import ConfigError

    earlier = run.earlier(id, sample)
    if attempt is not None and 1 <= attempt <= len(earlier):
        return earlier[attempt - 1], len(earlier) + 1
    if attempt is not None and attempt != len(earlier) + 1:
        raise ConfigError(f"there is no attempt {attempt}: there are {len(earlier) + 1}")
    try:
        return run.rollout(id, sample), len(earlier) + 1
    except LookupError:
        raise ConfigError(
            f"task {id!r} has no result yet: it is owed, or runs now (`aworld ls`)"
        ) from None
