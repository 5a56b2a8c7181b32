"""The names that a server of this machine is reached by."""

from __future__ import annotations

import socket

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("0.0.0.0", "::", "")


def bare_host(header: str) -> str:
    """Without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


def with_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def own_hosts(host: str) -> set[str]:
    """The names that a server bound to `host` is reached by."""
    if host not in ANYWHERE:
        return {host, *(LOOPBACK if host in LOOPBACK else ())}
    return {*LOOPBACK, socket.gethostname(), socket.getfqdn(), own_address()}


def own_address() -> str:
    """That other machines see; nothing is sent to find it out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def url_of(host: str, port: int) -> str:
    return f"http://{with_port(own_address() if host in ANYWHERE else host, port)}"
