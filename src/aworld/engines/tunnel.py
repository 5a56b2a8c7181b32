"""Carries a worker's connection through a cluster's own calls, where it cannot reach the driver.

Near the worker stands an `Entrance`, to which it connects as if it were the driver. In the driver
a tunnel connects to the switchboard as if it were the worker, and moves the bytes between the two
by calling `pull` and `push` of the entrance. The greeting passes through: both ends still prove
to each other that they know the run's key.
"""

from __future__ import annotations

import select
import socket
import threading
from dataclasses import replace
from typing import Protocol

from aworld.engines.base import Invitation

PIECE = 4 << 20  # the most bytes that one call carries
POLL_SECONDS = 10.0  # how long a call waits for the first of them


class Entrance:
    """Where a worker connects. Each method may be called while another one waits."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sock: socket.socket | None = None

    def lead(self, invitation: Invitation) -> Invitation:
        host, port = self._listener.getsockname()
        return replace(invitation, host=host, port=port)

    def open(self) -> None:
        """Waits for the worker."""
        self._sock, _ = self._listener.accept()
        self._listener.close()

    def pull(self) -> bytes | None:
        """What the worker has sent meanwhile, perhaps nothing yet. None: it has hung up."""
        assert self._sock is not None
        try:
            if not select.select([self._sock], [], [], POLL_SECONDS)[0]:
                return b""
            return self._sock.recv(PIECE) or None
        except (OSError, ValueError):  # it was hung up on this side
            return None

    def push(self, data: bytes) -> None:
        """Sends it to the worker."""
        assert self._sock is not None
        try:
            self._sock.sendall(data)
        except OSError:  # the worker is gone: `pull` says so
            pass

    def hang_up(self) -> None:
        sock = self._sock or self._listener
        try:
            sock.shutdown(socket.SHUT_RDWR)  # wakes those who wait for it
        except OSError:  # the worker was first
            pass
        sock.close()


class FarEntrance(Protocol):
    """An entrance as the driver reaches it."""

    def open(self) -> None: ...
    def pull(self) -> bytes | None: ...
    def push(self, data: bytes) -> None: ...
    def hang_up(self) -> None: ...


def dig_tunnel(invitation: Invitation, entrance: FarEntrance) -> None:
    """Connects the worker that comes to the entrance with the driver, until either hangs up."""
    name = f"aworld-tunnel-{invitation.worker}"
    threading.Thread(target=_carry, args=(invitation, entrance), name=name, daemon=True).start()


def _carry(invitation: Invitation, entrance: FarEntrance) -> None:
    try:
        entrance.open()  # not earlier: the driver gives a stranger only seconds to greet
        with socket.create_connection((invitation.host, invitation.port)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_carry_to_worker, args=(sock, entrance), daemon=True)
            back.start()
            while (data := entrance.pull()) is not None:
                sock.sendall(data)
            sock.shutdown(socket.SHUT_RDWR)
            back.join()
    except Exception:  # the cluster has lost the entrance, or the driver hung up: told elsewhere
        _hang_up(entrance)


def _carry_to_worker(sock: socket.socket, entrance: FarEntrance) -> None:
    try:
        while data := sock.recv(PIECE):
            entrance.push(data)
    except Exception:  # it was hung up rudely
        pass
    _hang_up(entrance)


def _hang_up(entrance: FarEntrance) -> None:
    try:
        entrance.hang_up()
    except Exception:  # it is lost
        pass
