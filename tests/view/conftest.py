"""Real servers, and a real Chromium that looks at them."""

from __future__ import annotations

import shutil

import httpx
import pytest
import scenes
import talks
from going import Going
from playwright.sync_api import sync_playwright
from waiting import until
from watching import Watched

from aworld.store.live import read_live
from aworld.view.server import ViewServer

KEY = "a-key-for-the-tests-1234"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(autouse=True)
def own_state(monkeypatch, tmp_path):
    """No test finds the key or the views of whoever runs it."""
    monkeypatch.setenv("AWORLD_VIEW_KEY", KEY)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("LLM_MODEL_NAME", "LLM_BASE_URL", "LLM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def serve():
    """Shows a folder; all such servers end with the test."""
    servers = []

    def start(folder, **options):
        server = ViewServer(folder, **{"port": 0, **options}).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def client(serve):
    """Somebody who has shown the key."""
    clients = []

    def open_client(folder):
        server = serve(folder)
        made = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=30)
        clients.append(made)
        assert made.post("/api/login", json={"key": KEY}).status_code == 200
        return made

    yield open_client
    for made in clients:
        made.close()


@pytest.fixture(scope="session")
def talked(tmp_path_factory):
    """A folder with a run of conversations, which is a training as well."""
    folder = tmp_path_factory.mktemp("talked")
    talks.conversations(folder / "words")
    scenes.training(folder / "words")
    return folder


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """A folder with a finished run of 100,000 tasks."""
    folder = tmp_path_factory.mktemp("large")
    scenes.many_tasks(folder / "many", 100_000)
    return folder


@pytest.fixture(scope="session")
def chromium():
    program = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    assert program, "the tests of the view need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def look(chromium):
    """A page that must stay quiet: no errors, nothing from elsewhere, no dialogs."""
    opened = []

    def at(server, path="/", **options):
        watched = Watched(chromium, server, **options)
        opened.append(watched)
        watched.go(path, with_key=True)
        return watched

    yield at
    for watched in opened:
        watched.close()
    for watched in opened:
        assert watched.problems == [], watched.problems


@pytest.fixture
def going(tmp_path):
    started = []

    def start(count, **options):
        run = Going(tmp_path, count, **options)
        started.append(run)
        until(lambda: run.process.poll() is not None or read_live(run.run))
        return run

    yield start
    for run in started:
        run.end()
