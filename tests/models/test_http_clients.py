"""The clients of models behind a URL: not in anybody's way, and gone with their event loop."""

from __future__ import annotations

import subprocess
import sys
import textwrap

SERVED = """
import asyncio, sys, threading
import torch
torch.set_num_threads(1)
from aworld.models.base import ModelRequest
from aworld.models.openai_model import OpenAIModel
from aworld.policies import ByteConfig, BytePolicy
from aworld.serve import PolicyServer

server = PolicyServer(BytePolicy(ByteConfig(width=32, layers=1, heads=2, inner=64))).start()
model = OpenAIModel("byte", base_url=f"{server.url}/v1", api_key=server.key)
asked = ModelRequest([{"role": "user", "content": "a"}], settings={"max_tokens": 2})
"""


def run(script: str) -> None:
    """Every warning is told, also of what was left open."""
    code = SERVED + textwrap.dedent(script)
    command = [sys.executable, "-W", "default", "-W", "ignore::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_nothing_is_left_open_when_an_event_loop_ends():
    run(
        """
        import gc

        async def ask():
            await asyncio.gather(*(model.complete(asked) for _ in range(20)))

        for _ in range(3):
            asyncio.run(ask())
            gc.collect()
        server.stop()
        gc.collect()
        print("done")
        """
    )


def test_nothing_is_left_open_by_workers_in_this_process():
    run(
        """
        import gc
        from aworld import Agent, RunConfig, Runners, Task

        agent = Agent("a", model=model, max_steps=1)
        for _ in range(3):
            tasks = [Task("q", agent) for _ in range(4)]
            Runners.sync_run_task(tasks, RunConfig(worker_num=0))
            gc.collect()
        server.stop()
        gc.collect()
        print("done")
        """
    )


def test_the_first_call_imports_nothing_in_the_event_loop():
    run(
        """
        found = []

        class Watch:
            def find_spec(self, name, path=None, target=None):
                if threading.current_thread() is threading.main_thread():
                    found.append(name)

        async def ask():
            assert "openai" not in sys.modules
            await asyncio.to_thread(print, end="")
            sys.meta_path.insert(0, Watch())
            await model.complete(asked)
            sys.meta_path.pop(0)

        asyncio.run(ask())
        server.stop()
        ours = ("openai", "pydantic", "httpx", "httpcore", "anyio", "h11")
        print([name for name in found if name.startswith(ours)] or "done")
        """
    )
