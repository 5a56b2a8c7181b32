"""The policy server: a model that is being trained, behind a URL and a key."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from collections.abc import Iterable

import uvicorn

from aworld.core.failure import first_line
from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.serve.app import build_app
from aworld.serve.generator import Generator
from aworld.serve.guard import ANYWHERE, Guard, own_address, own_hosts

log = logging.getLogger("aworld")

STOP_SECONDS = 2


class PolicyServer:
    """Serves from a thread of this process, so that trainer and server share the weights.

    On a CPU whose cores the workers use as well, call `torch.set_num_threads(1)` while they do:
    torch's threads wait for each other, and several times as long when a core is taken.

    host, port     where it listens; port 0 takes a free one
    key            what callers must know; None makes one up
    allowed_hosts  further names that it is reached by, behind a proxy for example
    max_batch      how many requests are decoded together
    max_waiting    how many more may wait; then it answers 429
    """

    def __init__(
        self,
        policy: Policy,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        key: str | None = None,
        allowed_hosts: Iterable[str] = (),
        max_batch: int = 256,
        max_waiting: int = 4096,
    ):
        if key is not None and (not key.strip() or not key.isascii() or not key.isprintable()):
            raise ConfigError("key must be printable ASCII text; None makes one up")
        self.policy = policy
        self.host = host
        self.port = port
        self.key = secrets.token_urlsafe(24) if key is None else key.strip()
        self.generator = Generator(policy, max_batch=max_batch, max_waiting=max_waiting)
        self._hosts = {*own_hosts(host), *allowed_hosts}
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> PolicyServer:
        if self._thread is not None:
            raise ConfigError("a policy server starts once: make another one")
        listening = _listen(self.host, self.port)
        self.port = listening.getsockname()[1]
        app = Guard(build_app(self.generator), key=self.key, hosts=self._hosts)
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
        self._server = _Server(config, self.generator)
        run = self._server.run
        self._thread = threading.Thread(
            target=run, args=([listening],), name="aworld-policy-server", daemon=True
        )
        self.generator.start()
        self._thread.start()
        self._server.ready.wait()
        return self

    def stop(self) -> None:
        """Requests in flight are answered with an error first."""
        if self._server is None or self._thread is None:
            return
        self.generator.stop()
        self._server.should_exit = True
        self._thread.join()
        self._server = None

    def __enter__(self) -> PolicyServer:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def failure(self) -> str:
        """Why it does not answer any more, although nobody has stopped it; empty if it does."""
        if self._server is None or self._thread is None:
            return ""
        if not _lives(self.generator):
            return "the thread that decodes has died; what it raised was printed"
        if self._thread.is_alive() and not self._server.error:
            return ""
        return f"the thread that answers has died: {self._server.error or 'nobody knows why'}"

    @property
    def url(self) -> str:
        host = own_address() if self.host in ANYWHERE else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


class _Server(uvicorn.Server):
    """Says when it answers. Where it cannot go on, it closes its connections: whoever waits for an
    answer learns that none will come."""

    def __init__(self, config: uvicorn.Config, generator: Generator):
        super().__init__(config)
        self.ready = threading.Event()
        self.error = ""
        self._generator = generator

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.ready.set()

    async def main_loop(self) -> None:
        try:
            await super().main_loop()
        except Exception as error:
            log.exception("the policy server breaks off")
            self.error = first_line(error)

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or not _lives(self._generator)


def _lives(generator: Generator) -> bool:
    return generator._thread.is_alive()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listening
