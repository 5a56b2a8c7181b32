"""Messages between driver and workers: nothing is read from a stranger, nothing is bent."""

from __future__ import annotations

import pickle
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld.engines import pickling, wire


@given(
    small=st.recursive(
        st.none() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.tuples(inner, inner),
    ),
    buffers=st.lists(st.binary(max_size=5000), max_size=5),
)
def test_a_message_arrives_as_it_was_sent(small, buffers):
    message = ("kind", small, [pickle.PickleBuffer(buffer) for buffer in buffers])
    frame = b"".join(bytes(piece) for piece in wire.pack(message))
    head_size, rest = wire.PREFIX.unpack(frame[: wire.PREFIX.size])
    content = frame[wire.PREFIX.size :]
    assert len(content) == head_size + rest
    kind, received, received_buffers = wire.unpack(content, head_size)
    assert (kind, received) == ("kind", small)
    assert [bytes(buffer) for buffer in received_buffers] == buffers


@given(
    value=st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary())
)
def test_a_plain_value_survives_encoding(value):
    decoded = pickling.decode(pickling.encode(value))
    assert decoded == value
    assert type(decoded) is type(value)


def test_large_values_travel_as_buffers():
    assert isinstance(pickling.encode(b"x" * (1 << 20)), pickle.PickleBuffer)
    assert isinstance(pickling.encode(["x" * (1 << 20)]), pickle.PickleBuffer)
    assert pickling.encode("small") == ("small",)


class Driver(threading.Thread):
    """The other end of a worker's greeting."""

    def __init__(self, key, answer=None):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.key, self.answer, self.error = key, answer, None
        self.start()

    def run(self):
        sock, _ = self.server.accept()
        with sock, self.server:
            nonce = wire.new_nonce()
            sock.sendall(nonce)
            hello = wire.recv_exactly(sock, wire.HELLO.size)
            try:
                _, proof = wire.check_hello(hello, self.key, nonce)
            except wire.GreetingError as error:
                self.error = error
                return
            sock.sendall(self.answer or proof)


def greet(driver, key):
    return wire.connect("127.0.0.1", driver.server.getsockname()[1], key, worker=3)


def test_both_sides_prove_that_they_know_the_key():
    key = wire.new_key()
    driver = Driver(key)
    greet(driver, key).close()
    driver.join()
    assert driver.error is None


def test_a_worker_with_another_key_is_refused():
    driver = Driver(wire.new_key())
    with pytest.raises((EOFError, ConnectionError)):
        greet(driver, wire.new_key())
    driver.join()
    assert isinstance(driver.error, wire.GreetingError)


def test_a_worker_refuses_a_driver_that_cannot_prove_itself():
    key = wire.new_key()
    driver = Driver(key, answer=b"\0" * wire.PROOF_SIZE)
    with pytest.raises(wire.GreetingError, match="does not know this run's key"):
        greet(driver, key)


def test_a_proof_is_good_for_one_role_one_worker_and_one_greeting():
    key, a, b = wire.new_key(), wire.new_nonce(), wire.new_nonce()
    proofs = {
        wire.proof(key, b"worker", 1, a, b),
        wire.proof(key, b"driver", 1, a, b),
        wire.proof(key, b"worker", 2, a, b),
        wire.proof(key, b"worker", 1, b, a),
    }
    assert len(proofs) == 4
