"""`aworld ls`: the runs of a folder, the newest first."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from aworld.cli import options

Entry = dict[str, Any]


def ls(
    folder: Annotated[Path, typer.Argument(help="Where the runs are.")] = Path("runs"),
    json: options.AsJson = False,
) -> int:
    """List runs: how far they are, how good, what they cost."""
    from aworld.cli.output import print_json, say
    from aworld.errors import ConfigError
    from aworld.store.overview import runs_in, summed_up

    if not folder.exists() and folder != Path("runs"):
        raise ConfigError(f"there is no folder {str(folder)!r}")
    entries = sorted(map(summed_up, runs_in(folder)), key=lambda entry: -entry["created"])
    if json:
        print_json({"folder": str(folder), "runs": entries})
    elif entries:
        _print_table(entries)
    else:
        say(f"no runs in {folder}; `aworld run` makes one, `aworld demo` shows how")
    return 0


def _print_table(entries: list[Entry]) -> None:
    from rich.table import Table
    from rich.text import Text

    from aworld.cli.output import console
    from aworld.core.shown import harmless

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("run", "status"):
        table.add_column(title)
    for title in ("done", "success", "reward", "tokens", "cost"):
        table.add_column(title, justify="right")
    table.add_column("when")
    for entry in entries:
        name = Text(harmless(entry["name"]))
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["created"]))
        if "error" in entry:
            table.add_row(name, Text("damaged", style="red"), "", "", "", "", "", when)
        else:
            table.add_row(name, *_cells(entry), when)
    screen = console()
    screen.print(table)
    for entry in entries:
        if "error" in entry:
            screen.print(harmless(f"{entry['folder']}: {entry['error']}"))


def _cells(entry: Entry) -> tuple[str, ...]:
    done, total = entry["done"], entry["total"]
    share = f"{100 * entry['counts'].get('success', 0) / done:.0f} %" if done else "-"
    reward = "-" if entry["reward"] is None else f"{entry['reward']:.3f}"
    return (
        entry["status"],
        f"{done}/{'?' if total is None else total}",
        share,
        reward,
        str(entry["tokens"]),
        f"{entry['cost']:.4g}",
    )
