"""The view on a run that goes on: it moves, it can be steered, it outlives its server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
import scenes
from playwright.sync_api import expect
from waiting import until

from aworld import open_run
from aworld.errors import ConfigError
from aworld.store.live import read_live
from aworld.view import open_view
from aworld.view.server import ViewServer
from aworld.web.listening import STOP_SECONDS


def done(run):
    with open_run(run) as opened:
        return sum(opened.counts().values())


def test_a_live_run_is_seen_moving_until_its_end(going, serve, look, tmp_path):
    run = going(60)
    page = look(serve(tmp_path / "runs"), "/run?run=live").page
    expect(page.locator(".title .pill")).to_have_text("running")
    canvas = page.locator("canvas[role=img]").first
    label = canvas.get_attribute("aria-label")
    expect(canvas).not_to_have_attribute("aria-label", label, timeout=15_000)
    running = page.locator(".fact", has_text="Running").locator(".value")
    expect(running).to_have_text("4", timeout=15_000)
    expect(page.locator(".title .pill")).to_have_text("complete", timeout=60_000)
    expect(page.get_by_label("Figures")).to_contain_text("60 of 60")
    expect(page.get_by_label("Failures by kind")).to_contain_text("ValueError")
    run.process.wait(20)


def test_a_run_is_paused_gone_on_with_and_cancelled_from_the_page(going, serve, look, tmp_path):
    run = going(400)
    watched = look(serve(tmp_path / "runs"), "/run?run=live")
    page = watched.page
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".title .pill")).to_have_text("paused", timeout=10_000)
    until(lambda: (live := read_live(run.run)) and live.count == 0)
    before = done(run.run)
    time.sleep(1)
    assert done(run.run) == before
    page.get_by_role("button", name="Go on").click()
    until(lambda: done(run.run) > before)
    watched.answers = [False, True]  # first thought better of it
    page.get_by_role("button", name="Cancel").click()
    assert run.process.poll() is None
    page.get_by_role("button", name="Cancel").click()
    assert run.process.wait(20) == 130
    expect(page.locator(".title .pill")).to_have_text("unfinished", timeout=10_000)


def test_failed_tasks_are_run_again_from_the_page(going, serve, look, tmp_path):
    run = going(20, per_worker=8)
    run.process.wait(60)
    (tmp_path / "mended").touch()
    watched = look(serve(tmp_path / "runs"), "/run?run=live")
    watched.answers = [True]
    watched.page.get_by_role("button", name="Run failed again").click()
    page = watched.page
    expect(page.get_by_label("Failures by kind")).to_contain_text("None.", timeout=40_000)
    with open_run(run.run) as opened:
        assert opened.counts() == {"success": 20}
        assert len(opened.earlier("t7")) == 1
    watched.go("/task?run=live&task=t7")
    page.get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("no sevens")


def test_what_cannot_be_done_is_said(client, tmp_path):
    scenes.many_tasks(tmp_path / "runs" / "over", 5)
    known = client(tmp_path / "runs")
    for action, words in (("pause", "nobody runs"), ("cancel", "nobody runs"), ("x", "no action")):
        found = known.post("/api/act", json={"run": "over", "action": action})
        assert found.status_code == 422
        assert words in found.json()["error"]
    assert known.post("/api/act", json={"run": "over", "action": "retry"}).status_code == 200
    started = until(
        lambda: (
            (now := known.get("/api/now?run=over").json()["started"]) and not now["going"] and now
        )
    )
    assert started["code"] != 0
    assert "exact_match" in started["said"]


def test_a_cancel_is_said_to_be_going_on_and_a_second_is_another_action(going, client, tmp_path):
    (tmp_path / "slow").touch()
    run = going(40)
    known = client(tmp_path / "runs")

    def act(action):
        return known.post("/api/act", json={"run": "live", "action": action})

    def now():
        return known.get("/api/now?run=live").json()

    assert now()["cancelling"] is False
    assert act("cancel").status_code == 200
    assert now()["cancelling"] is True
    assert (now()["left"], run.process.poll()) == (None, None)
    again = act("cancel")
    assert again.status_code == 422
    assert "`stop` ends what runs, too" in again.json()["error"]
    until(lambda: (live := read_live(run.run)) and live.cancelling)
    assert now()["running_count"] == 4
    assert "stops now" in act("stop").json()["said"]
    assert run.process.wait(10) == 130
    assert now()["cancelling"] is False


def test_a_run_is_stopped_at_once_without_a_cancel_before(going, client, tmp_path):
    (tmp_path / "slow").touch()
    run = going(40)
    asked = {"run": "live", "action": "stop"}
    assert client(tmp_path / "runs").post("/api/act", json=asked).status_code == 200
    assert run.process.wait(10) == 130


def test_only_what_could_not_be_run_again_is_told_and_not_for_ever(going, client, tmp_path):
    run = going(8, per_worker=8)
    run.process.wait(60)
    known = client(tmp_path / "runs")

    def ended():
        """How it ended: the last that is told."""
        told = until(lambda: known.get("/api/now?run=live").json())["started"]
        return told is None or (not told["going"] and told)

    def retry():
        assert known.post("/api/act", json={"run": "live", "action": "retry"}).status_code == 200
        return until(ended)

    assert retry() is True  # t7 has failed once more
    with open_run(run.run) as opened:
        assert len(opened.earlier("t7")) == 1
    agent = (tmp_path / "agents.py").read_text()
    (tmp_path / "agents.py").unlink()
    assert retry()["code"] == 2
    (tmp_path / "agents.py").write_text(agent)
    (tmp_path / "mended").touch()
    again = [sys.executable, "-m", "aworld", "resume", "live", "--retry", "failed", "-q"]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True).returncode == 0
    assert ended() is True


def test_a_training_is_not_resumed_from_the_page(client, serve, look, tmp_path):
    scenes.training(scenes.many_tasks(tmp_path / "lesson", 50))
    known = client(tmp_path)
    for action in ("resume", "retry"):
        found = known.post("/api/act", json={"run": "lesson", "action": action})
        assert found.status_code == 422
        assert "aworld train CONFIG --resume" in found.json()["error"]
    assert known.get("/api/now?run=lesson").json()["started"] is None
    page = look(serve(tmp_path), "/run?run=lesson").page
    expect(page.get_by_role("link", name="Training")).to_be_visible()
    expect(page.get_by_label("Failures by kind")).to_contain_text("Error")
    expect(page.locator(".actions button")).to_have_count(0)


def test_a_training_that_is_cancelled_is_said_to_break_off_its_step(client, tmp_path):
    scenes.training(scenes.many_tasks(tmp_path / "lesson", 5))
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom aworld.store.lock import RunLock\n"
        f"RunLock(Path({str(tmp_path / 'lesson')!r}))\nprint('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    trainer = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert trainer.stdout.readline().strip() == "held"
        asked = {"run": "lesson", "action": "cancel"}
        said = client(tmp_path).post("/api/act", json=asked).json()["said"]
        assert "was asked to stop: it breaks off its step" in said
        assert trainer.wait(20) != 0
    finally:
        trainer.kill()
        trainer.wait()
        trainer.stdout.close()


def test_the_page_comes_back_when_its_server_does(look, tmp_path):
    scenes.many_tasks(tmp_path / "runs" / "first", 5)
    command = [sys.executable, "-m", "aworld", "view", "runs", "--no-browser", "--port"]

    def start(port):
        process = subprocess.Popen(
            [*command, str(port)], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        return process, process.stdout.readline().strip()

    process, url = start(0)
    try:
        where = httpx.URL(url)

        class Elsewhere:
            port, key = where.port, where.fragment.removeprefix("key=")

        page = look(Elsewhere, "/", expected="net::ERR_").page
        expect(page.locator("tbody tr")).to_have_count(1)
        process.kill()
        process.wait()
        process.stdout.close()
        expect(page.locator("#connection")).to_have_text("reconnecting…", timeout=10_000)
        scenes.many_tasks(tmp_path / "runs" / "second", 5)
        process, again = start(where.port)
        assert again == url
        expect(page.locator("tbody tr")).to_have_count(2, timeout=20_000)
        expect(page.locator("#connection")).to_have_text("")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_page_is_told_when_the_key_is_another_one(serve, look, tmp_path, monkeypatch):
    scenes.many_tasks(tmp_path / "runs" / "first", 5)
    server = serve(tmp_path / "runs")
    page = look(server, "/", expected="ERR_|401").page
    server.stop()
    monkeypatch.setenv("AWORLD_VIEW_KEY", "quite-another-key-5678")
    again = serve(tmp_path / "runs", port=server.port)
    words = "locked: open the new link"
    expect(page.locator("#connection")).to_have_text(words, timeout=15_000)
    page.goto(again.url)
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("harm", ["cut", "flipped", "nonsense", "gone"])
def test_a_broken_store_is_said_to_be_broken_and_the_rest_is_shown(serve, look, tmp_path, harm):
    for name in ("first", "sound"):
        scenes.many_tasks(tmp_path / name, 300)
    file = tmp_path / "first" / "run.db"
    content = bytearray(file.read_bytes())
    if harm == "cut":
        file.write_bytes(content[: len(content) // 3])
    elif harm == "flipped":
        middle = len(content) // 2
        content[middle : middle + 30_000] = b"\xff" * 30_000
        file.write_bytes(content)
    elif harm == "nonsense":
        file.write_bytes(b"no database at all" * 500)
    watched = look(serve(tmp_path), "/", expected="404|422|500")
    page = watched.page
    expect(page.locator("tbody tr")).to_have_count(2)
    if harm == "gone":
        for part in (tmp_path / "first").iterdir():
            part.unlink()
        expect(page.locator("tbody tr")).to_have_count(1, timeout=10_000)
    watched.go("/run?run=first")
    words = "there is no run" if harm == "gone" else "damaged"
    expect(page.get_by_role("alert").first).to_contain_text(words)
    watched.go("/run?run=sound")
    expect(page.get_by_label("Figures")).to_contain_text("300 of 300")


def test_a_view_ends_with_whoever_opened_it(tmp_path):
    scenes.many_tasks(tmp_path / "run", 3)
    program = (
        "import sys, time\nfrom aworld.view import open_view\n"
        f"view = open_view({str(tmp_path / 'run')!r}, port=0)\nprint(view.url, flush=True)\n"
        "time.sleep(60)\n"
    )
    opener = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    url = opener.stdout.readline().strip()
    assert httpx.get(url.partition("/run")[0]).status_code == 200
    os.kill(opener.pid, signal.SIGKILL)
    opener.wait()
    opener.stdout.close()

    def is_gone():
        try:
            httpx.get(url.partition("/run")[0])
        except httpx.TransportError:
            return True
        return False

    until(is_gone, 10)


def test_a_view_beside_a_run_ends_at_once_and_quietly_while_a_page_listens(tmp_path, capfd):
    scenes.many_tasks(tmp_path / "run", 3)
    with open_view(tmp_path / "run", port=0) as view:
        base = view.url.partition("/run")[0]
        with httpx.Client(base_url=base) as page:
            page.post("/api/login", json={"key": view.url.rpartition("=")[2]})
            with page.stream("GET", "/api/events?run=run") as stream:
                lines = stream.iter_lines()
                assert next(lines) == "event: run"
                asked = time.monotonic()
                view.close()
                assert time.monotonic() - asked < STOP_SECONDS  # it waited for nobody
                list(lines)
    assert capfd.readouterr().err == ""


def test_a_view_can_be_opened_for_a_run_that_is_yet_to_come(tmp_path):
    with open_view(tmp_path / "later", port=0) as view:
        assert "/run?run=later#key=" in view.url
        base = view.url.partition("/run")[0]
        with httpx.Client(base_url=base) as known:
            known.post("/api/login", json={"key": view.url.rpartition("=")[2]})
            assert known.get("/api/runs").json()["runs"] == []
            scenes.many_tasks(tmp_path / "later", 3)
            assert [run["id"] for run in known.get("/api/runs").json()["runs"]] == ["later"]


def test_a_page_waits_for_a_run_that_is_yet_to_come(serve, look, tmp_path):
    server = serve(tmp_path / "later")
    page = look(server, "/run?run=later", expected="404").page
    expect(page.get_by_role("alert")).to_contain_text("there is no run 'later'")
    scenes.many_tasks(tmp_path / "later", 3)
    expect(page.get_by_label("Figures")).to_contain_text("3 of 3", timeout=10_000)


def test_a_port_that_is_taken_is_said_to_be(tmp_path):
    with ViewServer(tmp_path, port=0) as server:
        with pytest.raises(ConfigError, match="cannot listen"):
            open_view(tmp_path, port=server.port)
        with ViewServer(tmp_path) as other:
            assert other.port


def test_a_view_writes_nothing_into_a_run(serve, tmp_path):
    scenes.many_tasks(tmp_path / "run", 200)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    server = serve(tmp_path)
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as known:
        known.post("/api/login", json={"key": server.key})
        for place in ("runs", "run", "tasks", "bars", "labels", "rollout", "group", "now"):
            assert known.get(f"/api/{place}?run=run&slot=1").status_code == 200
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    assert {path.name for path in after} - {path.name for path in before} <= {
        "run.db-shm",
        "run.db-wal",
    }
    assert after[tmp_path / "run" / "run.db"] == before[tmp_path / "run" / "run.db"]
