"""What may be asked of the server, in OpenAI's words; whatever it cannot do is refused."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aworld.errors import ModelError
from aworld.policies.base import Policy
from aworld.serve.sampling import MOST, Sampling

OneOrMore = Annotated[int, Field(ge=1)]
Nothing = Annotated[float, Field(ge=0, le=0)]
STOPS = 16


class RefusedError(Exception):
    """What the caller is told, and with which status."""

    def __init__(self, message: str, status: int = 400, *, code: str | None = None):
        super().__init__(message)
        self.status = status
        self.code = code


def error_body(refused: RefusedError) -> dict[str, Any]:
    """OpenAI's form of it."""
    kind = "server_error" if refused.status >= 500 else "invalid_request_error"
    return {"error": {"message": str(refused), "type": kind, "param": None, "code": refused.code}}


class Options(BaseModel):
    """What both kinds of completions share."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str
    max_tokens: OneOrMore | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=-1)] = 0
    seed: int | None = None
    stop: str | list[str] | None = None
    n: Annotated[int, Field(ge=1, le=128)] = 1
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    return_token_ids: bool = False
    presence_penalty: Nothing | None = None  # known, and not to be had
    frequency_penalty: Nothing | None = None
    logit_bias: None = None
    user: str | None = None  # without a meaning here, and without harm
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_nulls(cls, body: Any) -> Any:
        """As in OpenAI's own, null is the same as nothing."""
        if isinstance(body, dict):
            return {key: value for key, value in body.items() if value is not None}
        return body

    def samplings(self, prompt: list[int], policy: Policy) -> list[Sampling]:
        """One for each of the `n` choices, each with a seed of its own."""
        room = policy.context_tokens - len(prompt)
        most = room if self.most_tokens is None else self.most_tokens
        if most > room or room < 1:
            asked = "" if self.most_tokens is None else f" and max_tokens is {most}"
            raise RefusedError(
                f"the prompt has {len(prompt)} tokens{asked}: the context of {policy.name!r} has "
                f"{policy.context_tokens}",
                code="context_length_exceeded",
            )
        if not all(self.stops) or len(self.stops) > STOPS:
            raise RefusedError(f"stop: up to {STOPS} strings, none of them empty")
        seed = secrets.randbits(63) if self.seed is None else self.seed
        return [
            Sampling(
                max_tokens=most,
                temperature=self.temperature,
                top_p=self.top_p,
                top_k=max(self.top_k, 0),
                # far apart, so that the second choice of seed 1 is not the first of seed 2
                seed=(seed + choice * 0x9E3779B97F4A7C15) & MOST,
                stop=tuple(self.stops),
                stop_ids=policy.stop_ids,
            )
            for choice in range(self.n)
        ]

    @property
    def stops(self) -> list[str]:
        return [self.stop] if isinstance(self.stop, str) else self.stop or []

    @property
    def most_tokens(self) -> int | None:
        return self.max_tokens

    @property
    def wants_usage(self) -> bool:
        return bool((self.stream_options or {}).get("include_usage"))


class ChatRequest(Options):
    """/v1/chat/completions"""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    tools: list[dict[str, Any]] = []
    tool_choice: Literal["auto", "none"] = "auto"
    parallel_tool_calls: Literal[True] | None = None
    max_completion_tokens: OneOrMore | None = None
    logprobs: bool = False
    top_logprobs: Literal[0] | None = None
    response_format: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _only_text(self) -> ChatRequest:
        kind = (self.response_format or {}).get("type", "text")
        if kind != "text":
            raise ValueError(f"response_format {kind!r}: this server cannot hold a model to a form")
        for message in self.messages:
            if not _is_text(message.get("content")):
                raise ValueError("messages: a content is text, or a list of parts of type 'text'")
        for tool in self.tools:
            if not isinstance((tool.get("function") or {}).get("name"), str):
                raise ValueError('tools: each is {"type": "function", "function": {"name": ...}}')
        return self

    @property
    def most_tokens(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def offered_tools(self) -> list[dict[str, Any]]:
        return self.tools if self.tool_choice == "auto" else []

    def prompt_ids(self, policy: Policy) -> list[int]:
        try:
            return policy.encode_chat(self.messages, self.offered_tools or None)
        except Exception as error:  # a chat template can raise anything about its messages
            raise RefusedError(f"messages: {error}") from error


def _is_text(content: Any) -> bool:
    if isinstance(content, list):
        return all(
            isinstance(part, dict)
            and part.get("type", "text") == "text"
            and isinstance(part.get("text"), str)
            for part in content
        )
    return content is None or isinstance(content, str)


class TextRequest(Options):
    """/v1/completions"""

    prompt: str | Annotated[list[int], Field(min_length=1)]
    max_tokens: OneOrMore | None = 16  # as in OpenAI's
    logprobs: Annotated[int, Field(ge=0, le=1)] | None = None
    echo: Literal[False] | None = None
    best_of: Literal[1] | None = None
    suffix: None = None

    def prompt_ids(self, policy: Policy) -> list[int]:
        ids = policy.encode(self.prompt) if isinstance(self.prompt, str) else self.prompt
        if not ids or not all(0 <= token < policy.vocab_size for token in ids):
            raise RefusedError(
                f"prompt: at least one token, each from 0 to {policy.vocab_size - 1}"
            )
        return ids


def explained(error: ValidationError) -> RefusedError:
    """The first thing that is wrong, by the name of its field."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][:2])
    if first["type"] == "extra_forbidden":
        return RefusedError(f"{place}: this server knows no such field", code="unknown_field")
    return RefusedError(f"{place}: {first['msg']}" if place else first["msg"])


def as_refused(error: ModelError) -> RefusedError:
    return RefusedError(str(error), error.status or (500 if error.may_pass else 400))
