"""The one language between driver and workers: a mutual greeting, then frames.

Greeting: each side proves that it knows the run's key before the other reads a pickle from it.
Frame: a pickled message, followed by the large buffers in it, which are neither copied nor pickled.
"""

from __future__ import annotations

import hmac
import os
import pickle
import socket
import struct
from typing import Any

BEAT_SECONDS = 0.25  # how often a worker says that it is alive
CONNECT_SECONDS = 30.0  # for a worker to reach its driver, and to be greeted
EXIT_OUT_OF_MEMORY = 87  # a worker's exit code, for when its last words do not get through

PREFIX = struct.Struct("!QQ")  # sizes of the pickled message and of all that follows it
SIZE = struct.Struct("!Q")
NONCE_SIZE = 32
PROOF_SIZE = 32
HELLO = struct.Struct(f"!Q{NONCE_SIZE}s{PROOF_SIZE}s")  # worker number, its nonce, its proof

Message = tuple[Any, ...]
Bytes = bytes | bytearray | memoryview


class GreetingError(Exception):
    """The other side does not know this run's key."""


def new_key() -> bytes:
    return os.urandom(32)


def new_nonce() -> bytes:
    return os.urandom(NONCE_SIZE)


def proof(key: bytes, role: bytes, worker: int, driver_nonce: bytes, worker_nonce: bytes) -> bytes:
    text = role + worker.to_bytes(8, "big") + driver_nonce + worker_nonce
    return hmac.digest(key, text, "sha256")


def connect(host: str, port: int, key: bytes, worker: int) -> socket.socket:
    """The worker's end of the greeting."""
    sock = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
    try:
        _greet(sock, key, worker)
    except BaseException:
        sock.close()
        raise
    sock.settimeout(None)
    return sock


def _greet(sock: socket.socket, key: bytes, worker: int) -> None:
    tune(sock)
    driver_nonce = bytes(recv_exactly(sock, NONCE_SIZE))
    nonce = new_nonce()
    mine = proof(key, b"worker", worker, driver_nonce, nonce)
    sock.sendall(HELLO.pack(worker, nonce, mine))
    expected = proof(key, b"driver", worker, driver_nonce, nonce)
    if not hmac.compare_digest(recv_exactly(sock, PROOF_SIZE), expected):
        raise GreetingError("the driver does not know this run's key")


def check_hello(hello: Bytes, key: bytes, driver_nonce: bytes) -> tuple[int, bytes]:
    """The driver's end of the greeting: the worker's number, and the proof to answer with."""
    worker, nonce, theirs = HELLO.unpack(hello)
    expected = proof(key, b"worker", worker, driver_nonce, nonce)
    if not hmac.compare_digest(theirs, expected):
        raise GreetingError("a stranger connected: it does not know this run's key")
    return worker, proof(key, b"driver", worker, driver_nonce, nonce)


def tune(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # The kernel answers these probes even when the process is busy: only a lost machine does not.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in (("TCP_KEEPIDLE", 2), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), seconds)


def pack(message: Message) -> list[Bytes]:
    """One frame, in pieces to be sent one after another."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(message, 5, buffer_callback=buffers.append)
    if not buffers:
        return [PREFIX.pack(len(head), 0) + head]
    bodies = [buffer.raw() for buffer in buffers]
    sizes = b"".join(SIZE.pack(body.nbytes) for body in bodies)
    rest = len(sizes) + SIZE.size + sum(body.nbytes for body in bodies)
    return [PREFIX.pack(len(head), rest) + head + SIZE.pack(len(bodies)) + sizes, *bodies]


def unpack(content: Bytes, head_size: int) -> Message:
    view = memoryview(content)
    buffers: list[memoryview] = []
    if len(view) > head_size:
        (count,) = SIZE.unpack_from(view, head_size)
        sizes = struct.unpack_from(f"!{count}Q", view, head_size + SIZE.size)
        start = head_size + SIZE.size * (count + 1)
        for size in sizes:
            buffers.append(view[start : start + size])
            start += size
    return pickle.loads(view[:head_size], buffers=buffers)


def recv_message(sock: socket.socket) -> Message:
    head_size, rest = PREFIX.unpack(recv_exactly(sock, PREFIX.size))
    return unpack(recv_exactly(sock, head_size + rest), head_size)


def send_message(sock: socket.socket, message: Message) -> None:
    for piece in pack(message):
        sock.sendall(piece)


def recv_exactly(sock: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = sock.recv_into(view)
        if not count:
            raise EOFError("the connection was closed")
        view = view[count:]
    return data
