"""Speaks OpenAI's chat completions on loopback, records what it hears, and has bad days.

Its "model" follows the conversation: it calls the tool `add` for each number pair in the question,
then answers with the sum. So the right answer can be checked, whatever happened on the way.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

FAULTS = (
    "429",
    "429 with Retry-After",
    "500",
    "hang",
    "half a body",
    "malformed JSON",
    "empty choices",
    "wrong tool arguments",
    "unknown tool",
)


class FakeServer:
    """`fault(number)` names what goes wrong with the request of that number, or gives None."""

    def __init__(self, *, delay: float = 0.0, key: str | None = None, port: int = 0):
        self.port = port
        self.delay = delay
        self.key = key
        self.fault: Callable[[int], str | None] = lambda number: None
        self.answer: Callable[[dict[str, Any]], dict[str, Any]] = add_then_answer
        self.bodies: list[bytes] = []
        self.replies: list[bytes] = []
        self.faults: Counter[str] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0

    def __enter__(self) -> FakeServer:
        started: threading.Event = threading.Event()
        self._loop = asyncio.new_event_loop()

        def serve() -> None:
            asyncio.set_event_loop(self._loop)
            self._server = self._loop.run_until_complete(
                asyncio.start_server(self._connected, "127.0.0.1", self.port, backlog=1000)
            )
            started.set()
            self._loop.run_forever()
            self._server.close()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0.01))
            self._loop.close()

        self._thread = threading.Thread(target=serve)
        self._thread.start()
        started.wait()
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(re.findall(r"content-length: (\d+)", head)[0])
                body = await reader.readexactly(length)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    if not await self._answered(head, body, writer):
                        break
                finally:
                    self.in_flight -= 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answered(self, head: str, body: bytes, writer: asyncio.StreamWriter) -> bool:
        self.bodies.append(body)
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.key is not None and f"authorization: bearer {self.key}".lower() not in head:
            sent_key = re.findall(r"authorization: bearer (\S+)", head)
            text = json.dumps({"error": {"message": f"wrong key {sent_key}"}})
            return _send(writer, 401, text.encode())
        fault = self.fault(len(self.bodies))
        if fault:
            self.faults[fault] += 1
            return await self._misbehave(fault, writer)
        request = json.loads(body)
        reply = self.answer(request)
        if request.get("stream"):
            return _send_stream(writer, reply)
        data = json.dumps(reply).encode()
        self.replies.append(data)
        return _send(writer, 200, data)

    async def _misbehave(self, fault: str, writer: asyncio.StreamWriter) -> bool:
        if fault == "429":
            return _send(writer, 429, b'{"error": "too many"}')
        if fault == "429 with Retry-After":
            return _send(writer, 429, b'{"error": "too many"}', "retry-after: 0.05\r\n")
        if fault == "500":
            return _send(writer, 500, b"oops")
        if fault == "429 for a day":
            return _send(writer, 429, b'{"error": "too many"}', "retry-after: 86400\r\n")
        if fault in ("400", "403"):
            return _send(writer, int(fault), b"no")
        if fault == "broken stream":
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
            writer.write(head + b'data: {"error": {"message": "overloaded"}}\n\n')
            await writer.drain()
            return False
        if fault == "hang":
            await asyncio.sleep(3600)
        if fault == "half a body":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
            await writer.drain()
            return False
        if fault == "malformed JSON":
            return _send(writer, 200, b'{"choices": [{"mess')
        if fault == "empty choices":
            return _send(writer, 200, b'{"choices": []}')
        if fault == "wrong tool arguments":
            return _send(writer, 200, json.dumps(_call("add", '{"a": "x"')).encode())
        assert fault == "unknown tool", fault
        return _send(writer, 200, json.dumps(_call("subtract", "{}")).encode())


def _send(writer: asyncio.StreamWriter, status: int, body: bytes, headers: str = "") -> bool:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}"
    writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return True


def _send_stream(writer: asyncio.StreamWriter, reply: dict[str, Any]) -> bool:
    """The same reply in small pieces, as server-sent events."""
    choice = reply["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant"}]
    deltas += [{"content": piece} for piece in re.findall(r".{1,3}", message.get("content") or "")]
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        start = {"name": function["name"], "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": call["id"], "function": start}]})
        for piece in re.findall(r".{1,4}", function["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks += [{"choices": [last]}, {"choices": [], "usage": reply["usage"]}]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    writer.write((head + body).encode())
    return False


# -- what it says ----------------------------------------------------------------------------------


def add_then_answer(request: dict[str, Any]) -> dict[str, Any]:
    """Adds the numbers of the question two at a time, by the tool; then tells the sum."""
    messages = request["messages"]
    question = next(m["content"] for m in messages if m["role"] == "user")
    numbers = [int(number) for number in re.findall(r"\d+", question)]
    results = [
        int(m["content"]) for m in messages if m["role"] == "tool" and m["content"].isdigit()
    ]
    pairs = [numbers[i : i + 2] for i in range(0, len(numbers), 2)]
    if request.get("tools") and len(results) < len(pairs):
        a, b = pairs[len(results)]
        return _call("add", json.dumps({"a": a, "b": b}))
    return reply_with({"role": "assistant", "content": str(sum(results or numbers))})


def _call(name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    call = {"id": f"call_{abs(hash(arguments)) % 10**6}", "type": "function", "function": function}
    return reply_with({"role": "assistant", "content": None, "tool_calls": [call]})


def reply_with(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "fake",
        "choices": [{"index": 0, "message": message, "finish_reason": reason, **more}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
