"""Serves an app from a thread of this process."""

from __future__ import annotations

import socket
import threading

import uvicorn
from starlette.types import ASGIApp

from aworld.errors import ConfigError

STOP_SECONDS = 2


class Listening:
    """Answers as soon as it is made, until it is closed."""

    def __init__(self, app: ASGIApp, listening: socket.socket, *, name: str):
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
        self._server = _Server(config)
        run = self._server.run
        self._thread = threading.Thread(target=run, args=([listening],), name=name, daemon=True)
        self._thread.start()
        self._server.ready.wait()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()


class _Server(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, config: uvicorn.Config):
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else "a port is 0 to 65535"
        raise ConfigError(f"cannot listen on {host}:{port}: {reason}") from None
    return listening
