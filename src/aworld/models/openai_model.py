"""Any server that speaks OpenAI's chat completions: OpenAI, vLLM, SGLang, Ollama and many more."""

from __future__ import annotations

import json
import math
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aworld.config import check_seconds
from aworld.core.secret import Secret, bare_url
from aworld.errors import ConfigError, ModelError
from aworld.models.base import Model, ModelReply, ModelRequest, OnText
from aworld.models.clients import Server, client_for
from aworld.models.streaming import assembled

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

MAY_PASS = {408, 409, 425, 429}
REFUSED = {401: "refuses the key", 403: "refuses the key", 404: "does not know the model"}
LONGEST_RETRY_AFTER = 300.0
OPENAI = "https://api.openai.com/v1"


class OpenAIModel(Model):
    """`settings` go into every request as they are: temperature, top_p, max_tokens, ...

    With `token_ids` the server is asked for the ids and log-probabilities of what it sampled, as
    vLLM gives them: what trains must be what was sampled.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | Secret | None = None,
        timeout: float = 120.0,
        token_ids: bool = False,
        **settings: Any,
    ):
        super().__init__(name, **settings)
        if find_spec("openai") is None:
            raise ConfigError("models behind a URL need: pip install 'aworld[openai]'")
        check_seconds("timeout", timeout, or_none=True)
        self.base_url = _checked_url(base_url or OPENAI)
        self.api_key = _checked_key(api_key)
        self.timeout = timeout
        self.token_ids = token_ids
        if self.api_key is None and self.base_url == OPENAI:
            raise ConfigError(
                f"model {name!r} needs a key or another server: set LLM_API_KEY or LLM_BASE_URL"
            )

    @property
    def endpoint(self) -> str:
        return f"{self.base_url} {self.name}"

    @property
    def server(self) -> str:
        """Its URL, fit to be shown."""
        return bare_url(self.base_url)

    def client(self) -> AsyncOpenAI:
        """For agents of any framework: its calls are those of this model, and recorded as such."""
        from aworld.models.recorded_client import recorded_client  # it imports openai: a second

        return recorded_client(self)

    def sync_client(self) -> OpenAI:
        """The same for code that blocks."""
        from aworld.models.recorded_client import recorded_sync_client

        return recorded_sync_client(self)

    def cache_key(self, request: ModelRequest) -> Any:
        return [self.base_url, self._call(request)]

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        server = Server(self.base_url, self.api_key, self.timeout, self.connect_seconds)
        async with client_for(server) as client:
            reply = await self._ask(client, request, on_text)
        _answered.add(self.endpoint)
        return reply

    async def _ask(
        self, client: AsyncOpenAI, request: ModelRequest, on_text: OnText | None
    ) -> ModelReply:
        import openai

        try:
            if on_text is not None:
                return await self._stream(client, request, on_text)
            completions = client.chat.completions.with_raw_response
            response = await completions.create(**self._call(request))
            return self._reply(response.http_request.content, response.http_response.content)
        except openai.APIStatusError as error:
            raise self._status_error(error) from None
        except openai.APITimeoutError as error:
            if _could_not_connect(error):
                raise self._unreachable(error) from None
            message = f"{self.server} did not answer within {self.timeout:g} s"
            raise ModelError(message, may_pass=True) from None
        except openai.APIConnectionError as error:
            if _could_not_connect(error):
                raise self._unreachable(error) from None
            message = f"{self.server} dropped the connection: {self._hidden(error.__cause__)}"
            raise ModelError(message, may_pass=True) from None
        except UnicodeError as error:
            raise ModelError(f"the request cannot be sent: {self._hidden(error)}") from None
        except (openai.APIError, ValueError, LookupError) as error:  # in the middle of a stream
            message = f"{self.server} broke off its reply: {self._hidden(error)}"
            raise ModelError(message, may_pass=True) from None

    def _call(self, request: ModelRequest) -> dict[str, Any]:
        body = {"messages": request.messages, **request.settings}
        if request.tools:
            body["tools"] = request.tools
        if request.output_schema is not None:
            schema = {"name": "output", "schema": request.output_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self.token_ids:
            body |= {"return_token_ids": True, "logprobs": True}
        # as a part of the extra body they are sent as they are, and much faster
        return {"model": self.name, "messages": [], "extra_body": body}

    async def _stream(
        self, client: AsyncOpenAI, request: ModelRequest, on_text: OnText
    ) -> ModelReply:
        call = self._call(request)
        call["extra_body"]["stream_options"] = {"include_usage": True}
        stream = await client.chat.completions.create(**call, stream=True)
        async with stream:
            body = await assembled(stream, on_text)
        return self._reply(stream.response.request.content, json.dumps(body).encode())

    def _reply(self, sent: bytes, received: bytes) -> ModelReply:
        """Taken from what really went over the wire."""
        try:
            text = received.decode()
            if self.api_key is not None:  # a short one may be a word that the model wrote
                text = self.api_key.hide_in(text, least=16)
            body = json.loads(text)
            choice = body["choices"][0]
            message = choice["message"]
            _check_calls(message.get("tool_calls") or ())
            usage = body.get("usage") or {}
            logprobs = (choice.get("logprobs") or {}).get("content")
            return ModelReply(
                message=message,
                sent=json.loads(sent),
                finish_reason=choice.get("finish_reason") or "stop",
                prompt_tokens=usage.get("prompt_tokens") or 0,
                completion_tokens=usage.get("completion_tokens") or 0,
                prompt_ids=body.get("prompt_token_ids") or choice.get("prompt_token_ids"),
                completion_ids=choice.get("token_ids"),
                logprobs=None if logprobs is None else [entry["logprob"] for entry in logprobs],
                completion_texts=None if logprobs is None else _texts_of(logprobs),
                policy_version=_text_or_none(body.get("policy_version")),
                policy_versions=_if_they_differ(choice.get("policy_versions")),
            )
        except (ValueError, LookupError, TypeError, AttributeError):
            start = self._hidden(received[:200].decode(errors="replace"))
            message = f"{self.server} sent what is no chat completion: {start!r}"
            raise ModelError(message, may_pass=True) from None

    def _status_error(self, error: Any) -> ModelError:
        status: int = error.status_code
        said = self._hidden(error.response.text[:500])
        if status == 401 or (status in REFUSED and self.endpoint not in _answered):
            what = f"{REFUSED[status]} {self.name!r}" if status == 404 else REFUSED[status]
            return ModelError(f"{self.server} {what} ({status}): {said}", refused=True)
        if status == 429 and "insufficient_quota" in said:
            return ModelError(f"{self.server} says that the quota is used up: {said}", refused=True)
        wait = _retry_after(error.response.headers)
        if wait is not None and wait > LONGEST_RETRY_AFTER:
            return ModelError(f"{self.server} asks to wait for {wait:.0f} s ({status}): {said}")
        return ModelError(
            f"{self.server} answered {status}: {said}",
            status=status,
            may_pass=status in MAY_PASS or status >= 500,
            retry_after=wait,
        )

    def _unreachable(self, error: Exception) -> ModelError:
        message = f"{self.server} cannot be reached: {self._hidden(error.__cause__)}"
        return ModelError(message, may_pass=True, unreachable=True)

    def _hidden(self, text: Any) -> str:
        return str(text) if self.api_key is None else self.api_key.hide_in(str(text))


def _checked_url(url: object) -> str:
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise ConfigError(f"base_url must start with http:// or https://, got {url!r:.80}")
    try:
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port is None or parts.port >= 0
    except (ValueError, AssertionError):
        raise ConfigError(f"base_url is no URL: {url.rpartition('@')[2]!r:.80}") from None
    return url


def _checked_key(key: str | Secret | None) -> Secret | None:
    text = key.reveal() if isinstance(key, Secret) else key
    if text is None:
        return None
    if not isinstance(text, str):
        raise ConfigError(f"api_key must be a str, got a {type(text).__name__}")
    text = text.strip()  # files and variables like to end with a newline
    if not text.isascii() or not text.isprintable():
        raise ConfigError("api_key has characters that no key has: look at where it comes from")
    return Secret(text) if text else None


def _if_they_differ(versions: list[int] | None) -> list[int] | None:
    return versions if versions and len(set(versions)) > 1 else None


def _text_or_none(version: Any) -> str | None:
    """Our own policy server counts its versions; others may name them."""
    return None if version is None else str(version)


def _check_calls(calls: Any) -> None:
    for call in calls:
        if not isinstance(call["function"]["name"], str):
            raise TypeError("a tool is called by its name")
        call["function"].setdefault("arguments", "{}")


def _retry_after(headers: Any) -> float | None:
    """In seconds: the server gives seconds, milliseconds or a date."""
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
            return seconds if 0 <= seconds < math.inf else None
        value = headers.get("retry-after")
        if value is None:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        import datetime

        until = parsedate_to_datetime(value)
        return max(0.0, (until - datetime.datetime.now(until.tzinfo)).total_seconds())
    except (ValueError, TypeError):
        return None


def _could_not_connect(error: Exception) -> bool:
    """By name: which HTTP library is under the openai client depends on its version."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


_answered: set[str] = set()  # endpoints that have answered: their key and model are right


def _texts_of(logprobs: list[dict[str, Any]]) -> list[str] | None:
    texts = [entry.get("token") for entry in logprobs]
    return [str(text) for text in texts] if None not in texts else None
