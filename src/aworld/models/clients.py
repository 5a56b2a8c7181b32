"""The HTTP clients of a worker: made once, shared by its tasks."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from aworld.core.secret import Secret

if TYPE_CHECKING:
    from openai import AsyncOpenAI

FULL = 16  # calls in flight: a client with more connections is slower with each of them


class Server(NamedTuple):
    """What a client needs to know."""

    base_url: str
    api_key: Secret | None
    timeout: float
    connect_seconds: float


@dataclass(slots=True)
class SharedClient:
    client: AsyncOpenAI
    in_flight: int = 0


class Clients:
    """Those of one event loop. They end before it does, with its generators: that is the one thing
    that a loop closes by itself, whoever runs it."""

    def __init__(self) -> None:
        self.of_servers: dict[Server, list[SharedClient]] = {}
        self._end = self._until_the_loop_ends()

    async def open(self) -> None:
        await anext(self._end)

    async def _until_the_loop_ends(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            for shared in chain.from_iterable(self.of_servers.values()):
                await shared.client.close()


_openai: Any = None  # the module, once it is imported
_importing = threading.Lock()
# A client belongs to the event loop that it was first used in.
_clients: dict[asyncio.AbstractEventLoop, Clients] = {}


@asynccontextmanager
async def client_for(server: Server) -> AsyncIterator[AsyncOpenAI]:
    """The one with the least to do; a new one when all have enough."""
    if _openai is None:  # a second or more: not in the event loop
        await asyncio.to_thread(_import_openai)
    of_server = (await _of_this_loop()).of_servers.setdefault(server, [])
    shared = min(of_server, key=lambda known: known.in_flight, default=None)
    if shared is None or shared.in_flight >= FULL:
        shared = SharedClient(_new_client(server))
        of_server.append(shared)
    shared.in_flight += 1
    try:
        yield shared.client
    finally:
        shared.in_flight -= 1


async def _of_this_loop() -> Clients:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        for known in list(_clients):  # other threads have loops too: it may change meanwhile
            if known.is_closed():
                _clients.pop(known, None)
        _clients[loop] = Clients()
        await _clients[loop].open()
    return _clients[loop]


def _import_openai() -> None:
    """With what it imports itself only when it is first used."""
    global _openai
    with _importing:
        if _openai is None:
            module = importlib.import_module("openai")
            _ = module.AsyncOpenAI(api_key="none").chat.completions.with_raw_response
            asyncio.run(importlib.import_module("anyio").sleep(0))
            _openai = module


def _new_client(server: Server) -> AsyncOpenAI:
    assert _openai is not None
    return _openai.AsyncOpenAI(
        base_url=server.base_url,
        api_key="none" if server.api_key is None else server.api_key.reveal(),
        timeout=_openai.Timeout(server.timeout, connect=server.connect_seconds),
        max_retries=0,  # we do it, for all models alike
    )
