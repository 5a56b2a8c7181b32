"""`aworld serve`: what it says is enough to ask it; Ctrl-C ends it; bad input is refused."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import openai
import pytest
from tiny_lesson import told_by

from aworld.policies import ByteConfig, BytePolicy

TINY = ByteConfig(width=32, layers=1, heads=2, inner=64)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_a_saved_model_until_it_is_told_to_stop(shell, number):
    BytePolicy(TINY, seed=3).save(shell.folder / "mine")
    process = shell.start("serve", "mine", "--port", "0", "--key", "sesame", "--threads", "1")
    assert process.stdout is not None
    first, *told = [process.stdout.readline() for _ in range(4)]
    assert first == "serving 'byte' (version 0) on cpu\n"
    where = dict(line.strip().split("=", 1) for line in told)
    assert where["LLM_API_KEY"] == "sesame"
    with openai.OpenAI(base_url=where["LLM_BASE_URL"], api_key="sesame") as client:
        reply = client.chat.completions.create(
            model=where["LLM_MODEL_NAME"],
            messages=[{"role": "user", "content": "hello"}],
            max_tokens=3,
        )
    assert reply.usage is not None
    assert reply.usage.completion_tokens <= 3
    process.send_signal(number)
    told, said = process.communicate(timeout=20)
    assert (process.returncode, told, said) == (0, "stopped\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mine", "--device", "cpu"), "the model 'mine' has no device: leave it out"),
        (("byte", "--chat-template", "hermes"), "the byte model has no chat_template"),
        (("byte", "--device", "cuda"), "the byte model has no device"),
        (("empty",), "no model can be loaded from 'empty'"),
        (("none.gguf",), "there is no model file"),
        (("runs/x/polcy",), "there is no folder 'runs/x/polcy'"),
        (("mine/polcy",), "there is no folder 'mine/polcy'"),
        (("./polcy",), "there is no folder './polcy'"),
        (("mine", "--port", "70000"), "less than or equal to 65535"),
        (("mine", "--threads", "0"), "greater than or equal to 1"),
        (("mine", "--key", " "), "key must be printable ASCII text"),
        (("mine", "--port", "taken"), "cannot listen on 127.0.0.1"),
        ((), "Missing argument 'MODEL'"),
    ],
)
def test_bad_input_is_refused_in_one_line(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    BytePolicy(TINY).save(tmp_path / "mine")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [port if one == "taken" else one for one in arguments]
        told, error = told_by(capsys, "serve", *given, code=2)
    assert told == ""
    assert said in error
    assert len(error.splitlines()) == 1
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_neither_torch_nor_starlette_is_imported_with_aworld():
    code = (
        "import sys, aworld, aworld.policies, aworld.serve, aworld.cli.serve; "
        "print({'torch', 'starlette', 'uvicorn', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
