"""`aworld serve`: what it says is all that one needs to use it."""

from __future__ import annotations

import subprocess
import sys
import threading

import openai
import pytest

from aworld.errors import ConfigError
from aworld.policies import BytePolicy
from aworld.serve.command import serve_command


def test_what_it_says_is_enough_to_ask_it(tmp_path):
    BytePolicy(seed=3).save(tmp_path / "mine")
    said, ready, stop = [], threading.Event(), threading.Event()

    def say(line):
        said.append(line)
        if "LLM_API_KEY" in line:
            ready.set()

    options = {"port": 0, "say": say, "until": stop}
    serving = threading.Thread(target=serve_command, args=[str(tmp_path / "mine")], kwargs=options)
    serving.start()
    assert ready.wait(60)
    told = dict(line.strip().split("=", 1) for line in said[1:])
    with openai.OpenAI(base_url=told["LLM_BASE_URL"], api_key=told["LLM_API_KEY"]) as client:
        messages = [{"role": "user", "content": "hello"}]
        reply = client.chat.completions.create(
            model=told["LLM_MODEL_NAME"], messages=messages, max_tokens=3
        )
    assert reply.usage.completion_tokens <= 3
    stop.set()
    serving.join(30)
    assert not serving.is_alive()


def test_what_the_byte_model_has_not_is_refused():
    with pytest.raises(ConfigError, match="the byte model has no device"):
        serve_command("byte", device="cuda")


def test_a_folder_that_holds_no_model_is_told(tmp_path):
    with pytest.raises(ConfigError, match="no model can be loaded from"):
        serve_command(str(tmp_path))


def test_neither_torch_nor_starlette_is_imported_with_aworld():
    code = (
        "import sys, aworld, aworld.policies, aworld.serve, aworld.serve.command; "
        "print({'torch', 'starlette', 'uvicorn', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
