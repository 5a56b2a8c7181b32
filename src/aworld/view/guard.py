"""Who may see the view: whoever has shown the key, by a name of this machine, from its own page."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aworld.view.encoding import Json
from aworld.view.keys import session_of

OPEN_PLACES = ("/api/login",)
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class Guard:
    """Stands before the routes.

    hosts  all that may stand in the Host header, with the port: a page elsewhere that lets a name
           of its own point to this machine has another one
    """

    def __init__(self, app: ASGIApp, *, key: str, hosts: Iterable[str], cookie: str):
        self._app = app
        self._session = session_of(key)
        self._hosts = {host.lower() for host in hosts}
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refused = self._why_not(scope, headers)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if refused is None:
            await self._app(scope, receive, send_with_headers)
        else:
            status, reason = refused
            await Json({"error": reason}, status)(scope, receive, send_with_headers)

    def _why_not(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, "this name of the server is not allowed: see --allowed-host"
        method, path = scope["method"], scope["path"]
        origins = headers.getlist("origin")
        if origins and origins != [f"http://{hosts[0]}"]:
            return 403, "requests from other pages are refused"
        is_data = path.startswith("/api/")
        if not self._from_own_page(headers, is_data=is_data):
            return 403, "requests from other pages are refused"
        if method not in ("GET", "HEAD", "POST") or (method == "POST" and not is_data):
            return 405, "there is nothing to be done here"
        if method == "POST" and headers.get("content-type") != "application/json":
            return 415, "send application/json"  # no plain form of another page can
        if is_data and path not in OPEN_PLACES and not self._is_known(headers):
            return 401, "open the link that `aworld view` has printed: it holds the key"
        return None

    def _from_own_page(self, headers: Headers, *, is_data: bool) -> bool:
        """Browsers say from where a request comes; a link to a page may stand anywhere."""
        site = headers.get("sec-fetch-site")
        if site in (None, "same-origin"):
            return True
        if site == "none":  # typed, or from a bookmark
            return not is_data
        is_link = headers.get("sec-fetch-mode") == "navigate"
        return is_link and headers.get("sec-fetch-dest") == "document" and not is_data

    def _is_known(self, headers: Headers) -> bool:
        for text in headers.getlist("cookie"):
            shown = cookie_parser(text).get(self._cookie, "")
            if hmac.compare_digest(shown.encode(), self._session.encode()):
                return True
        return False
