"""`aworld view RUN --export report.html`: one file that opens without a server."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError, DamagedError
from aworld.evaluation.judging import labels_in
from aworld.store.durable import whole_file
from aworld.store.overview import is_run
from aworld.store.reader import Run
from aworld.view import curves, figures, rollouts, tasks
from aworld.view.bundling import STATIC, bundled
from aworld.view.encoding import to_json
from aworld.view.library import Library

MOST_BYTES = 50_000_000  # of conversations in a file
STYLES = ("uplot.css", "style.css", "pages.css")
AT_ONCE = 500
START = (  # by which a file is known as one of ours
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="generator" content="aworld view --export">\n'
)


def export_view(folder: Path, file: Path, *, most_bytes: int = MOST_BYTES) -> tuple[int, int]:
    """Writes it as a whole or not at all; gives how many conversations it holds, of how many."""
    _check_place(file)
    folder = folder.resolve()
    library = Library(folder.parent, depth=1)
    data: dict[str, Any] = {"run": _without_places(figures.whole(library, folder.name))}
    with library.open(folder.name) as run:
        data["tasks"] = _rows(run)
        data["labels"] = tasks.labels_of(run)
        data["curves"] = curves.curves_of(folder)
        data["rollouts"] = _rollouts(run, most_bytes)
    content = page_of(data)
    try:
        with whole_file(file) as unfinished:
            unfinished.write(content.encode())
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None
    return len(data["rollouts"]), len(data["tasks"])


def _check_place(file: Path) -> None:
    """Nothing is written over but an earlier export, and nothing into a run."""
    if file.suffix.lower() != ".html":
        raise ConfigError(
            f"{str(file)!r} does not end in .html: name the file to write, as in "
            "--export report.html"
        )
    folder = file.parent.resolve()
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {str(file.parent)!r}: make it first")
    for place in (folder, *folder.parents):
        if is_run(place):
            raise ConfigError(f"{file} lies inside the run {place}: write it somewhere else")
    if os.path.lexists(file) and not _is_export(file):
        raise ConfigError(
            f"{file} is there already, and is no export of ours: remove it, or choose another name"
        )


def _is_export(file: Path) -> bool:
    start = START.encode()
    try:
        if not file.is_file():  # a folder, a pipe, a link to nothing
            return False
        with file.open("rb") as content:
            return content.read(len(start)) == start
    except OSError:
        return False


def page_of(data: dict[str, Any]) -> str:
    """Its scripts and styles are allowed by their hashes, and nothing else is."""
    script = bundled()
    theme = (STATIC / "theme.js").read_text("utf-8")
    plots = (STATIC / "uplot.js").read_text("utf-8")
    style = "\n".join((STATIC / name).read_text("utf-8") for name in STYLES)
    scripts = " ".join(_hash_of(one) for one in (theme, plots, script))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {_hash_of(style)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    body = (STATIC / "index.html").read_text("utf-8").partition("<body>")[2]
    # inside a script element only "</script" and "<!--" mean anything
    content = to_json(data).decode().replace("<", "\\u003c")
    return (
        f'{START}<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(str(data['run']['name']))} · aworld</title>\n"
        f"<style>{style}</style>\n<script>{theme}</script>\n</head>\n<body>\n"
        f'<script type="application/json" id="aworld-data">{content}</script>\n'
        f"{body.replace('</body>', '').replace('</html>', '').strip()}\n"
        f"<script>{plots}</script>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _rows(run: Run) -> list[dict[str, Any]]:
    labels: dict[int, list[str]] = {}
    for position, task in run.tasks():
        of_task, level = labels_in(task.metadata)
        labels[position] = [*of_task, *([] if level is None else [level])]
    rows: list[dict[str, Any]] = []
    while True:
        asked = {"offset": str(len(rows)), "limit": str(AT_ONCE)}
        page = tasks.page_of(run, asked)["rows"]
        rows += ({**row, "tags": labels.get(row["slot"] // run.samples, [])} for row in page)
        if len(page) < AT_ONCE:
            return rows


def _rollouts(run: Run, most_bytes: int) -> dict[int, Any]:
    """Those that did not end well first: they are what people look for."""
    query = "select slot from results order by status = 'success', slot"
    found: dict[int, Any] = {}
    size = 0
    for (slot,) in run.connection.execute(query).fetchall():
        try:
            whole = rollouts.whole(run, slot)
        except (ConfigError, DamagedError):
            continue
        whole["command"] = whole["command"].replace(str(run.folder), run.name)
        size += len(json.dumps(whole))
        if size > most_bytes:
            break
        found[slot] = whole
    return found


def _without_places(run: dict[str, Any]) -> dict[str, Any]:
    """A file goes to others: where the run lies on this machine is none of their business."""
    return {**run, "folder": run["name"]}


def _hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
