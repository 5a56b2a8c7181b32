"""The policy server: a model that is being trained, behind a URL and a key."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.serve.app import build_app
from aworld.serve.generator import Generator
from aworld.serve.guard import Guard
from aworld.web.hosts import own_hosts, url_of
from aworld.web.listening import Listening, listen


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
        self._listening: Listening | None = None
        self._started = False

    def start(self) -> PolicyServer:
        if self._started:
            raise ConfigError("a policy server starts once: make another one")
        listening = listen(self.host, self.port)
        self.port = listening.getsockname()[1]
        app = Guard(build_app(self.generator), key=self.key, hosts=self._hosts)
        self._started = True
        self.generator.start()
        self._listening = Listening(
            app, listening, name="aworld-policy-server", goes_on=lambda: self.generator.is_alive
        )
        return self

    def stop(self) -> None:
        """Requests in flight are answered with an error first."""
        if self._listening is None:
            return
        self.generator.stop()
        self._listening.close()
        self._listening = None

    def __enter__(self) -> PolicyServer:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def failure(self) -> str:
        """Why it does not answer any more, although nobody has stopped it; empty if it does."""
        if self._listening is None:
            return ""
        if not self.generator.is_alive:
            return "the thread that decodes has died; what it raised was printed"
        return self._listening.failure

    @property
    def url(self) -> str:
        return url_of(self.host, self.port)
