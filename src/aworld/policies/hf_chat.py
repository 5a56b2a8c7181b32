"""Conversations as tokens, by the chat template of a Hugging Face tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from aworld.errors import ConfigError
from aworld.policies.messages import Message, Tools, text_of

TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>")
QUESTION: Message = {"role": "user", "content": "?"}


class HFChat:
    """A tokenizer with a chat template."""

    def __init__(self, tokenizer: Any, name: str):
        self.tokenizer = tokenizer
        self._name = name
        template: str = tokenizer.chat_template
        self._knows_tools = "tools" in template
        # only such a template writes a call again letter for letter
        self._takes_text = "arguments is string" in template
        ends = {tokenizer.convert_tokens_to_ids(end) for end in TURN_ENDS if end in template}
        unknown = {None, getattr(tokenizer, "unk_token_id", None)}
        ends = (ends - unknown) or ({tokenizer.eos_token_id} - unknown)
        if not ends:
            raise ConfigError(f"the tokenizer of {name!r} has no token that ends a turn: set one")
        self.stop_ids: frozenset[int] = frozenset(ends)

    def encode_chat(self, messages: list[Message], tools: Tools | None) -> list[int]:
        return self._encode(self._render(messages, tools, asks=True))

    def encode_reply(
        self, message: Message, tools: Tools | None, stop_ids: frozenset[int]
    ) -> list[int]:
        asked = self._render([QUESTION], tools, asks=True)
        whole = self._render([QUESTION, {"role": "assistant", **message}], tools, asks=False)
        if not whole.startswith(asked):
            raise ConfigError(
                f"the chat template of {self._name!r} writes a reply otherwise than it is sampled: "
                "give another chat_template"
            )
        ids = self._encode(whole[len(asked) :])
        for place, token in enumerate(ids):
            if token in stop_ids:
                return ids[: place + 1]
        raise ConfigError(f"the chat template of {self._name!r} does not end a turn")

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )

    def _encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _render(self, messages: list[Message], tools: Tools | None, *, asks: bool) -> str:
        if tools and not self._knows_tools:
            raise ConfigError(
                f"the chat template of {self._name!r} knows no tools: give chat_template='hermes'"
            )
        return self.tokenizer.apply_chat_template(
            [self._plain(message) for message in messages],
            tools=tools or None,
            add_generation_prompt=asks,
            tokenize=False,
        )

    def _plain(self, message: Message) -> Message:
        """As templates expect it: a content that is text, and arguments that are no text."""
        plain = {**message, "content": text_of(message.get("content"))}
        calls = message.get("tool_calls")
        if not calls:
            plain.pop("tool_calls", None)
        elif not self._takes_text:
            functions = [call["function"] for call in calls]
            plain["tool_calls"] = [
                {"type": "function", "function": {**f, "arguments": _parsed(f["arguments"])}}
                for f in functions
            ]
        return plain


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments
