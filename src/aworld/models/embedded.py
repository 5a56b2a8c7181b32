"""A small language model inside the worker process: nothing to start, no key, no network."""

from __future__ import annotations

import json
import os
from typing import Any

from aworld.config import check_count
from aworld.errors import ConfigError, ModelError, unknown_name
from aworld.models.base import Model, ModelReply, ModelRequest, OnText
from aworld.models.embedded_prompt import is_json, read_reply, render, schema_for
from aworld.models.embedded_server import Loading, check_installed, llama_server, smollm2_path

SETTINGS = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "max_tokens"),
    *("presence_penalty", "frequency_penalty", "repeat_penalty"),
)
RANDOM_SEED = 2**32 - 1  # llama.cpp takes this one for "any"

# plain sampling from the model's own distribution, greedy unless a temperature is given
DEFAULTS: dict[str, Any] = {
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "max_tokens": 200,
}


class EmbeddedModel(Model):
    """SmolLM2-135M-Instruct, or another GGUF model with a ChatML template, run by llama.cpp.

    The weights are loaded once per process, on first use. With tools, decoding is held to
    well-formed calls of the tools on offer; with an output schema, to that schema.

    With `parallel=1` requests are answered one after another, and the same request with the same
    seed gives the same tokens bit for bit, whatever else the process is asked. With more, llama.cpp
    batches those in flight, and the last digits of the sums, and so now and then a token, depend on
    what else is in the batch. On two cores, where it was measured, that was no faster.

    `logprobs` are the model's own, before temperature, `top_p` and schema. They are None where a
    character came as several tokens: llama.cpp tells no probability for the first ones.
    """

    def __init__(
        self,
        name: str = "smollm2",
        *,
        path: str | os.PathLike[str] | None = None,
        context_tokens: int = 4096,
        threads: int | None = None,
        parallel: int = 1,
        **settings: Any,
    ):
        super().__init__(name, **settings)
        _check(self.settings)
        check_count("context_tokens", context_tokens, least=1)
        check_count("parallel", parallel, least=1)
        if threads is not None:
            check_count("threads", threads, least=1)
        self.path = None if path is None else os.fspath(path)
        self.context_tokens = context_tokens
        self.threads = threads
        self.parallel = parallel

    def check_installed(self) -> None:
        """Whether it can run here. A model that is replaced by another before need not."""
        check_installed()
        if self.path is None:
            smollm2_path()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        settings = {**DEFAULTS, **self.settings, **request.settings}
        _check(settings)
        prompt = render(request.messages, request.tools)
        schema = schema_for(request.tools, request.output_schema)
        llama = await llama_server(self._loading())
        # while a tool is chosen there is no text that a person would want to watch
        watch = None if request.tools else on_text
        done = await llama.complete(prompt, _options(settings, schema), watch)
        if schema is not None and not is_json(done.text, so_far=done.cut_short):
            # llama.cpp says nothing when it cannot read a schema, and goes on without
            raise ModelError("llama.cpp cannot hold an answer to this schema: simplify it")
        message = read_reply(done.text, prompt, has_tools=bool(request.tools))
        if request.tools and on_text is not None and message["content"]:
            on_text(message["content"])
        sent = {"messages": request.messages, "tools": request.tools, **settings, "prompt": prompt}
        if request.output_schema is not None:
            sent["output_schema"] = request.output_schema
        finish = "length" if done.cut_short else "stop"
        return ModelReply(
            message,
            sent,
            "tool_calls" if message.get("tool_calls") else finish,
            prompt_tokens=len(done.prompt_ids),
            completion_tokens=done.tokens_made,
            prompt_ids=done.prompt_ids,
            completion_ids=done.ids,
            logprobs=done.logprobs,
        )

    def _loading(self) -> Loading:
        path = smollm2_path() if self.path is None else self.path
        # one by default: a worker process runs on every core, and llama.cpp's threads wait for
        # each other in busy loops
        return Loading(path, self.context_tokens, self.threads or 1, self.parallel)


def _check(settings: dict[str, Any]) -> None:
    for name in settings:
        if name not in SETTINGS:
            raise ConfigError(unknown_name("setting of the embedded model", name, SETTINGS))


def _options(settings: dict[str, Any], schema: dict[str, Any] | None) -> dict[str, Any]:
    """The settings in llama.cpp's words."""
    options = {name: value for name, value in settings.items() if value is not None}
    options |= {"n_predict": options.pop("max_tokens", -1), "return_tokens": True, "n_probs": 1}
    if "seed" in options:
        options["seed"] %= RANDOM_SEED
    if isinstance(options.get("stop"), str):
        options["stop"] = [options["stop"]]
    if schema is not None:
        # llama.cpp's own "json_schema" would end in a token that this model never ends a turn with
        options["grammar"] = (
            f"%llguidance {{}}\nstart: reply <|im_end|>\nreply: %json {json.dumps(schema)}"
        )
    return options
