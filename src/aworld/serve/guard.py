"""Who may ask: whoever knows the key, by a name of this machine, and no web page."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from aworld.serve.requests import RefusedError, error_body
from aworld.web.hosts import bare_host


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
