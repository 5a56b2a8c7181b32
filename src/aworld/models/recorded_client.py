"""Clients of the `openai` package for agents of other frameworks: `Model.ask` makes their calls."""

from __future__ import annotations

import asyncio
import atexit
import importlib
import threading
from collections.abc import Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import openai

from aworld.core.context import current_task
from aworld.errors import ModelError
from aworld.models.base import Model
from aworld.models.recorded_turns import as_said, note_results
from aworld.models.recorded_wire import Asked, Refused, read, written, written_error

# Nobody is there: a framework that takes no more than the URL of a client fails, and says so,
# in the place of making calls that nobody records.
NOWHERE = "http://use-the-client-itself.invalid/v1"
# The model has the key, waits and tries again: the client has no more to do.
SETTINGS: Any = {"base_url": NOWHERE, "api_key": "none", "max_retries": 0, "timeout": None}

Result = TypeVar("Result")

# httpx or httpx2: that depends on the version of the openai package
_http: Any = importlib.import_module(
    openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0]
)


def recorded_client(model: Model) -> openai.AsyncOpenAI:
    """It can be pickled, and holds nothing that must be closed."""
    return RecordedAsyncOpenAI(http_client=AsyncLine(model), **SETTINGS)


def recorded_sync_client(model: Model) -> openai.OpenAI:
    """The same for code that blocks."""
    return RecordedOpenAI(http_client=SyncLine(model), **SETTINGS)


class Travelling:
    """A client that travels as its model, with what `with_options` may have changed."""

    _client: Any
    max_retries: int
    timeout: Any

    def __init__(self, **options: Any):
        super().__init__(**options)
        # An attribute, no property: by those an agent is known again.
        self.model: Model | None = getattr(self._client, "model", None)

    def __reduce__(self) -> Any:
        return _arrived, (type(self), self._client, self.max_retries, self.timeout)


class RecordedAsyncOpenAI(Travelling, openai.AsyncOpenAI):
    """For agents that await."""


class RecordedOpenAI(Travelling, openai.OpenAI):
    """For code that blocks."""


def _arrived(kind: Any, line: Any, max_retries: int, timeout: Any) -> Any:
    return kind(http_client=line, **(SETTINGS | {"max_retries": max_retries, "timeout": timeout}))


class AsyncLine(openai.DefaultAsyncHttpxClient):
    """From an AsyncOpenAI to a model."""

    def __init__(self, model: Model):
        super().__init__(transport=_http.MockTransport(partial(_answer, model)))
        self.model = model

    def __reduce__(self) -> Any:
        return type(self), (self.model,)


class SyncLine(openai.DefaultHttpxClient):
    """From an OpenAI to a model."""

    def __init__(self, model: Model):
        answer = partial(_answer, model)
        super().__init__(transport=_http.MockTransport(lambda request: _blocking(answer(request))))
        self.model = model

    def __reduce__(self) -> Any:
        return type(self), (self.model,)


async def _answer(model: Model, request: Any) -> Any:
    """What would have come from a server. Only what ends the whole task is raised."""
    try:
        asked = read(model, request.url.path, request.content)
        async with asyncio.timeout((request.extensions.get("timeout") or {}).get("read")):
            body = await _completion(model, asked)
    except Refused as refused:
        return _response(refused.status, written_error(str(refused)))
    except ModelError as error:
        return _response(error.status or 502, written_error(str(error)))
    except TimeoutError:
        raise _http.ReadTimeout(f"{model!r} has not answered", request=request) from None
    return _response(200, body, "text/event-stream" if asked.streams else "application/json")


async def _completion(model: Model, asked: Asked) -> bytes:
    task = current_task()
    messages = as_said(task.steps, asked.request.messages)
    note_results(task.steps, messages)
    reply, record = await model.ask(replace(asked.request, messages=messages))
    task.record({"action": reply.message, "model_call": record, "observation": None})
    return written(model.name, reply, asked)


def _response(status: int, body: bytes, kind: str = "application/json") -> Any:
    headers = {"content-type": kind, "x-should-retry": "false"}  # the model has tried enough
    return _http.Response(status, headers=headers, content=body)


def _blocking(call: Coroutine[Any, Any, Result]) -> Result:
    """Waits for a call that is made in another thread, for the task of this one."""
    future = asyncio.run_coroutine_threadsafe(call, _loop_of_blocking_calls())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


_starting = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _loop_of_blocking_calls() -> asyncio.AbstractEventLoop:
    """One for the whole process, so that they share connections and pace; it ends with it."""
    global _loop
    with _starting:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            thread = threading.Thread(target=_run, args=(_loop,), name="aworld-calls", daemon=True)
            thread.start()
            atexit.register(_end, _loop, thread)
    return _loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())  # with these the connections end
    loop.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join(timeout=5)
