"""`aworld serve`: a model behind a URL, for agents that are run by anybody who has the key."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld.cli.options import option

if TYPE_CHECKING:
    from aworld.policies.base import Policy
    from aworld.serve.server import PolicyServer

NEEDS = ("torch", "safetensors", "starlette", "uvicorn")


def serve(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A folder (RUN/checkpoints/step-000100/policy), a .gguf file, a name of Hugging "
            "Face, smollm2 or byte.",
            show_default=False,
        ),
    ],
    host: Annotated[
        str, typer.Option("--host", help="Where it listens; 0.0.0.0: to other machines, too.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")
    ] = 8000,
    key: Annotated[
        str | None, option("--key", "What callers must know. Left out: one is made up.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        option("--allowed-host", "A further name that it is called by, behind a proxy."),
    ] = None,
    max_batch: Annotated[
        int, typer.Option("--max-batch", min=1, help="Requests that are decoded together.")
    ] = 256,
    context_tokens: Annotated[
        int | None, option("--context-tokens", "The longest prompt and reply.", min=1)
    ] = None,
    chat_template: Annotated[
        str | None, option("--chat-template", "In the place of the model's own.")
    ] = None,
    device: Annotated[str | None, option("--device", "cpu, cuda, cuda:1.")] = None,
    threads: Annotated[
        int | None, option("--threads", "How many torch may use, on a CPU.", min=1)
    ] = None,
) -> int:
    """Serve a model with OpenAI's chat completions, until Ctrl-C."""
    from aworld.cli.stopping import sigterm_as_ctrl_c

    _check_installed()
    _check_there(model)
    from aworld.policies import open_policy
    from aworld.serve.server import PolicyServer

    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    options = {
        "context_tokens": context_tokens,
        "chat_template": chat_template,
        "device": device,
    }
    with sigterm_as_ctrl_c():
        policy = open_policy(
            model, **{name: value for name, value in options.items() if value is not None}
        )
        server = PolicyServer(
            policy,
            host=host,
            port=port,
            key=key,
            allowed_hosts=allowed_host or (),
            max_batch=max_batch,
        )
        with server:
            _introduce(policy, server)
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                _say("stopped")
    return 0


def _check_installed() -> None:
    from aworld.errors import ConfigError

    if any(find_spec(package) is None for package in NEEDS):
        raise ConfigError("serving a model needs: pip install 'aworld[serve]'")


def _check_there(model: str) -> None:
    """A mistyped path is not looked for at Hugging Face, whose names are `name` or `owner/name`."""
    from aworld.errors import ConfigError

    owner, mark, rest = model.partition("/")
    is_path = model.startswith(("./", "../", "/", "~")) or "/" in rest
    if Path(model).exists() or model.endswith(".gguf"):
        return
    if is_path or (mark and Path(owner).is_dir()):
        raise ConfigError(f"there is no folder {model!r}")


def _introduce(policy: Policy, server: PolicyServer) -> None:
    """All that one needs to know to ask it."""
    _say(f"serving {policy.name!r} (version {policy.version}) on {policy.device}")
    _say(f"  LLM_BASE_URL={server.url}/v1")
    _say(f"  LLM_MODEL_NAME={policy.name}")
    _say(f"  LLM_API_KEY={server.key}")


def _say(line: str) -> None:
    print(line, flush=True)  # a program may wait for it
