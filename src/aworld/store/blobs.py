"""Big values, each in a file that is named after its content."""

from __future__ import annotations

import base64
import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aworld.core.plain import BYTES, DEEPEST, as_json
from aworld.errors import DamagedError
from aworld.store.durable import read_plain_file, sync, whole_file

BIG = 64 * 1024  # from this size on, a text or bytes go into a file of their own
MARK = "$aworld"  # the key of what stands in JSON for something that JSON does not have


class Blobs:
    """A folder of files. The same content is kept once."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._sound: set[str] = set()  # those that this process has written or looked at

    def put(self, content: bytes) -> str:
        """Durable when it returns."""
        digest = blake2b(content, digest_size=20).hexdigest()
        path = self._path(digest)
        if digest in self._sound and path.exists():
            return digest
        if not self._is_sound(digest):
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as file:
                file.write(content)
            for folder in (path.parent, self._folder, self._folder.parent):
                sync(folder)
        self._sound.add(digest)
        return digest

    def _is_sound(self, digest: str) -> bool:
        try:
            self.get(digest)
        except DamagedError:
            return False
        return True

    def get(self, digest: str) -> bytes:
        if not re.fullmatch("[0-9a-f]{40}", digest):  # it may come from a stranger
            raise DamagedError(f"{digest!r:.80} names no big value")
        path = self._path(digest)
        try:
            content = read_plain_file(path)
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


def with_marks_apart(value: Any, room: int = DEEPEST) -> Any:
    """A dict of the user's that looks like one of our marks is not to be taken for one."""
    if room < 0:  # who reads it may have less room than whoever writes it
        raise RecursionError("it is nested too deep")
    if isinstance(value, dict):
        return {_apart(key): with_marks_apart(part, room - 1) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_marks_apart(part, room - 1) for part in value]
    if value is None or isinstance(value, (str, int, float, *BYTES)):
        return value
    return with_marks_apart(as_json(value), room - 1)


def _apart(key: Any) -> Any:
    return f"${key}" if isinstance(key, str) and key.lstrip("$") == MARK[1:] else key


def marked(value: Any) -> Any:
    """For `json.dumps(default=...)`: of what is left by then, bytes alone have no form in JSON."""
    try:
        return {MARK: "bytes", "base64": base64.b64encode(bytes(value)).decode()}
    except ValueError:  # a view of what is not there any more
        return f"<{type(value).__name__}>"


def unmarked(found: dict[str, Any], blobs: Blobs) -> Any:
    """For `json.loads(object_hook=...)`: what a mark stands for."""
    kind = found.get(MARK)
    if kind not in ("text", "bytes") or len(found) != 2:
        return {key[1:] if _apart(key) != key else key: part for key, part in found.items()}
    if "base64" in found:
        return base64.b64decode(found["base64"])
    content = blobs.get(str(found.get("blob")))
    return content if kind == "bytes" else content.decode("utf-8", "surrogatepass")
