"""Answers that are known already: one file for each, named by the whole request and its seed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aworld.models.base import Model, ModelReply, ModelRequest


class CallCache:
    """A folder. Workers on machines that share it share their answers."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = os.path.abspath(folder)

    def get(self, model: Model, request: ModelRequest) -> dict[str, Any] | None:
        try:
            return json.loads(self._path(model, request).read_bytes())
        except (OSError, ValueError):  # not there, or broken: it is asked for again
            return None

    def put(self, model: Model, request: ModelRequest, reply: ModelReply) -> None:
        path = self._path(model, request)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            json.dump(asdict(reply), file)
        os.replace(temporary, path)  # whole or not at all

    def _path(self, model: Model, request: ModelRequest) -> Path:
        key = [type(model).__name__, model.endpoint, model.name, asdict(request)]
        text = json.dumps(key, sort_keys=True, default=str).encode()
        digest = hashlib.sha256(text).hexdigest()
        return Path(self.folder, digest[:2], f"{digest}.json")
