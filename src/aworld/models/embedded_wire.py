"""Speaks HTTP with the llama.cpp of this process, over a Unix socket that no network reaches."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aworld.errors import ModelError


class Wire:
    """An address that nobody guesses and a key that nobody else has."""

    def __init__(self) -> None:
        self.key = secrets.token_hex(32)
        if sys.platform == "linux":
            self.address = f"\0aworld-{secrets.token_hex(8)}.sock"  # no file to be left behind
        else:
            self.address = os.path.join(tempfile.mkdtemp(prefix="aworld-"), "llama.sock")

    async def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        async with self._post(path, body) as reply:
            return json.loads(await _whole(reply))

    async def parts(self, path: str, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """One with `stream` in the body comes in many parts, else there is just one."""
        async with self._post(path, body) as reply:
            if not body.get("stream"):
                yield json.loads(await _whole(reply))
                return
            async for line in _lines(reply):
                kind, _, content = line.partition(b": ")
                if kind == b"error":
                    raise ModelError(f"llama.cpp: {_complaint(content)}")
                if kind == b"data" and content.startswith(b"{"):
                    yield json.loads(content)

    @asynccontextmanager
    async def _post(self, path: str, body: dict[str, Any]) -> AsyncIterator[_Reply]:
        """Leaving it early closes the connection, at which llama.cpp stops and frees the slot."""
        try:
            reader, writer = await asyncio.open_unix_connection(self.address)
        except OSError as error:
            raise ModelError(f"llama.cpp is gone: {error}") from error
        try:
            content = json.dumps(body).encode()
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                f"Authorization: Bearer {self.key}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
                + content
            )
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = head.partition("content-length: ")[2].partition("\r\n")[0]
            reply = _Reply(reader, int(length) if length else None)
            if head.split()[1] != "200":
                raise ModelError(f"llama.cpp: {_complaint(await _whole(reply))}")
            yield reply
        except (OSError, asyncio.IncompleteReadError) as error:
            raise ModelError(f"llama.cpp broke off: {error}", may_pass=True) from error
        finally:
            writer.close()


class _Reply(NamedTuple):
    reader: asyncio.StreamReader
    length: int | None  # None: it comes in chunks


async def _chunks(reply: _Reply) -> AsyncIterator[bytes]:
    if reply.length is not None:
        yield await reply.reader.readexactly(reply.length)
        return
    while size := int(await reply.reader.readline(), 16):
        yield (await reply.reader.readexactly(size + 2))[:-2]


async def _whole(reply: _Reply) -> bytes:
    return b"".join([chunk async for chunk in _chunks(reply)])


async def _lines(reply: _Reply) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in _chunks(reply):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line


def _complaint(content: bytes) -> str:
    try:
        said = json.loads(content)
        return said.get("error", said)["message"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return content.decode(errors="replace")
