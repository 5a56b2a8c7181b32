"""`aworld doctor`: what this machine can do, or which records of a run are damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aworld.cli import completion, options

if TYPE_CHECKING:
    from aworld.cli.machine import Check

STYLES = {"ok": "green", "missing": "yellow", "broken": "red"}


def doctor(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run to be examined, record by record.",
            show_default=False,
            autocompletion=completion.run_folders,
        ),
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make it sound: what is damaged is owed again.")
    ] = False,
    json: options.AsJson = False,
) -> int:
    """Check this machine, or a run."""
    from aworld.errors import ConfigError

    if run is not None:
        return _examine(run, mend=repair, as_json=json)
    if repair:
        raise ConfigError("which run is to be repaired? aworld doctor RUN --repair")
    from aworld.cli.extras import extras
    from aworld.cli.machine import checks
    from aworld.cli.output import print_json

    found = [*checks(), *extras()]
    if json:
        print_json({"checks": [check._asdict() for check in found]})
    else:
        _print(found)
    return int(any(check.state == "broken" for check in found))


def _print(found: list[Check]) -> None:
    from rich.text import Text

    from aworld.cli.output import console

    screen = console()
    width = max(len(check.name) for check in found)
    for check in found:
        line = Text(f"{check.name:{width}}  ")
        line.append(f"{check.state:7}", style=STYLES[check.state])
        line.append(f"  {check.found}" + (f": {check.advice}" if check.advice else ""))
        screen.print(line)


def _examine(name: str, *, mend: bool, as_json: bool) -> int:
    import sqlite3

    from aworld.cli.finding import run_folder
    from aworld.cli.output import console, print_json
    from aworld.cli.places import to_go_on
    from aworld.core.shown import as_word, harmless
    from aworld.errors import StoreError
    from aworld.store.repair import examine
    from aworld.store.repair import repair as make_sound

    folder = run_folder(name)
    try:
        sound, damage = make_sound(folder) if mend else examine(folder)
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{folder} cannot be read: {error}") from error
    if as_json:
        records = [record._asdict() for record in damage]
        print_json({"folder": str(folder), "sound": sound, "damage": records, "repaired": mend})
        return int(bool(damage) and not mend)
    screen = console()
    for record in damage:
        task = record.task if record.sample == 0 else f"{record.task}#{record.sample}"
        screen.print(harmless(f"damaged: {task or 'unknown task'}: {record.reason}"))
    screen.print(f"{sound} results are sound, {len(damage)} records are damaged: {folder}")
    if damage and mend:
        screen.print(f"repaired: the damaged ones are owed; go on with: {to_go_on(folder)}")
    elif damage:
        screen.print(f"make it sound with: aworld doctor {as_word(folder)} --repair")
    return int(bool(damage) and not mend)
