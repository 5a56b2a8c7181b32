"""Pages are read from allowed hosts only, and never more than is wanted of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aworld.errors import ConfigError
from aworld.tools import http_get
from aworld.tools.http import Fetch


class Site(BaseHTTPRequestHandler):
    released = threading.Event()

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/redirect":
            return self.answer(302, b"", Location=query)
        if path == "/latin":
            return self.answer(200, "grün".encode("latin-1"), kind="text/plain; charset=latin-1")
        if path == "/odd":
            return self.answer(200, b"fine", kind="text/plain; charset=nobody-knows")
        if path == "/image":
            return self.answer(200, b"\x89PNG", kind="image/png")
        if path == "/missing":
            return self.answer(404, b"not here")
        if path == "/silent":
            Site.released.wait(60)
            return None
        if path in ("/endless", "/drip"):
            return self.stream(path)
        self.answer(200, f"you asked for {self.path}".encode())
        return None

    def answer(self, status: int, body: bytes, kind: str = "text/plain", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, path: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            while not Site.released.wait(0.05 if path == "/drip" else 0):
                self.wfile.write(b"x" if path == "/drip" else b"x" * 100_000)
        except OSError:  # the reader has had enough
            pass

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        Site.released.set()
        server.shutdown()
        thread.join()


def test_a_page_of_an_allowed_host_is_read(run, site):
    fetch = http_get([site])
    assert run(fetch, url=f"http://{site}/a?b=c").text == "you asked for /a?b=c"
    assert run(fetch, url=f"http://{site}").text == "you asked for /"
    assert run(fetch, url=f" http://{site}/ü x?q=ä ").text == "you asked for /%C3%BC%20x?q=%C3%A4"
    assert run(fetch, url=f"http://{site}/latin").text == "grün"
    assert run(fetch, url=f"http://{site}/odd").text == "fine"
    assert f"Allowed hosts: {site}." in fetch.description


def test_a_redirect_is_followed_to_allowed_hosts_only(run, site):
    fetch = http_get([site])
    begin = f"http://{site}/redirect?"
    assert run(fetch, url=f"{begin}/there").text == "you asked for /there"
    away = run(fetch, url=f"{begin}http://localhost:{site.split(':')[1]}/")
    assert "the host localhost:" in away.text
    assert "is not allowed" in away.text
    assert "no URL that starts with http" in run(fetch, url=f"{begin}file:///etc/passwd").text


def test_a_circle_of_redirects_ends(run):
    class Circle(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", "/again")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Circle) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        result = run(http_get(["127.0.0.1"]), url=f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()
        thread.join()
    assert result.text.startswith("more than 5 redirects")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("file:///etc/passwd", "no URL that starts with http:// or https://"),
        ("ftp://example.org/", "no URL that starts with http:// or https://"),
        ("example.org", "no URL that starts with http:// or https://"),
        ("http://", "no URL that starts with http:// or https://"),
        ("http://other.org/", "the host other.org:80 is not allowed; allowed: example.org"),
        ("http://example.org.evil.net/", "example.org.evil.net:80 is not allowed"),
        ("http://evil.net#example.org", "evil.net:80 is not allowed"),
        ("http://evil.net\\@example.org/", "a user name or password is not allowed"),
        ("http://example.org@evil.net/", "a user name or password is not allowed"),
        ("http://sub.example.org/", "sub.example.org:80 is not allowed"),
        ("http://example.com/", "example.com:80 is not allowed"),
        ("https://port.org:444/", "port.org:444 is not allowed"),
        ("http://[::1/", "is no valid URL"),
        ("http://example.org:99999/", "is no valid URL"),
    ],
)
def test_what_is_not_allowed_is_not_asked_for(run, url, told):
    fetch = http_get(["example.org", "*.example.com", "port.org:443"])
    assert told in run(fetch, url=url).text


def test_hosts_match_exactly_or_by_their_wildcard():
    fetch = Fetch(("example.org", "*.example.com", "port.org:8080", "[::1]"), 1.0, 1)
    for url in (
        "https://example.org:8443/x",
        "http://EXAMPLE.org./",
        "http://a.b.example.com/",
        "http://port.org:8080/",
        "http://[::1]:5/",
    ):
        assert fetch._allowed(url).startswith("http")


@pytest.mark.parametrize(
    "hosts",
    ["example.org", [], [""], ["http://example.org"], ["a.org/path"], ["*"], ["a.*.org"], [3]],
)
def test_hosts_that_are_none_are_refused(hosts):
    with pytest.raises(ConfigError):
        http_get(hosts)


def test_a_refusal_is_an_observation(run, site):
    result = run(http_get([site]), url=f"http://{site}/missing")
    assert result.text == "HTTP 404 Not Found\nnot here"
    assert result.error.kind == "ToolError"


def test_what_is_no_text_is_not_shown(run, site):
    assert "is no text but image/png" in run(http_get([site]), url=f"http://{site}/image").text


def test_an_endless_page_is_cut_while_it_is_read(run, site):
    fetch = http_get([site], max_bytes=250_000, max_chars=1_000_000)
    text = run(fetch, url=f"http://{site}/endless").text
    assert text == "x" * 250_000 + "\n... the rest was not read ..."


def test_a_page_of_just_the_limit_is_whole(run, site):
    text = "you asked for /a"
    assert run(http_get([site], max_bytes=len(text)), url=f"http://{site}/a").text == text


@pytest.mark.parametrize("path", ["/silent", "/drip"])
def test_a_slow_page_is_given_up_in_time(run, site, path):
    began = time.monotonic()
    result = run(http_get([site], timeout=0.3), url=f"http://{site}{path}")
    assert "timed out" in result.text or "the rest was not read" in result.text
    assert time.monotonic() - began < 5


def test_a_server_that_is_not_there_is_an_observation(run):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    result = run(http_get(["127.0.0.1"]), url=f"http://127.0.0.1:{port}/")
    assert "cannot be read" in result.text
    assert "Connection refused" in result.text
