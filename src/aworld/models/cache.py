"""Answers that are known already: one file for each, named by the whole request and its seed."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

log = logging.getLogger("aworld")


class CallCache:
    """A folder. Workers on machines that share it share their answers."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = os.path.abspath(folder)

    def get(self, key: Any) -> dict[str, Any] | None:
        try:
            return json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):  # not there, or broken: it is asked for again
            return None

    def put(self, key: Any, reply: Any) -> None:
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "w") as file:
                    json.dump(asdict(reply), file)
                os.replace(temporary, path)  # whole or not at all
            except BaseException:
                os.unlink(temporary)
                raise
        except (OSError, TypeError, ValueError) as error:  # the answer itself must not be lost
            log.warning("a model's answer could not be cached in %s: %s", self.folder, error)

    def _path(self, key: Any) -> Path:
        text = json.dumps(key, sort_keys=True, default=repr).encode()
        digest = hashlib.sha256(text).hexdigest()
        return Path(self.folder, digest[:2], f"{digest}.json")
