"""`aworld serve`: a model behind a URL, for agents that are run by anybody who has the key."""

from __future__ import annotations

import signal
from typing import Annotated, Any

import typer


def _option(name: str, help: str, **more: Any) -> Any:
    return typer.Option(name, help=help, show_default=False, **more)


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
        str | None, _option("--key", "What callers must know. Left out: one is made up.")
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        _option("--allowed-host", "A further name that it is called by, behind a proxy."),
    ] = None,
    max_batch: Annotated[
        int, typer.Option("--max-batch", min=1, help="Requests that are decoded together.")
    ] = 256,
    context_tokens: Annotated[
        int | None, _option("--context-tokens", "The longest prompt and reply.", min=1)
    ] = None,
    chat_template: Annotated[
        str | None, _option("--chat-template", "In the place of the model's own.")
    ] = None,
    device: Annotated[str | None, _option("--device", "cpu, cuda, cuda:1.")] = None,
    threads: Annotated[
        int | None, _option("--threads", "How many torch may use, on a CPU.", min=1)
    ] = None,
) -> int:
    """Serve a model with OpenAI's chat completions, until Ctrl-C."""
    from aworld.serve.command import serve_command

    earlier = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        serve_command(
            model,
            host=host,
            port=port,
            key=key,
            allowed_hosts=allowed_host or (),
            max_batch=max_batch,
            context_tokens=context_tokens,
            chat_template=chat_template,
            device=device,
            threads=threads,
            say=_say,
        )
    finally:
        signal.signal(signal.SIGTERM, earlier)
    return 0


def _say(line: str) -> None:
    print(line, flush=True)  # a program may wait for it
