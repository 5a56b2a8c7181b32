"""`aworld view`: runs in the browser, live, or as one file."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld.cli import completion

if TYPE_CHECKING:
    from aworld.view.server import ViewServer


def view(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="[FOLDER|RUN]",
            help="A folder with runs in it, or a run.",
            autocompletion=completion.run_folders,
        ),
    ] = "runs",
    export: Annotated[
        Path | None,
        typer.Option(help="Write a run as one HTML file that opens without a server."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Where to listen; left out: 8717, or any that is free.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Who can reach it: only this machine, unless it is 0.0.0.0.")
    ] = "127.0.0.1",
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name that it is reached by, with the port: localhost:9000."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> int:
    """Look at runs in the browser, while they go and afterwards."""
    from aworld.cli.finding import known_folder
    from aworld.cli.output import console, say
    from aworld.cli.stopping import sigterm_as_ctrl_c
    from aworld.errors import ConfigError
    from aworld.view.opening import check_installed

    place = known_folder(folder) or Path(folder)
    if place.is_file():
        raise ConfigError(f"{folder!r} is a file: name a run, or a folder with runs in it")
    if not place.is_dir():
        hint = "; `aworld run` makes one" if folder == "runs" else ""
        raise ConfigError(f"there is no folder {folder!r}{hint}")
    check_installed()
    if export is not None:
        return _export(place, export)
    from aworld.view.server import PORT, ViewServer

    try:
        with (
            sigterm_as_ctrl_c(),
            ViewServer(place, host=host, port=port, allowed_hosts=allowed_host or ()) as server,
        ):
            console().print(server.url, soft_wrap=True)
            if server.is_elsewhere:
                say(f"port {PORT} is taken, by another view perhaps: this one has {server.port}")
            say("the link holds the key: whoever has it can see and steer the runs; Ctrl-C ends it")
            _open_in_browser(server, wanted=browser)
            threading.Event().wait()
    except KeyboardInterrupt:
        pass
    return 0


def _export(folder: Path, file: Path) -> int:
    from aworld.cli.output import console, say
    from aworld.core.shown import as_word, plural
    from aworld.errors import ConfigError
    from aworld.store.overview import is_run, runs_in
    from aworld.view.exporting import export_view

    if not is_run(folder):
        inside = runs_in(folder)
        if not inside:
            raise ConfigError(f"{folder} holds no run")
        example = f"aworld view {as_word(inside[0])} --export {as_word(file)}"
        runs = plural(len(inside), "run")
        raise ConfigError(f"{folder} is a folder with {runs}: name the one to export: `{example}`")
    held, of = export_view(folder, file)
    console().print(f"{plural(of, 'task')}: {file} ({file.stat().st_size / 1e6:.1f} MB)")
    if held < of:
        say(f"it holds {held} of {of} conversations, to stay small: failures first")
    return 0


def _open_in_browser(server: ViewServer, *, wanted: bool) -> None:
    """Where somebody sits before it: not over ssh, not in a script."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    has_screen = sys.platform == "darwin" or any(name in os.environ for name in screens)
    if wanted and sys.stdout.isatty() and has_screen and "SSH_CONNECTION" not in os.environ:
        import webbrowser

        webbrowser.open(server.url)
