"""Who may ask: whoever knows the key, by a name of this machine, and no web page."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aworld.serve.requests import RefusedError
from aworld.serve.streaming import error_body

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ANYWHERE = ("0.0.0.0", "::", "")


class Guard:
    """Stands before the routes.

    A page in a browser can send requests to loopback, under a name of its own that it lets point
    there: its Host gives it away, or its Origin.
    """

    def __init__(self, app: ASGIApp, *, key: str, hosts: Iterable[str]):
        self._app = app
        self._key = f"bearer {key}".encode()
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._why_not(scope) if scope["type"] == "http" else None
        if refused is None:
            await self._app(scope, receive, send)
        else:
            response = JSONResponse(error_body(refused), refused.status)
            await response(scope, receive, send)

    def _why_not(self, scope: Scope) -> RefusedError | None:
        headers = dict(scope["headers"])
        host = bare_host(headers.get(b"host", b"").decode("latin-1"))
        if host not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            return RefusedError(f"Host {host!r} is not allowed (allowed_hosts: {known})", 403)
        if b"origin" in headers:
            return RefusedError("requests from web pages are refused", 403)
        if scope["path"] == "/health":
            return None
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        if not hmac.compare_digest(scheme.lower() + b" " + key.strip(), self._key):
            return RefusedError(
                "the key is wrong or missing: Authorization: Bearer KEY",
                401,
                code="invalid_api_key",
            )
        return None


def bare_host(header: str) -> str:
    """Without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    return header.partition(":")[0].lower()


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
