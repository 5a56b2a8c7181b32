"""`aworld serve MODEL`: a policy behind a URL, until Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from aworld.config import check_count
from aworld.errors import ConfigError

NEEDS = ("torch", "safetensors", "starlette", "uvicorn")


def serve_command(
    model: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    key: str | None = None,
    allowed_hosts: Sequence[str] = (),
    max_batch: int = 256,
    context_tokens: int | None = None,
    chat_template: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    say: Callable[[str], None] = print,
    until: threading.Event | None = None,
) -> None:
    """Says where it listens and with which key, then serves until `until` is set or Ctrl-C."""
    if any(find_spec(package) is None for package in NEEDS):
        raise ConfigError("serving a model needs: pip install 'aworld[serve]'")
    from aworld.policies import open_policy
    from aworld.serve.server import PolicyServer

    options: dict[str, Any] = {
        "context_tokens": context_tokens,
        "chat_template": chat_template,
        "device": device,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if threads is not None:
        import torch

        check_count("threads", threads, least=1)
        torch.set_num_threads(threads)
    policy = open_policy(model, **given)
    server = PolicyServer(
        policy, host=host, port=port, key=key, allowed_hosts=allowed_hosts, max_batch=max_batch
    )
    with server:
        say(f"serving {policy.name!r} (version {policy.version}) on {policy.device}")
        say(f"  LLM_BASE_URL={server.url}/v1")
        say(f"  LLM_MODEL_NAME={policy.name}")
        say(f"  LLM_API_KEY={server.key}")
        try:
            (until or threading.Event()).wait()
        except KeyboardInterrupt:
            say("stopped")
