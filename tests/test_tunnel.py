"""The tunnel: bytes pass both ways, and either end's hanging up ends the other."""

from __future__ import annotations

import os
import socket
import struct

import pytest

from aworld.engines.base import Invitation
from aworld.engines.tunnel import Entrance, dig_tunnel


@pytest.fixture
def ends():
    """The worker's socket and the driver's, with the tunnel between them."""
    entrance = Entrance()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        invitation = Invitation(host=host, port=port, key=b"", worker=0, tasks_per_worker=1)
        dig_tunnel(invitation, entrance)
        led = entrance.lead(invitation)
        with socket.create_connection((led.host, led.port)) as worker:
            driver, _ = listener.accept()
            for sock in (worker, driver):
                sock.settimeout(20)
            with driver:
                yield worker, driver


def received(sock, size):
    data = bytearray()
    while len(data) < size:
        data += sock.recv(1 << 20)
    return bytes(data)


def test_bytes_pass_both_ways_unchanged(ends):
    worker, driver = ends
    for sender, receiver in ((worker, driver), (driver, worker)):
        data = os.urandom(300_000)
        sender.sendall(data)
        assert received(receiver, len(data)) == data


@pytest.mark.parametrize("who", [0, 1], ids=["worker", "driver"])
@pytest.mark.parametrize("rudely", [False, True])
def test_when_one_end_hangs_up_the_other_one_hears_it(ends, who, rudely):
    leaving, staying = ends[who], ends[1 - who]
    if rudely:  # a reset, with data that nobody has read
        staying.sendall(b"unread")
        leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    leaving.close()
    try:
        assert staying.recv(1) == b""
    except ConnectionResetError:
        pass
