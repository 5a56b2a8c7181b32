"""`aworld view` and `aworld run --view`, from the shell."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import httpx
import pytest
import scenes

from aworld.view.server import ViewServer
from aworld.web.listening import STOP_SECONDS

AGENT = "async def echo(question):\n    return question\n"


def aworld(folder, *words, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "aworld", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def here(tmp_path):
    (tmp_path / "agents.py").write_text(AGENT)
    rows = [{"id": f"t{n}", "question": f"q{n}", "answer": f"q{n}"} for n in range(5)]
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def test_the_command_prints_a_link_with_the_key_and_ends_with_ctrl_c(tmp_path):
    scenes.many_tasks(tmp_path / "runs" / "first", 5)
    view = subprocess.Popen(
        [sys.executable, "-m", "aworld", "view", "runs/first", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    url = view.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/run\?run=first#key=[\w-]+", url)
    assert httpx.get(url.partition("#")[0]).status_code == 200
    view.send_signal(signal.SIGINT)
    said = view.communicate(timeout=20)[1]
    assert view.returncode == 0
    assert "Ctrl-C" in said


def test_a_port_that_is_taken_is_said_with_what_to_do(tmp_path):
    scenes.many_tasks(tmp_path / "runs" / "first", 5)
    with ViewServer(tmp_path / "runs") as first:  # on the usual port, or that is taken already
        said = aworld(tmp_path, "view", "runs", "--port", str(first.port), code=2).stderr
        assert "choose another port, or none: then one is found that is free" in said
        view = subprocess.Popen(
            [sys.executable, "-m", "aworld", "view", "runs"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        port = httpx.URL(view.stdout.readline().strip()).port
        told = view.stderr.readline().strip()
        view.send_signal(signal.SIGINT)
        view.communicate(timeout=20)
    assert told == f"port 8717 is taken, by another view perhaps: this one has {port}"


def test_a_run_with_a_view_says_where_and_ends_when_it_is_over(here):
    words = ["run", "tasks.jsonl", "--agent", "agents.py:echo", "--workers", "1", "--view"]
    done = aworld(here, *words, "--reward", "exact_match", "--out", "runs/a", "--json")
    assert json.loads(done.stdout)["done"] == 5
    (url,) = re.findall(r"see it: (\S+)", done.stderr)
    assert "/run?run=a#key=" in url
    assert done.stderr.splitlines()[-1] == "to see it again: aworld view runs/a"
    with pytest.raises(httpx.TransportError):
        httpx.get(url.partition("#")[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_view_ends_at_once_and_quietly_while_pages_listen(tmp_path, number):
    scenes.many_tasks(tmp_path / "runs" / "first", 5)
    notes = tmp_path / "state" / "aworld" / "views"
    notes.mkdir(parents=True)
    gone = subprocess.Popen(["true"])
    gone.wait()
    (notes / f"{gone.pid}.json").write_text("{}")  # of one that was killed
    view = subprocess.Popen(
        [sys.executable, "-m", "aworld", "view", "runs", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    url = httpx.URL(view.stdout.readline().strip())
    assert [note.stem for note in notes.iterdir()] == [str(view.pid)]
    with httpx.Client(base_url=f"http://127.0.0.1:{url.port}") as page:
        page.post("/api/login", json={"key": url.fragment.removeprefix("key=")})
        with (
            page.stream("GET", "/api/events") as of_list,
            page.stream("GET", "/api/events?run=first") as of_run,
        ):
            read = [of_list.iter_lines(), of_run.iter_lines()]
            assert [next(lines) for lines in read] == ["event: runs", "event: run"]
            asked = time.monotonic()
            view.send_signal(number)
            view.wait(20)
            assert time.monotonic() - asked < STOP_SECONDS  # it waited for nobody
            for lines in read:
                list(lines)  # to its end, and no error
    said = view.communicate()[1]
    assert view.returncode == 0
    assert len(said.splitlines()) == 1, said
    assert not list(notes.iterdir())


def test_a_run_is_exported_as_one_file(here):
    aworld(here, "run", "tasks.jsonl", "--agent", "agents.py:echo", "--workers", "1", "--out", "r")
    done = aworld(here, "view", "r", "--export", "report.html")
    assert "5 tasks: report.html" in done.stdout
    assert "<title>r · aworld</title>" in (here / "report.html").read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tasks.jsonl", "does not end in .html: name the file to write, as in --export"),
        ("r/run.db", "does not end in .html"),
        ("r/blobs/report.html", "lies inside the run"),
        ("mine.html", "no export of ours: remove it, or choose another name"),
        ("folder.html", "no export of ours"),
        ("nowhere/report.html", "there is no folder 'nowhere': make it first"),
    ],
)
def test_an_export_writes_over_nothing_but_an_export(here, name, said):
    scenes.many_tasks(here / "r", 3)
    (here / "r" / "blobs").mkdir(exist_ok=True)
    (here / "folder.html").mkdir()
    (here / "mine.html").write_text("<!doctype html>\n<html>my own page</html>\n")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    told = aworld(here, "view", "r", "--export", name, code=2).stderr
    assert said in told
    assert len(told.splitlines()) == 1
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_an_export_takes_the_place_of_an_earlier_one(here):
    for name, count in (("r", 3), ("s", 4)):
        scenes.many_tasks(here / name, count)
        done = aworld(here, "view", name, "--export", "report.html")
        assert f"{count} tasks: report.html" in done.stdout
    assert "<title>s · aworld</title>" in (here / "report.html").read_text()


def test_of_a_folder_with_runs_one_is_to_be_named(tmp_path):
    for name in ("first", "second"):
        scenes.many_tasks(tmp_path / "runs" / name, 1)
    said = aworld(tmp_path, "view", "runs", "--export", "a.html", code=2).stderr
    assert "a folder with 2 runs: name the one to export: `aworld view runs/first" in said
    assert "1 task: a.html" in aworld(tmp_path, "view", "runs/first", "--export", "a.html").stdout


def test_a_single_task_is_run_again_by_the_command_of_its_page(here):
    words = ("run", "tasks.jsonl", "--agent", "agents.py:echo", "--workers", "1", "--samples", "2")
    aworld(here, *words, "--out", "a")
    again = ("run", "--config", "a/config.toml", "--only", "t3", "--samples", "1", "--out", "b")
    done = aworld(here, *again, "--json")
    assert json.loads(done.stdout)["done"] == 1
    assert "there is no task 'zzz'" in aworld(here, *words, "--only", "zzz", code=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["view"], "there is no folder 'runs'; `aworld run` makes one"),
        (["view", "nowhere"], "there is no folder 'nowhere'"),
        (["view", "tasks.jsonl"], "'tasks.jsonl' is a file: name a run, or a folder with runs"),
        (["view", ".", "--export", "report.html"], "holds no run"),
        (["view", ".", "--port", "99999"], "port"),
        (["view", ".", "--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(here, words, said):
    done = aworld(here, *words, code=2)
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
