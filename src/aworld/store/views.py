"""The views that are open on this machine, so that a run can say where it is to be seen."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote


def state_folder() -> Path:
    """What is kept for this user from one command to the next."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "aworld"


def note_view(root: Path, url: str) -> Path:
    """Without the key: notes are shown in notebooks, which are given to others."""
    note = state_folder() / "views" / f"{os.getpid()}.json"
    try:
        note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for other in note.parent.glob("*.json"):
            if not _is_alive(other):  # it was killed
                other.unlink(missing_ok=True)
        note.write_text(json.dumps({"root": str(root), "url": url}), "utf-8")
    except OSError:  # then nobody finds it, that is all
        pass
    return note


def address_of(run: Path) -> str | None:
    """Of a run, in a view that is open now."""
    run = run.resolve()
    try:
        notes = list((state_folder() / "views").glob("*.json"))
    except OSError:
        return None
    for note in notes:
        try:
            if not _is_alive(note):
                continue
            found = json.loads(note.read_text("utf-8"))
            name = run.relative_to(found["root"]).as_posix()
        except (OSError, ValueError, LookupError, TypeError):
            continue
        return f"{found['url']}/run?run={quote(name)}"
    return None


def _is_alive(note: Path) -> bool:
    try:
        os.kill(int(note.stem), 0)
    except PermissionError:  # of somebody else
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
