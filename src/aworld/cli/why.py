"""`aworld why`: whether an episode of a training trained, how much, and if not, why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aworld.cli import options

if TYPE_CHECKING:
    from aworld.cli.judged import Sum
    from aworld.store.reader import Run


def why(
    run: options.RunFolder,
    task: Annotated[
        str | None,
        typer.Argument(
            help="The id of a task: q7 for each time that it was chosen, q7@3 for one of them. "
            "Left out: how many trained, and why others did not.",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=0, help="Of each group this sample only.", show_default=False)
    ] = None,
    json: options.AsJson = False,
) -> int:
    """Say for the episodes of a training whether they trained, and if not, why not."""
    from aworld.cli import judged
    from aworld.cli.finding import found_run, run_folder
    from aworld.cli.output import print_json

    judged.check_training(run_folder(run))
    with found_run(run) as opened:
        if task is not None:
            return _one(opened, task, sample, as_json=json)
        found = judged.summed(opened)
        if json:
            print_json({"folder": str(opened.folder), **found.to_dict()})
        else:
            _print_sum(opened, found)
    return 0


def _one(run: Run, task: str, sample: int | None, *, as_json: bool) -> int:
    from aworld.cli import judged
    from aworld.cli.finding import check_sample
    from aworld.cli.output import console, print_json
    from aworld.core.shown import harmless

    if sample is not None:
        check_sample(run, sample)
    ids, sample = _asked(run, task, sample)
    found = judged.episodes_of(run, ids, sample)
    if as_json:
        episodes = [one.to_dict() for one in found]
        print_json({"folder": str(run.folder), "task": task, "episodes": episodes})
        return 0
    screen = console()
    trained = sum(one.verdict is not None and one.verdict.trained for one in found)
    times = "once" if len(ids) == 1 else f"{len(ids)} times"
    screen.print(harmless(f"{task}: chosen {times}, {trained} of {_counted(len(found))} trained"))
    for one in found:
        screen.print(f"  {harmless(str(one))}", soft_wrap=True)
    return 0


def _asked(run: Run, task: str, sample: int | None) -> tuple[dict[str, int], int | None]:
    """Also with its sample as in `q7@3#2`, which is how `aworld show` writes it."""
    from aworld.cli import judged
    from aworld.errors import ConfigError

    try:
        return judged.chosen(run, task), sample
    except ConfigError:
        bare, mark, number = task.rpartition("#")
        if not (mark and number.isdecimal() and int(number) < run.samples):
            raise
        return judged.chosen(run, bare), int(number)


def _print_sum(run: Run, found: Sum) -> None:
    from aworld.cli.output import console
    from aworld.core.shown import as_word, harmless

    screen = console()
    others = found.reasons.total()
    screen.print(
        f"{run.folder}: {_counted(found.trained + others)} in {found.steps} steps, "
        f"{found.trained} trained"
    )
    for reason, count in found.reasons.most_common():
        screen.print(f"  {count} did not: {harmless(reason)}", soft_wrap=True)
    if found.without:
        screen.print(
            f"  {found.without} more are recorded and have no verdict: they wait for their step, "
            "or the training ended before it"
        )
    screen.print(f"of one task: aworld why {as_word(run.folder)} TASK")


def _counted(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"
