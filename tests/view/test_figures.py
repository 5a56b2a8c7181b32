"""What the figures of a run say, while it goes and where it cannot be read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import scenes
from playwright.sync_api import expect

from aworld import open_run
from aworld.core.task import TaskResponse
from aworld.errors import StoreError
from aworld.store import schema
from aworld.store.live import write_live
from aworld.store.lock import RunLock
from aworld.store.overview import runs_in
from aworld.store.writer import Finished, RunWriter


@pytest.fixture
def forbidden(monkeypatch):
    """As it is for somebody who is not root."""

    def forbid(place):
        is_file, access = Path.is_file, os.access

        def refuse(path, *args, **options):
            if path.is_relative_to(place) and path != place:
                raise PermissionError(13, "Permission denied", str(path))
            return is_file(path, *args, **options)

        def may(path, *args, **options):
            return Path(path) != place and access(path, *args, **options)

        if place.is_dir():
            monkeypatch.setattr(Path, "is_file", refuse)
        else:
            monkeypatch.setattr(os, "access", may)

    return forbid


@pytest.mark.parametrize("what", ["closed", "closed/run.db"])
def test_a_run_that_may_not_be_read_is_listed_as_such_beside_the_others(
    client, tmp_path, forbidden, what
):
    for name in ("closed", "open"):
        scenes.many_tasks(tmp_path / name, 3)
    known = client(tmp_path)
    forbidden(tmp_path / what)
    runs = {run["id"]: run for run in known.get("/api/runs").json()["runs"]}
    assert runs["closed"]["error"] == f"no permission to read {tmp_path / what}"
    assert runs["open"]["done"] == 3
    said = known.get("/api/run?run=closed")
    assert said.status_code == 422
    assert "no permission" in said.json()["error"]
    assert "--repair" not in said.json()["error"]
    with pytest.raises(StoreError, match="no permission to read"):
        schema.require(tmp_path / "closed")
    assert [run.name for run in runs_in(tmp_path)] == ["closed", "open"]


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root")
def test_a_closed_folder_keeps_nobody_from_the_other_runs(tmp_path):
    for name in ("closed", "open"):
        scenes.many_tasks(tmp_path / name, 3)
    (tmp_path / "closed").chmod(0)
    program = (
        "import sys; from pathlib import Path\n"
        "from aworld.view import figures; from aworld.view.library import Library\n"
        "library = Library(Path.cwd())\n"
        "for name in library.names():\n"
        "    found = figures.summed_up(library, name); print(name, found.get('error', 'sound'))\n"
    )
    # The folders above belong to root: they are entered before that is given up.
    words = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--reuid=65534", sys.executable]
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == 0 and place != Path("/tmp") and "pytest" in str(place):
            place.chmod(0o755)
    done = subprocess.run([*words, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    if "Permission denied" in done.stderr:
        pytest.skip("python itself may be read by root only")
    assert f"closed no permission to read {tmp_path / 'closed'}" in done.stdout, done.stderr
    assert "open " in done.stdout


def test_the_reward_is_that_of_the_command_line_everywhere(client, serve, look, tmp_path):
    scenes.many_tasks(tmp_path / "run", 400)
    listed = subprocess.run(
        [sys.executable, "-m", "aworld", "ls", ".", "--json"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    (line,) = json.loads(listed.stdout)["runs"]
    with open_run(tmp_path / "run") as run:
        rewards = [row.reward for row in run.results()]
        summary = run._repr_html_()
    assert None in rewards
    mean = sum(reward or 0.0 for reward in rewards) / 400
    assert line["reward"] == pytest.approx(mean)
    assert f"{mean:.3f} (exact_match)" in summary
    known = client(tmp_path)
    (listed,) = known.get("/api/runs").json()["runs"]
    found = known.get("/api/run?run=run").json()
    assert listed["reward"] == found["reward"] == line["reward"]
    points = found["series"]["points"]
    assert sum(point[5] for point in points) / sum(point[4] for point in points) == pytest.approx(
        mean
    )
    words = f"{mean:.3f}".rstrip("0")
    watched = look(serve(tmp_path))
    page = watched.page
    expect(page.locator(".c-reward .reward")).to_have_text(words)
    watched.go("/run?run=run")
    expect(page.locator(".fact", has_text="Reward").locator(".reward")).to_have_text(words)
    expect(page.locator("figure", has_text="Reward").locator(".values")).to_have_text(words)
    watched.go("/compare?first=run&second=run")
    expect(page.get_by_label("the first run")).to_contain_text(f"run ({words})")
    expect(page.locator(".fact", has_text="Mean reward")).to_contain_text(words)


def test_a_finished_run_has_its_overall_pace_and_what_ran_at_once(client, tmp_path):
    scenes.many_tasks(tmp_path / "run", 500)
    known = client(tmp_path)
    run = known.get("/api/run?run=run").json()
    assert run["rate"] == pytest.approx(500 / (run["ended"] - run["began"]))
    assert run["at_once"]["most"] == scenes.WORKERS * scenes.SLOTS
    with open_run(tmp_path / "run") as opened:
        mean = run["at_once"]["mean"]
        assert f"up to 32 at once, {mean:.1f} on average" in opened.timeline().svg
    now = known.get("/api/now?run=run").json()
    assert (now["rate"], now["left"], now["cancelling"]) == (None, None, False)


TWO_SPANS = [  # ten seconds with two at once, an hour of nothing, ten seconds more
    (0, at + 5.0 * n, 5.0, "failed" if at and n else "success")
    for at in (0.0, 3_010.0)
    for n in (0, 1)
    for _ in range(2)
]


def test_time_in_which_nobody_ran_the_run_does_not_count(client, serve, look, tmp_path):
    scenes.at_times(tmp_path / "run", TWO_SPANS)
    known = client(tmp_path)
    run = known.get("/api/run?run=run").json()
    assert run["idle"] == pytest.approx(3_000)
    assert run["rate"] == pytest.approx(8 / 20)
    assert run["at_once"] == {"most": 2, "mean": pytest.approx(2)}
    series = run["series"]
    assert series["step"] * series["count"] == pytest.approx(20)
    assert [point[1] for point in series["points"]] == [2, 2, 2, 2]
    with open_run(tmp_path / "run") as opened:
        drawn = opened.timeline().svg
    assert "up to 2 at once, 2.0 on average; 3,000 s in which nothing ran are left out" in drawn
    assert ">20 s</text>" in drawn
    page = look(serve(tmp_path), "/run?run=run").page
    expect(page.locator(".fact", has_text="Time").locator(".value")).to_have_text("20 s")
    timeline = page.get_by_label("Timeline", exact=True)
    expect(timeline).to_contain_text("2 on average; 50m 00s in which nothing ran left out")
    label = page.locator("canvas[role=img]").first.get_attribute("aria-label")
    assert label.startswith("Timeline of 8 tasks over 20 s")
    page.goto(page.url.partition("/run")[0])
    expect(page.locator(".c-seconds").last).to_have_text("20 s")


def test_while_a_run_is_gone_on_with_the_break_before_does_not_count(client, tmp_path):
    folder = scenes.at_times(tmp_path / "run", TWO_SPANS[:4], total=8)
    lock = RunLock(folder)
    try:
        run = client(tmp_path).get("/api/run?run=run").json()
        assert run["idle"] == pytest.approx(time.time() - run["ended"], abs=20)
        assert run["rate"] == pytest.approx(4 / 10)
    finally:
        lock.release()


def test_where_the_tasks_come_one_by_one_no_time_is_left_out(client, tmp_path):
    scenes.at_times(tmp_path / "run", [(0, 60.0 * n, 1.0, "success") for n in range(30)])
    run = client(tmp_path).get("/api/run?run=run").json()
    assert (run["idle"], run["rate"]) == (0, pytest.approx(30 / 1_741))


def test_results_that_were_given_up_had_run(client, tmp_path):
    times = [(0, 0.0, 1.0, "success"), (0, 1.0, 20.0, "failed")]
    folder = scenes.at_times(tmp_path / "run", times)
    writer = RunWriter.open(folder)
    again = TaskResponse("q1", "1", "success", time_cost=1.0, worker=0, began=time.time() - 1)
    writer.record([Finished(1, again, 1)])
    writer.close()
    run = client(tmp_path).get("/api/run?run=run").json()
    assert run["ended"] - run["began"] - run["idle"] == pytest.approx(22, abs=0.1)


def test_a_live_run_has_the_pace_of_the_last_seconds_and_none_when_it_is_paused(client, tmp_path):
    folder = scenes.many_tasks(tmp_path / "run", 1_000)
    lock = RunLock(folder)
    try:
        hour_ago = time.time() - 3_000
        os.utime(folder / "run.lock", (hour_ago, hour_ago))
        connection = schema.open_to_write(folder)
        connection.execute("update results set ended = ? - slot / 5.0", (time.time(),))
        connection.execute("update meta set value = '1053' where key = 'total'")
        connection.close()
        write_live(folder, [], paused=False)
        known = client(tmp_path)
        now = known.get("/api/now?run=run").json()
        assert now["rate"] == pytest.approx(5, rel=0.15)
        write_live(folder, [], paused=True)
        paused = known.get("/api/now?run=run").json()
        assert (paused["rate"], paused["left"]) == (0, None)
    finally:
        lock.release()


def test_an_unknown_page_is_one_of_ours_and_says_404(client, tmp_path):
    scenes.many_tasks(tmp_path / "run", 3)
    known = client(tmp_path)
    found = known.get("/bogus")
    assert found.status_code == 404
    assert found.headers["content-type"].startswith("text/html")
    assert known.get("/api/bogus").headers["content-type"] == "application/json"
    nameless = known.get("/api/run")
    assert nameless.status_code == 400
    assert nameless.json()["error"] == "which run? The address must name it: ?run=..."
