"""`open_view`: the view beside a run, in a process of its own, so that it takes nothing from it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from aworld.errors import ConfigError

REMEDY = "the view needs: pip install 'aworld[view]'"
NEEDED = ("starlette", "uvicorn")


def check_installed() -> None:
    for package in NEEDED:
        if find_spec(package) is None:
            raise ConfigError(REMEDY)


def open_view(
    folder: str | os.PathLike[str], *, host: str = "127.0.0.1", port: int | None = None
) -> View:
    """The runs under a folder, or one run, in the browser: `with open_view("runs") as view:
    print(view.url)`. The run need not be there yet. It ends with the block, or with this
    process, whatever ends that."""
    check_installed()
    return View(Path(folder), host=host, port=port)


class View:
    """A server that is up, at `url`; whoever opens that sees the runs."""

    def __init__(self, folder: Path, *, host: str = "127.0.0.1", port: int | None = None):
        options = ["--host", host] + ([] if port is None else ["--port", str(port)])
        # It reads its standard input: when that closes, whoever opened it is gone.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "aworld.view.process", str(folder.absolute()), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the run
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        if not said.startswith("http"):
            self.close()
            raise ConfigError(said or "the view could not be started: see what it printed")
        self.url = said

    @property
    def address(self) -> str:
        """The URL without the key."""
        return self.url.partition("#")[0]

    def close(self) -> None:
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from html import escape

        return f'<a href="{escape(self.url)}" target="_blank">aworld view</a>'
