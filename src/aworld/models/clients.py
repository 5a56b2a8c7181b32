"""The HTTP clients of a worker: made once, shared by its tasks."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
class Shared:
    client: AsyncOpenAI
    in_flight: int = 0


_openai: Any = None  # the module, once it is imported
# A client belongs to the event loop that it was first used in.
_clients: dict[asyncio.AbstractEventLoop, dict[Server, list[Shared]]] = {}


@asynccontextmanager
async def client_for(server: Server) -> AsyncIterator[AsyncOpenAI]:
    """The one with the least to do; a new one when all have enough."""
    global _openai
    if _openai is None:  # half a second: not in the event loop
        _openai = await asyncio.to_thread(importlib.import_module, "openai")
    of_server = _of_this_loop().setdefault(server, [])
    shared = min(of_server, key=lambda known: known.in_flight, default=None)
    if shared is None or shared.in_flight >= FULL:
        shared = Shared(_new_client(server))
        of_server.append(shared)
    shared.in_flight += 1
    try:
        yield shared.client
    finally:
        shared.in_flight -= 1


def _of_this_loop() -> dict[Server, list[Shared]]:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        for closed in [known for known in _clients if known.is_closed()]:
            del _clients[closed]
    return _clients.setdefault(loop, {})


def _new_client(server: Server) -> AsyncOpenAI:
    assert _openai is not None
    return _openai.AsyncOpenAI(
        base_url=server.base_url,
        api_key="none" if server.api_key is None else server.api_key.reveal(),
        timeout=_openai.Timeout(server.timeout, connect=server.connect_seconds),
        max_retries=0,  # we do it, for all models alike
    )
