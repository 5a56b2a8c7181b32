"""A model: one request in, one recorded reply out."""

from __future__ import annotations

import inspect
import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from aworld.config import check_count, check_seconds, is_number
from aworld.core.context import TaskContext, current_task
from aworld.core.usage import Prices, Usage
from aworld.errors import AccessError, BudgetError, ConfigError, ModelError
from aworld.models.cache import CallCache
from aworld.models.pace import Pace, pace_of
from aworld.models.retry import with_retries

OnText = Callable[[str], None]

NO_SETTINGS = {"extra_body", "extra_headers", "default_headers", "messages", "n", "stream", "tools"}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A conversation in OpenAI's form, to be gone on with."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = field(default_factory=list)
    output_schema: dict[str, Any] | None = None  # the answer is to be JSON of this form
    settings: dict[str, Any] = field(default_factory=dict)  # temperature, max_tokens, seed, ...


@dataclass(slots=True)
class ModelReply:
    """What came back, and what was really sent for it."""

    message: dict[str, Any]  # role, content, tool_calls: as received
    sent: dict[str, Any]  # the whole request as it left
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_ids: list[int] | None = None
    completion_ids: list[int] | None = None
    logprobs: list[float] | None = None
    completion_texts: list[str] | None = None  # of each token, where the server tells
    policy_version: str | None = None
    policy_versions: list[int] | None = None  # of each token, where they are not all the same

    @property
    def text(self) -> str:
        return self.message.get("content") or self.message.get("refusal") or ""

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        return self.message.get("tool_calls") or []


class Model(ABC):
    """Subclasses say how one request is answered; they hold settings only, and can be pickled.

    What is expensive (a client, loaded weights) is kept once per process, outside of them.
    """

    def __init__(
        self,
        name: str,
        *,
        retries: int = 10,
        connect_seconds: float = 10.0,
        prices: Prices | tuple[float, float] | None = None,
        cache: str | os.PathLike[str] | None = None,
        **settings: Any,
    ):
        check_count("retries", retries, least=0)
        check_seconds("connect_seconds", connect_seconds)
        check_settings(type(self), settings)
        self.name = name
        self.retries = retries
        self.connect_seconds = connect_seconds
        self.prices = None if prices is None else _checked_prices(prices)
        if cache is not None and not isinstance(cache, (str, os.PathLike)):
            raise ConfigError(f"cache must be the path of a folder, got {cache!r:.80}")
        self.cache = None if cache is None else CallCache(cache)
        self.settings = settings

    @abstractmethod
    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answers once, or raises a ModelError that says whether to try again."""

    def cache_key(self, request: ModelRequest) -> Any:
        """All that the answer depends on."""
        return [type(self).__name__, self.endpoint, self.name, asdict(request)]

    @property
    def endpoint(self) -> str:
        """Those with the same one share a rate limit."""
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def ask(self, request: ModelRequest) -> tuple[ModelReply, dict[str, Any]]:
        """Answers, whatever it takes; gives the reply and the record of the call."""
        task = current_task()
        settings = {"seed": task.next_seed(), **self.settings, **request.settings}
        if settings["seed"] is None:
            del settings["seed"]
        request = ModelRequest(request.messages, request.tools, request.output_schema, settings)
        began = time.time()
        reply, attempts = await self._answer(request, task)
        cost = 0.0
        if self.prices is not None and attempts:
            cost = self.prices.of(reply.prompt_tokens, reply.completion_tokens)
        if attempts:  # an answer from the cache costs nothing
            task.spent(Usage(1, reply.prompt_tokens, reply.completion_tokens, cost))
        return reply, _record(self, reply, began, attempts, cost)

    async def _answer(self, request: ModelRequest, task: TaskContext) -> tuple[ModelReply, int]:
        """The reply, and how many attempts it took: none if it was known already."""
        key = None
        if self.cache is not None:
            key = self.cache_key(request)
            known = self.cache.get(key)
            if known is not None and known.keys() == {f.name for f in fields(ModelReply)}:
                return ModelReply(**known), 0
        pace = pace_of(self.endpoint)
        reply, attempts = await with_retries(
            lambda: self._paced(request, task, pace),
            most=self.retries,
            connect_seconds=self.connect_seconds,
            on_retry=lambda error: task.emit("retry", text=str(error)),
        )
        if self.cache is not None:
            self.cache.put(key, reply)
        return reply, attempts

    async def _paced(self, request: ModelRequest, task: TaskContext, pace: Pace) -> ModelReply:
        async with pace.turn(task):
            if task.stopped_because is not None:
                raise BudgetError(task.stopped_because)
            asked_at = time.monotonic()
            try:
                return await self.complete(request, task.on_text)
            except ModelError as error:
                error.asked_at = asked_at
                if error.refused:
                    task.line.tell({"refused": str(error)})
                    raise AccessError(str(error)) from error
                raise


def _checked_prices(prices: Any) -> Prices:
    wanted = isinstance(prices, (tuple, list)) and len(prices) == 2
    if not wanted or not all(is_number(p) and 0 <= p < math.inf for p in prices):
        raise ConfigError(
            "prices must be two numbers, for a million tokens of prompt and of completion, got "
            f"{prices!r:.80}"
        )
    return Prices(*prices)


def check_settings(owner: type, settings: Iterable[str]) -> None:
    """A misspelt argument would otherwise be sent to the server as a setting."""
    import difflib

    for key in settings:
        if key in NO_SETTINGS:
            raise ConfigError(f"{key!r} cannot be set: {owner.__name__} sees to it itself")
        arguments = set()
        for base in owner.__mro__[:-1]:
            arguments |= set(inspect.signature(base.__init__).parameters) - {"self", "settings"}
        close = difflib.get_close_matches(key, arguments, n=1, cutoff=0.8)
        if close:
            raise ConfigError(f"{owner.__name__} has no {key!r}: did you mean {close[0]!r}?")


def _record(
    model: Model, reply: ModelReply, began: float, attempts: int, cost: float
) -> dict[str, Any]:
    """What is kept of a call: enough to send it again, and to train on it."""
    settings = dict(reply.sent)
    messages, tools = settings.pop("messages", []), settings.pop("tools", [])
    return {
        "model": model.name,
        "messages": messages,
        "tools": tools,
        "settings": settings,
        "reply": reply.message,
        "finish_reason": reply.finish_reason,
        "usage": {
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "cost": cost,
        },
        "began": began,
        "ended": time.time(),
        "attempts": attempts,
        "policy_version": reply.policy_version,
        "policy_versions": reply.policy_versions,
        "prompt_ids": reply.prompt_ids,
        "completion_ids": reply.completion_ids,
        "logprobs": reply.logprobs,
        "completion_texts": reply.completion_texts,
    }
