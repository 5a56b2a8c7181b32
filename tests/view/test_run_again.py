"""A run that is gone on with: what is owed again, how fast it goes, how long it takes."""

from __future__ import annotations

import os
import signal
import time

import pytest
import scenes
from playwright.sync_api import expect
from waiting import until

from aworld import RunConfig, Runners, Task
from aworld.store import lock, schema
from aworld.store.live import RunningTask, read_live, write_live


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


def test_what_is_run_again_from_a_shell_is_owed_too(client, tmp_path):
    folder = scenes.many_tasks(tmp_path / "run", 50)
    held = lock.RunLock(folder)
    try:
        connection = schema.open_to_write(folder)
        connection.execute("update results set status = 'success'")
        connection.execute("update results set status = 'failed' where slot < 20")
        connection.execute("update results set ended = ? where slot < 9", (time.time() + 1,))
        connection.close()
        running = [RunningTask(13, 0, time.time())]
        write_live(folder, running, paused=False, retried=("failed", "crashed"))
        now = client(tmp_path).get("/api/now?run=run").json()
        assert now["again"] == {"failed": 11}  # nine have failed anew
        assert now["left"] == pytest.approx(11 / now["rate"])
        write_live(folder, running, paused=False)
        now = client(tmp_path).get("/api/now?run=run").json()
        assert (now["again"], now["left"]) == ({}, None)  # nothing is owed, and yet one runs
    finally:
        held.release()


def test_a_run_that_is_resumed_tells_what_it_tries_again(tmp_path):
    def agent(question):
        if not (tmp_path / "mended").exists():
            raise ValueError("not yet")
        while not (tmp_path / "sign").exists():
            time.sleep(0.01)

    conf = RunConfig(worker_num=0, tasks_per_worker=2, run_dir=tmp_path / "run")
    tasks = [Task(n, agent, id=f"t{n}") for n in range(2)]
    Runners.sync_run_task(tasks, conf)
    (tmp_path / "mended").touch()
    with Runners.stream_owed(tmp_path / "run", tasks, retry=["failed"]) as stream:
        stream.open()
        live = until(lambda: read_live(tmp_path / "run"))
        (tmp_path / "sign").touch()
        assert [response.status for response in stream] == ["success"] * 2
    assert live.retried == ("failed",)


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
