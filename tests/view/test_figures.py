"""What the figures of a run say, while it goes and where it cannot be read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import scenes

from aworld import open_run
from aworld.errors import StoreError
from aworld.store import schema
from aworld.store.live import write_live
from aworld.store.lock import RunLock
from aworld.store.overview import runs_in


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


def test_the_reward_is_the_mean_of_what_was_scored(client, tmp_path):
    scenes.many_tasks(tmp_path / "run", 400)
    with open_run(tmp_path / "run") as run:
        rewards = [row.reward for row in run.results() if row.reward is not None]
    assert len(rewards) < 400
    found = client(tmp_path).get("/api/run?run=run").json()
    assert found["scored"] == len(rewards)
    assert found["reward"] == pytest.approx(sum(rewards) / len(rewards))
    points = found["series"]["points"]
    drawn = sum(point[5] or 0 for point in points) / sum(point[4] for point in points)
    assert found["reward"] == pytest.approx(drawn)


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
