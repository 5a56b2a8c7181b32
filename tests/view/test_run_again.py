"""A run that is gone on with: what is owed again, how fast it goes, how long it takes."""

from __future__ import annotations

import os
import signal
import time

import pytest
import scenes
from playwright.sync_api import expect

from aworld.store import lock, schema
from aworld.store.live import RunningTask, write_live


def test_what_is_run_again_is_owed_until_its_new_result_is_there(
    going, serve, look, client, tmp_path
):
    run = going(20, per_worker=8)
    run.process.wait(60)
    (tmp_path / "slow").touch()  # t7 and t17 take 20 seconds now
    server = serve(tmp_path / "runs")
    watched = look(server, "/run?run=live")
    page = watched.page
    expect(page.get_by_label("Figures")).to_contain_text("20 of 20")
    watched.answers = [True]
    page.get_by_role("button", name="Run failed again").click()
    done = page.locator(".fact", has_text="Done")
    expect(done).to_contain_text("18 of 20", timeout=15_000)
    expect(done.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "18")
    running = page.locator(".fact", has_text="Running").locator(".value")
    expect(running).to_have_text("2", timeout=15_000)
    expect(page.locator(".fact", has_text="Time left")).not_to_contain_text("ms")
    again = lock.holder(run.run)["pid"]
    os.kill(again, signal.SIGKILL)
    alert = page.get_by_role("alert")
    words = "The resumed run was ended by signal 9. Run failed again goes on with it."
    expect(alert).to_contain_text(words, timeout=15_000)
    expect(alert).not_to_contain_text("could not be run again")
    expect(done).to_contain_text("20 of 20")


def test_a_run_that_runs_something_again_has_no_time_left_of_nothing(client, tmp_path):
    """It was started from a shell: how much is run again, nobody knows."""
    folder = scenes.many_tasks(tmp_path / "run", 50)
    held = lock.RunLock(folder)
    try:
        write_live(folder, [RunningTask(3, 0, time.time())], paused=False)
        connection = schema.open_to_write(folder)
        connection.execute("update results set ended = ? where slot < 9", (time.time(),))
        connection.close()
        now = client(tmp_path).get("/api/now?run=run").json()
        assert now["rate"] > 0
        assert now["left"] is None
    finally:
        held.release()


def test_a_pause_does_not_count_in_the_pace_nor_in_the_time_left(client, tmp_path):
    """Ten a second, a pause of 7 seconds, then ten a second again for 2."""
    times = [(0, 30.0 * n, 0.3, "success") for n in range(100)]
    folder = scenes.at_times(tmp_path / "run", times, total=300)
    known = client(tmp_path)
    held = lock.RunLock(folder)
    try:
        moment = time.time()
        os.utime(folder / "run.lock", (moment - 3_000, moment - 3_000))
        connection = schema.open_to_write(folder)
        ends = [moment - n / 10 - (0 if n < 20 else 7) for n in range(100)]
        for slot, ended in enumerate(ends):
            connection.execute("update results set ended = ? where slot = ?", (ended, slot))
        connection.close()
        write_live(folder, [RunningTask(100, 0, moment)], paused=False)
        now = known.get("/api/now?run=run").json()
        assert 5 < now["rate"] < 12  # with the pause it were 3
        assert now["left"] == pytest.approx(200 / now["rate"])
    finally:
        held.release()
