"""Big values, each in a file that is named after its content."""

from __future__ import annotations

import base64
import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aworld.core.plain import as_json
from aworld.errors import DamagedError

BIG = 64 * 1024  # from this size on, a text or bytes go into a file of their own
MARK = "$aworld"  # the key of what stands in JSON for something that JSON does not have


class Blobs:
    """A folder of files. The same content is kept once."""

    def __init__(self, folder: Path):
        self._folder = folder

    def put(self, content: bytes) -> str:
        """Durable when it returns."""
        digest = blake2b(content, digest_size=20).hexdigest()
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(f".{os.getpid()}")
            try:
                with unfinished.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
            for folder in (path.parent, self._folder, self._folder.parent):
                _sync_folder(folder)
        return digest

    def get(self, digest: str) -> bytes:
        if not re.fullmatch("[0-9a-f]{40}", digest):  # it may come from a stranger
            raise DamagedError(f"{digest!r:.80} names no big value")
        path = self._path(digest)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DamagedError(f"a big value is missing: {error}") from None
        if blake2b(content, digest_size=20).hexdigest() != digest:
            raise DamagedError(f"the big value {path.name} is not what was written")
        return content

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest[2:]


def without_big(value: Any, blobs: Blobs) -> Any:
    """Plain data with a mark where a big text or bytes were: those are on disk by then."""
    if isinstance(value, str):
        if len(value) < BIG:
            return value
        return {MARK: "text", "blob": blobs.put(value.encode("utf-8", "surrogatepass"))}
    if isinstance(value, list):
        return [without_big(part, blobs) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get(MARK) == "bytes" and len(value.get("base64", "")) >= BIG:
        return {MARK: "bytes", "blob": blobs.put(base64.b64decode(value["base64"]))}
    return {key: without_big(part, blobs) for key, part in value.items()}


def marked(value: Any) -> Any:
    """For `json.dumps(default=...)`: what JSON has no form for."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {MARK: "bytes", "base64": base64.b64encode(value).decode()}
    return as_json(value)


def unmarked(found: dict[str, Any], blobs: Blobs) -> Any:
    """For `json.loads(object_hook=...)`: what a mark stands for."""
    kind = found.get(MARK)
    if kind not in ("text", "bytes") or len(found) != 2:
        return found
    if "base64" in found:
        return base64.b64decode(found["base64"])
    content = blobs.get(str(found.get("blob")))
    return content if kind == "bytes" else content.decode("utf-8", "surrogatepass")


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
