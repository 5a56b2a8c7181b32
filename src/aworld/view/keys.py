"""The key of the view: made up once for each user, so that a page survives a restart."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from aworld.errors import ConfigError
from aworld.store.views import state_folder

VARIABLE = "AWORLD_VIEW_KEY"
SHORTEST = 16


def own_key() -> str:
    """That of the environment, or of a file that nobody else can read. It is no option of the
    command: others could see it in the list of processes."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return _checked(given.strip(), VARIABLE)
    place = state_folder() / "view-key"
    try:
        return _read(place)
    except FileNotFoundError:
        return _made(place)
    except OSError as error:
        raise ConfigError(f"{place} cannot be read: {error.strerror}; remove it") from None


def session_of(key: str) -> str:
    """What a browser keeps in place of the key."""
    return hmac.new(key.encode(), b"aworld view session", hashlib.sha256).hexdigest()


def _read(place: Path) -> str:
    handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(handle, encoding="ascii", errors="replace") as file:
        found = os.fstat(handle)
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise ConfigError(f"{place} can be read by others: remove it, and a new one is made")
        return _checked(file.read().strip(), str(place))


def _made(place: Path) -> str:
    key = secrets.token_urlsafe(24)
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = place.with_name(f"{place.name}.{os.getpid()}")
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="ascii") as file:
            file.write(f"{key}\n")
        try:
            os.link(unfinished, place)  # as a whole, unless another was quicker
        except FileExistsError:
            return _read(place)
        finally:
            unfinished.unlink()
    except OSError:  # there is no room for it: it lasts as long as this server
        pass
    return key


def _checked(key: str, where: str) -> str:
    if len(key) < SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError(
            f"{where} must hold {SHORTEST} or more printable ASCII characters without spaces"
        )
    return key
