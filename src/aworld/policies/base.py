"""A model that is trained while it answers: what the policy server and the trainer need of it."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from aworld.policies.gate import Gate
from aworld.policies.messages import Message, Tools
from aworld.policies.scoring import selected_logprobs
from aworld.policies.slots import SlotCache


class Policy(ABC):
    """Weights, the tokens they speak in, and a version that tells one state of them from another.

    Rows of tokens are padded on the right, where causal attention never looks. The module stays in
    its eval mode: with dropout, what trains would not be what was sampled.
    """

    call_format = "hermes"  # how a tool call looks in the text: a name in aworld.serve.calls
    prefill_tokens = 16384  # of prompts, at once

    def __init__(
        self,
        module: nn.Module,
        *,
        name: str,
        context_tokens: int,
        vocab_size: int,
        stop_ids: frozenset[int],
    ):
        self.module = module.eval()
        self.name = name
        self.context_tokens = context_tokens
        self.vocab_size = vocab_size
        self.stop_ids = stop_ids
        self.version = 0
        self._gate = Gate()
        self._pieces: dict[int, str] = {}

    # -- text --------------------------------------------------------------------------------------

    @abstractmethod
    def encode_chat(self, messages: list[Message], tools: Tools | None = None) -> list[int]:
        """The conversation in OpenAI's form, up to where the assistant is to speak."""

    @abstractmethod
    def encode_reply(self, message: Message, tools: Tools | None = None) -> list[int]:
        """An assistant's message as it would have been sampled, with the token that ends it."""

    @abstractmethod
    def encode(self, text: str) -> list[int]: ...

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text without special tokens."""

    def piece(self, id: int) -> str:
        """The text of one token."""
        if id not in self._pieces:
            self._pieces[id] = self.decode([id])
        return self._pieces[id]

    # -- training ----------------------------------------------------------------------------------

    @abstractmethod
    def hidden(self, ids: Tensor) -> Tensor:
        """(rows, length) to (rows, length, width): what the head makes logits of."""

    @abstractmethod
    def head(self, hidden: Tensor) -> Tensor:
        """(..., width) to (..., vocab_size): the logits."""

    def logprobs(
        self,
        ids: Tensor,
        *,
        wanted: Tensor | None = None,
        temperature: float | Tensor = 1.0,
    ) -> Tensor:
        """(rows, length - 1): of each token but the first, given those before it, with gradient.

        Computed where `wanted`, of the same shape, is true, and 0 elsewhere; without it, for all,
        padding included. `temperature` is the one that was sampled with, for all or for each row.
        """
        hidden = self.hidden(ids)
        return self.logprobs_and_entropy(hidden, ids, wanted=wanted, temperature=temperature)[0]

    def logprobs_and_entropy(
        self,
        hidden: Tensor,
        ids: Tensor,
        *,
        wanted: Tensor | None = None,
        temperature: float | Tensor = 1.0,
        entropy_trains: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """From what `hidden(ids)` gave. The entropy is that of the distribution which each token
        was drawn from; it has a gradient only if it trains."""
        wanted = torch.ones_like(ids[:, 1:]).bool() if wanted is None else wanted.bool()
        temperatures = torch.as_tensor(temperature, dtype=torch.float32, device=ids.device)
        temperatures = torch.where(temperatures > 0, temperatures, 1.0)
        if temperatures.ndim == 1:
            temperatures = temperatures[:, None]
        logprobs, entropy = selected_logprobs(
            self.head,
            hidden[:, :-1][wanted],
            ids[:, 1:][wanted],
            temperatures.expand(wanted.shape)[wanted],
            vocab_size=self.vocab_size,
            entropy_trains=entropy_trains,
        )
        nothing = torch.zeros(wanted.shape, device=ids.device)
        return (
            nothing.masked_scatter(wanted, logprobs),
            nothing.masked_scatter(wanted, entropy),
        )

    def parameters(self) -> list[nn.Parameter]:
        """Those that train."""
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]

    def state_dict(self) -> dict[str, Tensor]:
        return self.module.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """In place, so that whoever decodes sees it: call it inside `updating()`."""
        self.module.load_state_dict(state)

    @abstractmethod
    def save(self, folder: str | os.PathLike[str]) -> None:
        """Weights as safetensors, and all that is needed to load them again."""

    def frozen_copy(self) -> Policy:
        """With weights of its own that do not train: a reference to stay close to."""
        twin = copy.copy(self)
        twin.module = copy.deepcopy(self.module).requires_grad_(False)
        twin._gate = Gate()
        return twin

    @property
    def device(self) -> torch.device:
        return next(self.module.parameters()).device

    # -- weights that move while others decode -----------------------------------------------------

    @contextmanager
    def updating(self) -> Iterator[None]:
        """No token is made inside; those made after it carry the next version."""
        with self._gate.update():
            try:
                yield
            finally:  # an update that broke off may have moved some of them
                self.version += 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No token is made inside, and the weights stay as they are."""
        with self._gate.update():
            yield

    @contextmanager
    def decoding(self) -> Iterator[int]:
        """One decoding step; gives the version that it is made with."""
        with self._gate.step():
            yield self.version

    # -- decoding ----------------------------------------------------------------------------------

    @abstractmethod
    def open_cache(self) -> SlotCache: ...

    @abstractmethod
    def prefill(self, cache: SlotCache, rows: list[int], prompts: list[list[int]]) -> Tensor:
        """Writes the prompts into these rows; gives the logits after each, in float32."""

    @abstractmethod
    def step(self, cache: SlotCache, ids: Tensor, positions: Tensor, length: int) -> Tensor:
        """Adds `ids[r]` to row r at `positions[r]`, for rows 0 to n-1; gives the logits after them.

        `length` is larger than every position.
        """
