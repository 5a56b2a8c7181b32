"""Who answers a prompt. All model calls pass through `Model.ask`, and are recorded there."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aworld.core.context import TaskContext, current_task
from aworld.core.usage import Prices, Usage
from aworld.errors import AccessError, BudgetError, ModelError
from aworld.models.cache import CallCache
from aworld.models.pace import Pace, pace_of
from aworld.models.retry import with_retries

OnText = Callable[[str], None]


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
    policy_version: str | None = None

    @property
    def text(self) -> str:
        return self.message.get("content") or ""

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
        cache: str | None = None,
        **settings: Any,
    ):
        self.name = name
        self.retries = retries
        self.connect_seconds = connect_seconds
        self.prices = None if prices is None else Prices(*prices)
        self.cache = None if cache is None else CallCache(cache)
        self.settings = settings

    @abstractmethod
    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        """Answers once, or raises a ModelError that says whether to try again."""

    @property
    def endpoint(self) -> str:
        """Those with the same one share a rate limit."""
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def ask(self, request: ModelRequest) -> tuple[ModelReply, dict[str, Any]]:
        """Answers, whatever it takes; gives the reply and the record of the call."""
        task = current_task()
        if task.stopped_because is not None:
            raise BudgetError(task.stopped_because)
        seed = task.next_seed()
        settings = {**self.settings, **request.settings}
        if settings.get("seed", "derived") == "derived":
            settings["seed"] = seed
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
        known = None if self.cache is None else self.cache.get(self, request)
        if known is not None:
            return ModelReply(**known), 0
        pace = pace_of(self.endpoint)
        reply, attempts = await with_retries(
            lambda: self._paced(request, task, pace),
            most=self.retries,
            connect_seconds=self.connect_seconds,
        )
        if self.cache is not None:
            self.cache.put(self, request, reply)
        return reply, attempts

    async def _paced(self, request: ModelRequest, task: TaskContext, pace: Pace) -> ModelReply:
        async with pace.turn(task):
            try:
                return await self.complete(request, task.on_text)
            except ModelError as error:
                if error.refused:
                    task.line.tell({"refused": str(error)})
                    raise AccessError(str(error)) from error
                raise


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
        "prompt_ids": reply.prompt_ids,
        "completion_ids": reply.completion_ids,
        "logprobs": reply.logprobs,
    }
