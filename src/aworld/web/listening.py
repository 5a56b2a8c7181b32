"""Serves an app from a thread of this process."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from aworld.core.failure import first_line
from aworld.errors import ConfigError

log = logging.getLogger("aworld")

STOP_SECONDS = 2


class Listening:
    """Answers as soon as it is made, until it is closed or does not go on. Then its connections are
    closed, too: whoever waits for an answer learns that none will come."""

    def __init__(
        self,
        app: ASGIApp,
        listening: socket.socket,
        *,
        name: str,
        goes_on: Callable[[], bool] = lambda: True,
    ):
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=STOP_SECONDS,
            timeout_keep_alive=75,
            server_header=False,
        )
        self._server = _Server(config, goes_on)
        run = self._server.run
        self._thread = threading.Thread(target=run, args=([listening],), name=name, daemon=True)
        self._thread.start()
        self._server.ready.wait()

    @property
    def failure(self) -> str:
        """Why it has ended by itself; empty if it has not."""
        if self._thread.is_alive() and not self._server.error:
            return ""
        return f"the thread that answers has died: {self._server.error or 'nobody knows why'}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()


class _Server(uvicorn.Server):
    """Says when it answers, and why it has broken off."""

    def __init__(self, config: uvicorn.Config, goes_on: Callable[[], bool]):
        super().__init__(config)
        self.ready = threading.Event()
        self.error = ""
        self._goes_on = goes_on

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()

    async def main_loop(self) -> None:
        try:
            await super().main_loop()
        except Exception as error:
            log.exception("the server breaks off")
            self.error = first_line(error)

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or not self._goes_on()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else "a port is 0 to 65535"
        raise ConfigError(f"cannot listen on {host}:{port}: {reason}") from error
    return listening
