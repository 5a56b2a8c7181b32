"""The view's server: in a thread of this process, on loopback unless it is told otherwise."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Self
from urllib.parse import urlencode

from aworld.errors import ConfigError
from aworld.store.overview import is_run
from aworld.store.views import note_view
from aworld.view.app import build_app
from aworld.view.guard import Guard
from aworld.view.keys import own_key
from aworld.view.library import DEEPEST, Library
from aworld.web.hosts import own_hosts, url_of, with_port
from aworld.web.listening import Listening, listen

PORT = 8717  # the same every time, so that an open page finds the server again
HTTP_PORT = 80
BESIDE = 3  # how deep is looked for runs beside a single one


class ViewServer:
    """Shows the runs under a folder, or one run, to whoever knows the key.

    host, port     where it listens; where the port is taken, another one is used (port 0: any)
    allowed_hosts  further names, with their port, that it is reached by: through a tunnel, say
    """

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        allowed_hosts: Iterable[str] = (),
    ):
        self.folder = folder
        self.host = host
        self._wanted = port
        self._more_hosts = set(allowed_hosts)
        self._listening: Listening | None = None
        self._closing = threading.Event()
        self._place = (folder, "")
        self.port = 0
        self.is_elsewhere = False  # the usual port is taken
        self.key = own_key()

    def start(self) -> Self:
        listening = self._socket()
        self.port = listening.getsockname()[1]
        hosts = {with_port(name, self.port) for name in own_hosts(self.host)} | self._more_hosts
        if self.port == HTTP_PORT:
            hosts |= own_hosts(self.host)
        self._place = root, opens_at = self._root()
        cookie = f"aworld_view_{self.port}"  # cookies do not know of ports
        library = Library(root, depth=BESIDE if opens_at else DEEPEST)
        self._closing.clear()
        app = build_app(library, key=self.key, cookie=cookie, closing=self._closing)
        guard = Guard(app, key=self.key, hosts=hosts, cookie=cookie)
        self._listening = Listening(guard, listening, name="aworld-view")
        self._note = note_view(root, url_of(self.host, self.port))
        return self

    def stop(self) -> None:
        if self._listening is not None:
            self._closing.set()
            self._note.unlink(missing_ok=True)
            self._listening.close()
            self._listening = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """Without the key."""
        _, opens_at = self._place
        page = f"/run?{urlencode({'run': opens_at})}" if opens_at else "/"
        return url_of(self.host, self.port) + page

    @property
    def url(self) -> str:
        """The key stands in the fragment: browsers send that to nobody."""
        return f"{self.address}#key={self.key}"

    def _root(self) -> tuple[Path, str]:
        """A single run, also one that is yet to come, is shown among those beside it: it can be
        compared with them."""
        folder = self.folder.resolve()
        if (is_run(folder) or not folder.exists()) and folder.parent != folder:
            return folder.parent, folder.name
        return folder, ""

    def _socket(self) -> socket.socket:
        if self._wanted is not None:
            try:
                return listen(self.host, self._wanted)
            except ConfigError as error:
                if not _is_taken(error):
                    raise
                hint = "choose another port, or none: then one is found that is free"
                raise ConfigError(f"{error}; {hint}") from None
        try:
            return listen(self.host, PORT)
        except ConfigError as error:
            if not _is_taken(error):
                raise
            self.is_elsewhere = True
            return listen(self.host, 0)


def _is_taken(error: ConfigError) -> bool:
    """Whether somebody else listens there."""
    return getattr(error.__cause__, "errno", None) == errno.EADDRINUSE
