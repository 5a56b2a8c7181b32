"""Runs a worker on a machine of a cluster, on behalf of a driver elsewhere.

Ray and Spark are asked only for a place to stand: a task, or a job of one partition, calls
`guard`. The worker itself is the same fresh process as on the local engine. So whatever a task
does to its process, the cluster does not notice, and the reason of its end is known.
"""

from __future__ import annotations

import select
import socket
import threading
from dataclasses import replace

from aworld.engines import wire
from aworld.engines.base import Invitation
from aworld.engines.worker_process import WorkerProcess


def guard(invitation: Invitation) -> str:
    """Starts a worker, waits for its end, says how it ended; ends it when the driver leaves."""
    sock = wire.connect(invitation.host, invitation.port, invitation.key, invitation.worker)
    with sock:
        worker = WorkerProcess(replace(invitation, socket_fd=sock.fileno()))
        threading.Thread(target=_end_with_driver, args=(sock, worker), daemon=True).start()
        try:
            return worker.wait()
        finally:
            _shut(sock)


def _shut(sock: socket.socket) -> None:
    """Closing alone would tell nobody, as long as the other thread looks at it."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:  # it was closed from the other end
        pass


def _end_with_driver(sock: socket.socket, worker: WorkerProcess) -> None:
    """The connection is the worker's to read: here it is only watched for its end."""
    poll = select.poll()
    poll.register(sock, getattr(select, "POLLRDHUP", 0))  # Linux; elsewhere its full close is seen
    poll.poll()  # an error or a hang-up wakes it too
    worker.kill()
