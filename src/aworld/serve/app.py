"""The routes of the policy server: OpenAI's, answered by the model that is being trained."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from aworld.errors import ModelError
from aworld.serve.generation import Generation
from aworld.serve.generator import Generator
from aworld.serve.replies import reply
from aworld.serve.requests import (
    ChatRequest,
    RefusedError,
    TextRequest,
    as_refused,
    error_body,
    explained,
)
from aworld.serve.streaming import events

MOST_BYTES = 32 * 2**20
GONE = 499  # nobody will read it
ERRORS = (RefusedError, ModelError, HTTPException, Exception)


class Routes:
    """Answers requests with a generator that others may use at the same time."""

    def __init__(self, generator: Generator):
        self._generator = generator
        self._policy = generator.policy

    async def health(self, request: Request) -> Response:
        decoding, waiting = self._generator.load
        state = {"status": "ok", "decoding": decoding, "waiting": waiting}
        return JSONResponse({**state, "policy_version": self._policy.version})

    async def models(self, request: Request) -> Response:
        policy = self._policy
        model = {"id": policy.name, "object": "model", "created": 0, "owned_by": "aworld"}
        model |= {"max_model_len": policy.context_tokens, "policy_version": policy.version}
        return JSONResponse({"object": "list", "data": [model]})

    async def chat(self, request: Request) -> Response:
        return await self._complete(request, ChatRequest)

    async def text(self, request: Request) -> Response:
        return await self._complete(request, TextRequest)

    async def _complete(
        self, request: Request, form: type[ChatRequest] | type[TextRequest]
    ) -> Response:
        try:
            asked = form.model_validate(await _read(request))
        except ValidationError as error:
            raise explained(error) from None
        policy = self._policy
        if asked.model != policy.name:
            message = f"there is no model {asked.model!r} here: it is {policy.name!r}"
            raise RefusedError(message, 404, code="model_not_found")
        if asked.stream and asked.n > 1:
            raise RefusedError("n: more than one choice cannot be streamed")
        prompt = asked.prompt_ids(policy)
        samplings = asked.samplings(prompt, policy)
        news = asyncio.Event()
        tell = _in_loop(news.set)
        if asked.stream:
            one = self._generator.submit(prompt, samplings[0], on_token=tell, on_end=tell)
            return Streamed(events(asked, one, policy, lambda: _next(news)), one)
        made: list[Generation] = []
        try:
            for sampling in samplings:
                made.append(self._generator.submit(prompt, sampling, on_end=tell))
            if not await _all_ended(made, news, request):
                return Response(status_code=GONE)
        finally:
            for one in made:
                one.cancel()
        for one in made:
            if one.error is not None:
                raise one.error
        return JSONResponse(reply(asked, made, policy))


class Streamed(StreamingResponse):
    """Ends the generation when the client has read it all, or has gone."""

    def __init__(self, parts: AsyncIterator[bytes], one: Generation):
        super().__init__(parts, media_type="text/event-stream")
        self._one = one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._one.cancel()


def build_app(generator: Generator) -> Starlette:
    routes = Routes(generator)
    return Starlette(
        routes=[
            Route("/health", routes.health),
            Route("/v1/models", routes.models),
            Route("/v1/chat/completions", routes.chat, methods=["POST"]),
            Route("/v1/completions", routes.text, methods=["POST"]),
        ],
        exception_handlers={**dict.fromkeys(ERRORS, _refuse), ClientDisconnect: _forget},
    )


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, ModelError):
        refused = as_refused(error)
    elif isinstance(error, HTTPException):  # an unknown page, a wrong method
        refused = RefusedError(error.detail, error.status_code)
    elif isinstance(error, RefusedError):
        refused = error
    else:  # the server also logs where it came from
        refused = RefusedError(f"{type(error).__name__}: {error}", 500)
    return JSONResponse(error_body(refused), refused.status)


async def _forget(request: Request, error: Exception) -> Response:
    return Response(status_code=GONE)


async def _read(request: Request) -> Any:
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            raise RefusedError(f"a request may have {MOST_BYTES} bytes at most", 413)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the body is no JSON: {error}") from None


async def _all_ended(made: list[Generation], news: asyncio.Event, request: Request) -> bool:
    """Or whoever asked has gone."""
    gone = asyncio.ensure_future(_gone(request))
    try:
        while not all(one.ended for one in made):
            turn = asyncio.ensure_future(_next(news))
            await asyncio.wait([turn, gone], return_when=asyncio.FIRST_COMPLETED)
            turn.cancel()
            if gone.done():
                return False
        return True
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _next(news: asyncio.Event) -> None:
    await news.wait()
    news.clear()


def _in_loop(function: Callable[[], None]) -> Callable[[], None]:
    """Called from the generator's thread, it runs in this loop."""
    loop = asyncio.get_running_loop()

    def call() -> None:
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(function)

    return call
