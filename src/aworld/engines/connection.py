"""The driver's end of the line to one worker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from aworld.engines import wire
from aworld.engines.wire import Message

GREETING_SECONDS = 10.0
STRANGER = -1


class Connection(asyncio.BufferedProtocol):
    """Reads frames straight into place; nothing is unpickled before the greeting is done."""

    def __init__(
        self,
        key: bytes,
        *,
        on_made: Callable[[Connection], None],
        on_joined: Callable[[Connection], bool],
        on_message: Callable[[Connection, Message], None],
        on_lost: Callable[[Connection], None],
    ):
        self._key = key
        self._on_made = on_made
        self._on_joined = on_joined
        self._on_message = on_message
        self._on_lost = on_lost
        self._nonce = wire.new_nonce()
        self._head_size = 0
        self._then = self._greeted
        self._expect(wire.HELLO.size)
        self.worker = STRANGER

    def send(self, *message: object) -> None:
        for piece in wire.pack(message):
            self._transport.write(piece)

    def abort(self) -> None:
        self._transport.abort()

    # -- called by asyncio ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        wire.tune(transport.get_extra_info("socket"))
        self._on_made(self)
        transport.write(self._nonce)
        loop = asyncio.get_running_loop()
        self._greeting = loop.call_later(GREETING_SECONDS, transport.abort)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._space

    def buffer_updated(self, nbytes: int) -> None:
        self._space = self._space[nbytes:]
        if not self._space:
            self._then()

    def connection_lost(self, exc: Exception | None) -> None:
        self._greeting.cancel()
        self._on_lost(self)

    # -- what is read, in turn ------------------------------------------------------------------

    def _expect(self, size: int) -> None:
        self._data = bytearray(size)
        self._space = memoryview(self._data)

    def _greeted(self) -> None:
        try:
            worker, answer = wire.check_hello(self._data, self._key, self._nonce)
        except wire.GreetingError:
            self._transport.abort()
            return
        self._greeting.cancel()
        self._transport.write(answer)
        self.worker = worker
        if not self._on_joined(self):
            self.worker = STRANGER
            self._transport.abort()
            return
        self._expect(wire.PREFIX.size)
        self._then = self._sized

    def _sized(self) -> None:
        self._head_size, rest = wire.PREFIX.unpack(self._data)
        self._expect(self._head_size + rest)
        self._then = self._filled

    def _filled(self) -> None:
        message = wire.unpack(self._data, self._head_size)
        self._expect(wire.PREFIX.size)
        self._then = self._sized
        self._on_message(self, message)
