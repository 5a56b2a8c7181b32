"""A byte-level transformer of under a million parameters: it learns on two CPU cores."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import rms_norm, silu

from aworld.errors import ConfigError
from aworld.policies import byte_chat
from aworld.policies.attention import attend
from aworld.policies.base import Policy
from aworld.policies.messages import Message, Tools
from aworld.policies.slots import PromptRows, SlotCache, StepRows, last_of, padded

KIND = "aworld-byte"
COLUMNS = 32  # that attention looks at are rounded up to a multiple of this


@dataclass(frozen=True, slots=True)
class ByteConfig:
    """How large it is; about 0.8 million parameters as it stands."""

    width: int = 128
    layers: int = 4
    heads: int = 4
    key_heads: int = 2  # each shared by as many heads as it takes
    inner: int = 344
    context_tokens: int = 1024

    def __post_init__(self) -> None:
        if self.width % (2 * self.heads):
            raise ConfigError(f"width={self.width} must be a multiple of twice heads={self.heads}")
        if self.heads % self.key_heads:
            raise ConfigError(f"heads={self.heads} is no multiple of key_heads={self.key_heads}")

    @property
    def head_width(self) -> int:
        return self.width // self.heads


class Block(nn.Module):
    """Attention, then a gated layer, each added to what comes in."""

    def __init__(self, config: ByteConfig, layer: int):
        super().__init__()
        width, inner = config.width, config.inner
        self.layer = layer
        self.heads, self.key_heads = config.heads, config.key_heads
        self.attention_norm = nn.Parameter(torch.ones(width))
        self.inner_norm = nn.Parameter(torch.ones(width))
        self.query_key_value = nn.Linear(
            width, (config.heads + 2 * config.key_heads) * config.head_width, bias=False
        )
        self.attended = nn.Linear(width, width, bias=False)
        self.gate_and_up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], cache: PromptRows | StepRows | None
    ) -> Tensor:
        rows, length, width = x.shape
        mixed = self.query_key_value(rms_norm(x, (width,), self.attention_norm))
        mixed = mixed.view(rows, length, self.heads + 2 * self.key_heads, -1).transpose(1, 2)
        turned, values = mixed.split([self.heads + self.key_heads, self.key_heads], 1)
        queries, keys = rotated(turned, *turn).split([self.heads, self.key_heads], 1)
        if cache is not None:
            keys, values = cache.update(keys, values, self.layer)
        mask = cache.mask if isinstance(cache, StepRows) else None
        y = attend(queries, keys, values, mask)
        x = x + self.attended(y.transpose(1, 2).reshape(rows, length, width))
        gate, up = self.gate_and_up(rms_norm(x, (width,), self.inner_norm)).chunk(2, -1)
        return x + self.down(silu(gate) * up)


class ByteModel(nn.Module):
    """Bytes and a few special tokens in, a vector for each out."""

    angles: Tensor

    def __init__(self, config: ByteConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(byte_chat.VOCAB_SIZE, config.width)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.norm = nn.Parameter(torch.ones(config.width))
        half = config.head_width // 2
        speeds = 10000.0 ** -(torch.arange(half) / half)
        angles = torch.arange(config.context_tokens)[:, None] * speeds
        self.register_buffer("angles", angles, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                deep = name.endswith(("attended.weight", "down.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * config.layers) ** 0.5 if deep else 0.02)

    def forward(
        self, ids: Tensor, positions: Tensor, cache: PromptRows | StepRows | None = None
    ) -> Tensor:
        angles = self.angles[positions][:, None]  # (rows or 1, 1, length, half)
        turn = angles.cos(), angles.sin()
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, turn, cache)
        return rms_norm(x, (x.shape[-1],), self.norm)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Each pair of numbers turned by an angle that grows with the position."""
    one, two = x.chunk(2, -1)
    return torch.cat((one * cos - two * sin, one * sin + two * cos), -1)


class BytePolicy(Policy):
    """The byte model with its chat format. The same seed gives the same weights."""

    call_format = "byte"
    prefill_tokens = 4096
    module: ByteModel

    def __init__(
        self, config: ByteConfig | None = None, *, seed: int = 0, name: str = "byte"
    ) -> None:
        config = config or ByteConfig()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = ByteModel(config)
        super().__init__(
            module,
            name=name,
            context_tokens=config.context_tokens,
            vocab_size=byte_chat.VOCAB_SIZE,
            stop_ids=frozenset([byte_chat.END]),
        )

    def encode_chat(self, messages: list[Message], tools: Tools | None = None) -> list[int]:
        return byte_chat.encode_chat(messages, tools)

    def encode_reply(self, message: Message, tools: Tools | None = None) -> list[int]:
        return byte_chat.encode_reply(message, tools)

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        return byte_chat.decode(ids)

    def hidden(self, ids: Tensor) -> Tensor:
        return self.module(ids, torch.arange(ids.shape[1], device=ids.device)[None])

    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.module.embedding.weight.T

    def save(self, folder: str | os.PathLike[str]) -> None:
        from safetensors.torch import save_file

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.state_dict(), folder / "model.safetensors")
        facts = {"model_type": KIND, "version": self.version, **asdict(self.module.config)}
        (folder / "config.json").write_text(json.dumps(facts, indent=2) + "\n")

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, name: str = "byte") -> BytePolicy:
        from safetensors.torch import load_file

        facts: dict[str, Any] = json.loads((Path(folder) / "config.json").read_text())
        if facts.pop("model_type", None) != KIND:
            raise ConfigError(f"{folder} holds no byte model: load it with open_policy")
        version = facts.pop("version")
        policy = cls(ByteConfig(**facts), name=name)
        policy.load_state_dict(load_file(Path(folder) / "model.safetensors"))
        policy.version = version
        return policy

    def open_cache(self) -> SlotCache:
        config = self.module.config
        return SlotCache(
            config.layers,
            config.key_heads,
            config.head_width,
            dtype=torch.float32,
            device=self.device,
        )

    @torch.no_grad()
    def prefill(self, cache: SlotCache, rows: list[int], prompts: list[list[int]]) -> Tensor:
        ids = padded(prompts, self.device)
        cache.make_room(max(rows) + 1, ids.shape[1])
        positions = torch.arange(ids.shape[1], device=self.device)[None]
        where = PromptRows(cache, torch.tensor(rows, device=self.device))
        return self.head(last_of(self.module(ids, positions, where), prompts))

    @torch.no_grad()
    def step(self, cache: SlotCache, ids: Tensor, positions: Tensor, length: int) -> Tensor:
        length = -(-length // COLUMNS) * COLUMNS
        cache.make_room(len(ids), length)
        where = StepRows(cache, positions, length)
        return self.head(self.module(ids[:, None], positions[:, None], where)[:, 0])
