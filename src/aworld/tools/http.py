"""A tool that reads web pages, from the hosts that it was given and no others."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from aworld.config import check_count, check_seconds
from aworld.errors import ConfigError, ToolError
from aworld.tools.base import Tool

MOST_REDIRECTS = 5
CHUNK = 64 * 1024
DEFAULT_PORTS = {"http": 80, "https": 443}
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript")


def http_get(
    allowed_hosts: Iterable[str],
    *,
    timeout: float = 20.0,
    max_bytes: int = 1_000_000,
    max_chars: int = 20_000,
    name: str = "http_get",
) -> Tool:
    """A tool that fetches a URL.

    allowed_hosts   'example.org', '*.example.org' (its subdomains, not itself), 'example.org:8080';
                    without a port, any port of that host
    max_bytes       no more than this is read of an answer
    """
    if isinstance(allowed_hosts, str):
        raise ConfigError(f"allowed_hosts must be a list of hosts, got the str {allowed_hosts!r}")
    hosts = tuple(_checked_host(host) for host in allowed_hosts)
    if not hosts:
        raise ConfigError("http_get needs allowed_hosts, such as ['en.wikipedia.org']")
    check_seconds("timeout", timeout)
    check_count("max_bytes", max_bytes, least=1)
    description = f"Fetches a URL with GET and returns its text. Allowed hosts: {', '.join(hosts)}."
    fetch = Fetch(hosts, timeout, max_bytes)
    return Tool(fetch, name=name, description=description, timeout=timeout + 1, max_chars=max_chars)


@dataclass(frozen=True)
class Fetch:
    allowed_hosts: tuple[str, ...]
    timeout: float
    max_bytes: int

    def __call__(self, url: str) -> str:
        """
        Args:
            url: It starts with http:// or https://.
        """
        deadline = time.monotonic() + self.timeout
        for _ in range(MOST_REDIRECTS + 1):
            target = self._allowed(url)
            try:
                answer = _open(target, deadline)
            except (OSError, HTTPException, ValueError) as error:
                raise ToolError(f"{target} cannot be read: {_reason(error)}") from error
            with answer:
                location = answer.headers.get("Location")
                if answer.status in (301, 302, 303, 307, 308) and location:
                    url = urljoin(target, location)
                    continue
                return self._text(answer, target, deadline)
        raise ToolError(f"more than {MOST_REDIRECTS} redirects, the last one to {url:.200}")

    def _allowed(self, url: str) -> str:
        """The URL, put together again from its checked parts: what is asked is what was checked."""
        try:
            parts = urlsplit(url.strip())
            host, port = (parts.hostname or "").rstrip("."), parts.port
            host = host if host.isascii() else host.encode("idna").decode()
        except ValueError as error:
            raise ToolError(f"{url!r:.200} is no valid URL: {error}") from None
        if parts.scheme not in DEFAULT_PORTS or not host:
            raise ToolError(f"{url!r:.200} is no URL that starts with http:// or https://")
        if parts.username is not None or parts.password is not None:
            raise ToolError("a URL with a user name or password is not allowed")
        port = port or DEFAULT_PORTS[parts.scheme]
        if not any(_matches(entry, host, port) for entry in self.allowed_hosts):
            allowed = ", ".join(self.allowed_hosts)
            raise ToolError(f"the host {host}:{port} is not allowed; allowed: {allowed}")
        return _rebuilt(parts, host, port)

    def _text(self, answer: Any, url: str, deadline: float) -> str:
        kind = answer.headers.get_content_type()
        if not kind.startswith(TEXT_TYPES) and not kind.endswith(("+json", "+xml")):
            raise ToolError(f"{url} is no text but {kind}")
        try:
            body = self._read(answer, deadline)
        except (OSError, HTTPException) as error:
            raise ToolError(f"{url} broke off: {_reason(error)}") from error
        try:
            text = body.decode(answer.headers.get_content_charset("utf-8"), "replace")
        except LookupError:  # a charset that nobody knows
            text = body.decode("utf-8", "replace")
        if answer.status >= 400:
            raise ToolError(f"HTTP {answer.status} {answer.reason}\n{text}")
        return text

    def _read(self, answer: Any, deadline: float) -> bytearray:
        body = bytearray()
        while chunk := answer.read1(CHUNK):
            body += chunk
            if len(body) > self.max_bytes or time.monotonic() > deadline:
                del body[self.max_bytes :]
                return body + b"\n... the rest was not read ..."
        return body


class _NoErrors(urllib.request.HTTPErrorProcessor):
    """Redirects and refusals come back as answers: the caller decides about them."""

    def http_response(self, request: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _open(url: str, deadline: float) -> Any:
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        _NoErrors(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(url, headers={"User-Agent": "aworld", "Accept": "*/*"})
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("it took too long")
    return opener.open(request, timeout=left)


def _matches(entry: str, host: str, port: int) -> bool:
    wanted = _parts(entry)
    if wanted.port is not None and wanted.port != port:
        return False
    name = wanted.hostname or ""
    if name.startswith("*."):
        return host.endswith(name[1:]) and len(host) >= len(name)
    return host == name


def _checked_host(entry: Any) -> str:
    example = "write 'example.org', '*.example.org' or 'example.org:8080'"
    try:
        parts = _parts(entry)
        name = (parts.hostname or "").removeprefix("*.")
        is_host = bool(name) and parts.netloc == entry and parts.username is None
        if is_host and "*" not in name and name.isascii() and parts.port != 0:
            return entry.lower()
    except (ValueError, TypeError):
        pass
    raise ConfigError(f"allowed_hosts: {entry!r:.100} is no host: {example}")


def _parts(entry: str) -> SplitResult:
    return urlsplit("//" + entry)


def _rebuilt(parts: SplitResult, host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    if port != DEFAULT_PORTS[parts.scheme]:
        shown = f"{shown}:{port}"
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = f"?{quote(parts.query, safe='/%:@!$&()*+,;=~-._?')}" if parts.query else ""
    return f"{parts.scheme}://{shown}{path}{query}"


def _reason(error: BaseException) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(cause) or type(error).__name__
