"""Who may see what: the key, the names of the server, requests from other pages, odd paths."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import httpx
import pytest

import aworld.view
from aworld.errors import ConfigError
from aworld.view.keys import own_key

STATIC = Path(aworld.view.__file__).parent / "static"
OURS = [path for path in STATIC.glob("*.js") if path.name != "uplot.js"]


def url_of(server):
    return f"http://127.0.0.1:{server.port}"


@pytest.fixture
def server(serve, talked):
    return serve(talked)


DATA = ("runs", "run?run=words", "tasks?run=words", "bars?run=words", "events", "copy?run=words")


@pytest.mark.parametrize("place", DATA)
def test_without_the_key_there_is_no_data(server, place):
    found = httpx.get(f"{url_of(server)}/api/{place}")
    assert found.status_code == 401
    assert "aworld view" in found.json()["error"]


def test_the_key_is_exchanged_for_a_cookie_that_scripts_and_other_sites_cannot_use(server):
    found = httpx.post(f"{url_of(server)}/api/login", json={"key": server.key})
    cookie = found.headers["set-cookie"]
    assert found.status_code == 200
    assert server.key not in cookie
    for part in ("HttpOnly", "SameSite=strict", "Path=/", f"aworld_view_{server.port}="):
        assert part.lower() in cookie.lower()


@pytest.mark.parametrize("key", ["", "wrong", "a-key-for-the-tests-123", None, 7])
def test_a_wrong_key_opens_nothing(server, key):
    found = httpx.post(f"{url_of(server)}/api/login", json={"key": key})
    assert found.status_code == 403
    assert "set-cookie" not in found.headers


def test_the_key_is_not_in_the_page_nor_taken_from_the_path(server):
    page = httpx.get(url_of(server))
    assert page.status_code == 200
    assert server.key not in page.text
    assert httpx.get(f"{url_of(server)}/api/runs?key={server.key}").status_code == 401
    headers = {"Authorization": f"Bearer {server.key}"}
    assert httpx.get(f"{url_of(server)}/api/runs", headers=headers).status_code == 401


HOSTS = ("evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.:{port}")
HOSTS += ("127.0.0.1:{port}.evil.example", "0.0.0.0:{port}", "127.0.0.1:{port}@evil.example", "")


@pytest.mark.parametrize("host", HOSTS)
def test_another_name_of_the_server_is_refused(server, host):
    headers = {"Host": host.format(port=server.port)}
    for place in ("/", "/static/main.js", "/api/runs", "/api/login"):
        assert httpx.get(f"{url_of(server)}{place}", headers=headers).status_code == 403


def test_localhost_and_a_name_that_is_allowed_are_served(serve, talked):
    server = serve(talked, allowed_hosts=["tunnel.example:9000"])
    for host in (f"localhost:{server.port}", f"[::1]:{server.port}", "tunnel.example:9000"):
        assert httpx.get(url_of(server), headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_other_pages_can_neither_read_nor_act(client, talked, headers):
    known = client(talked)
    given = {name: value.format(port=known.base_url.port) for name, value in headers.items()}
    assert known.get("/api/runs").status_code == 200
    assert known.get("/api/runs", headers=given).status_code == 403
    body = {"run": "words", "action": "pause"}
    assert known.post("/api/act", json=body, headers=given).status_code == 403


def test_a_link_to_a_page_may_stand_anywhere_but_the_page_in_no_frame(server):
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    followed = httpx.get(url_of(server), headers={**link, "Sec-Fetch-Dest": "document"})
    framed = httpx.get(url_of(server), headers={**link, "Sec-Fetch-Dest": "iframe"})
    assert (followed.status_code, framed.status_code) == (200, 403)
    assert "frame-ancestors 'none'" in followed.headers["content-security-policy"]
    assert followed.headers["x-frame-options"] == "DENY"


def test_a_plain_form_of_another_page_cannot_act(client, talked):
    known = client(talked)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        body = '{"run": "words", "action": "pause"}'
        found = known.post("/api/act", content=body, headers={"Content-Type": kind})
        assert found.status_code == 415


def test_every_answer_carries_the_policy(client, talked):
    known = client(talked)
    for place in ("/", "/static/main.js", "/api/runs", "/api/run?run=none", "/nowhere"):
        headers = known.get(place).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


ASTRAY = ("..", "../..", "/etc", "words/../..", "words/../../..", "%2e%2e", "\0", "no", "w" * 999)


@pytest.mark.parametrize("run", ASTRAY)
def test_no_name_leads_out_of_the_folder(client, talked, run):
    known = client(talked)
    for place in ("run", "bars", "tasks", "rollout", "events"):
        found = known.get(f"/api/{place}", params={"run": run, "slot": "0"}, timeout=5)
        assert found.status_code == 404, (place, run)
    body = {"run": run, "action": "retry"}
    assert known.post("/api/act", json=body).status_code == 404


def test_a_link_out_of_the_folder_is_not_followed(client, talked, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "elsewhere").symlink_to(talked / "words")
    known = client(tmp_path / "inside")
    assert known.get("/api/runs").json()["runs"] == []
    assert known.get("/api/run", params={"run": "elsewhere"}).status_code == 422


def test_static_files_are_those_of_the_page_alone(server):
    for name in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "uplot.LICENSE", "nothing.js"):
        assert httpx.get(f"{url_of(server)}/static/{name}").status_code == 404


def test_the_modules_make_no_markup_of_text():
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    forbidden += r"|DOMParser|createContextualFragment|setTimeout\(['\"`]|srcdoc ="
    for path in OURS:
        text = path.read_text()
        assert not re.search(forbidden, text), path.name
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path.name
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"\son\w+=|style=|<script>|https?://", page)


def test_the_page_is_small():
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < 300_000


def test_the_key_is_kept_where_nobody_else_can_read_it(monkeypatch, tmp_path):
    monkeypatch.delenv("AWORLD_VIEW_KEY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key = own_key()
    place = tmp_path / "aworld" / "view-key"
    assert own_key() == key
    assert len(key) >= 32
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    os.chmod(place, 0o644)
    with pytest.raises(ConfigError, match="can be read by others"):
        own_key()


@pytest.mark.parametrize("key", ["", "short", "with spaces in it, long", "ümlautümlautümlaut"])
def test_a_key_that_is_none_is_refused(monkeypatch, key):
    monkeypatch.setenv("AWORLD_VIEW_KEY", key)
    with pytest.raises(ConfigError, match="16 or more printable"):
        own_key()
