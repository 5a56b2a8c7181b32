"""Any causal language model of Hugging Face, with or without adapters of PEFT."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.policies.chat_templates import chosen_template
from aworld.policies.hf_cache import ATTENTION, GraphedCache, RowsCache, Shapes
from aworld.policies.hf_chat import HFChat
from aworld.policies.messages import Message, Tools
from aworld.policies.quiet import no_progress_bars
from aworld.policies.slots import PromptRows, SlotCache, StepRows, last_of, padded

OWN_FACTS = "aworld.json"


class HFPolicy(Policy):
    """A model and its tokenizer.

    Its attention is replaced by ours, the same for training and decoding. Whether the model then
    still says what it said before, at once and token by token, is tried out before anything else.
    """

    module: Any

    def __init__(
        self,
        module: nn.Module,
        tokenizer: Any,
        *,
        name: str,
        context_tokens: int | None = None,
        chat_template: str | None = None,
    ):
        tokenizer.chat_template = chosen_template(chat_template, tokenizer.chat_template, name)
        self.module = module.eval()
        self.chat = HFChat(tokenizer, name)
        super().__init__(
            module,
            name=name,
            context_tokens=_context(self.language_model.config, context_tokens),
            vocab_size=self.language_model.get_output_embeddings().weight.shape[0],
            stop_ids=self.chat.stop_ids | _generation_ends(self.language_model),
        )
        self.prefill_tokens = 32768 if self.device.type == "cuda" else 2048
        self._shapes = self._tried_out()

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        device: str | None = None,
        dtype: torch.dtype | None = None,
        context_tokens: int | None = None,
        chat_template: str | None = None,
    ) -> HFPolicy:
        """From a folder or a name that transformers knows; adapters with the model below them.

        By default in bfloat16 on the GPU, where there is one, and in float32 on the CPU.
        """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        dtype = dtype or (torch.bfloat16 if device.startswith("cuda") else torch.float32)
        facts_file = Path(folder) / OWN_FACTS
        facts = json.loads(facts_file.read_text()) if facts_file.exists() else {}
        try:
            if (Path(folder) / "adapter_config.json").exists():
                from peft import AutoPeftModelForCausalLM

                module: Any = AutoPeftModelForCausalLM.from_pretrained(
                    folder, dtype=dtype, is_trainable=True
                )
            else:
                module = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
            tokenizer = AutoTokenizer.from_pretrained(folder)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"no model can be loaded from {os.fspath(folder)!r}: {error}"
            ) from None
        policy = cls(
            module.to(device),
            tokenizer,
            name=name or facts.get("name") or Path(folder).name,
            context_tokens=context_tokens or facts.get("context_tokens"),
            chat_template=chat_template,
        )
        policy.version = facts.get("version", 0)
        return policy

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Of a model with adapters, the adapters only."""
        folder = Path(folder)
        with no_progress_bars():
            self.module.save_pretrained(folder)
        self.chat.tokenizer.save_pretrained(folder)
        facts = {
            "name": self.name,
            "version": self.version,
            "context_tokens": self.context_tokens,
        }
        (folder / OWN_FACTS).write_text(json.dumps(facts, indent=2) + "\n")

    @property
    def language_model(self) -> Any:
        """Without the wrapping of PEFT, which puts its adapters inside it."""
        config = getattr(self.module, "active_peft_config", None)
        if config is None:
            return self.module
        if config.is_prompt_learning:
            raise ConfigError("of PEFT, adapters inside the model (LoRA and its like) can be used")
        return self.module.get_base_model()

    # -- text --------------------------------------------------------------------------------------

    def encode_chat(self, messages: list[Message], tools: Tools | None = None) -> list[int]:
        return self.chat.encode_chat(messages, tools)

    def encode_reply(self, message: Message, tools: Tools | None = None) -> list[int]:
        return self.chat.encode_reply(message, tools, self.stop_ids)

    def encode(self, text: str) -> list[int]:
        return self.chat.tokenizer.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        return self.chat.decode(ids)

    # -- numbers -----------------------------------------------------------------------------------

    def hidden(self, ids: Tensor) -> Tensor:
        return self._body(ids, torch.arange(ids.shape[1], device=ids.device)[None])

    def head(self, hidden: Tensor) -> Tensor:
        model = self.language_model
        logits = model.get_output_embeddings()(hidden)
        config = model.config
        if getattr(config, "logits_scaling", None):  # Granite
            logits = logits / config.logits_scaling
        if getattr(config, "logit_scale", None):  # Cohere
            logits = logits * config.logit_scale
        if getattr(config, "final_logit_softcapping", None):  # Gemma
            most = config.final_logit_softcapping
            logits = torch.tanh(logits / most) * most
        return logits

    def _body(
        self,
        ids: Tensor,
        positions: Tensor,
        rows: PromptRows | StepRows | Shapes | None = None,
    ) -> Tensor:
        return self.language_model.base_model(
            input_ids=ids,
            position_ids=positions,
            attention_mask=rows.mask if isinstance(rows, StepRows) else None,
            past_key_values=None if rows is None else RowsCache(rows),
            use_cache=rows is not None,
        ).last_hidden_state

    def open_cache(self) -> GraphedCache:
        return self._shapes.open_cache(self.language_model.dtype, self.device)

    @torch.no_grad()
    def prefill(self, cache: SlotCache, rows: list[int], prompts: list[list[int]]) -> Tensor:
        ids = padded(prompts, self.device)
        cache.make_room(max(rows) + 1, ids.shape[1])
        positions = torch.arange(ids.shape[1], device=self.device)[None]
        where = PromptRows(cache, torch.tensor(rows, device=self.device))
        return self.head(last_of(self._body(ids, positions, where), prompts)).float()

    @torch.no_grad()
    def step(self, cache: SlotCache, ids: Tensor, positions: Tensor, length: int) -> Tensor:
        if isinstance(cache, GraphedCache) and self.device.type == "cuda":
            return cache.replay(self._decode, ids, positions, length)
        cache.make_room(len(ids), length)
        return self._decode(cache, ids, positions, length)

    def _decode(self, cache: SlotCache, ids: Tensor, positions: Tensor, length: int) -> Tensor:
        rows = StepRows(cache, positions, length)
        return self.head(self._body(ids[:, None], positions[:, None], rows)[:, 0]).float()

    @torch.no_grad()
    def _tried_out(self) -> Shapes:
        """What its cache must hold; refuses a model that does not work in our way."""
        model, kind = self.language_model, type(self.language_model).__name__
        prompts = [[1, 2, 3], [3, 1, 2, 4, 5]]
        ids = padded(prompts, self.device)
        try:
            before = model(ids).logits.float()
            model.set_attn_implementation(ATTENTION)
            self._shapes = Shapes()
            self._body(ids, torch.arange(5, device=self.device)[None], self._shapes)
            cache = self.open_cache()
            self.prefill(cache, [0, 1], [prompt[:-1] for prompt in prompts])
            last = torch.tensor([3, 5], device=self.device)
            after = self._decode(cache, last, torch.tensor([2, 4], device=self.device), 8)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ConfigError(f"{kind} cannot be decoded here, only by vLLM: {reason}") from error
        expected = torch.stack([before[0, 2], before[1, 4]])
        if (after - expected).abs().mean() > 0.1 * expected.std():
            raise ConfigError(f"{kind} cannot be decoded here, only by vLLM: its logits differ")
        return self._shapes


def _context(config: Any, wanted: int | None) -> int:
    """A sliding window as long as the context is no window at all."""
    limits = [
        getattr(config, name, None)
        for name in ("max_position_embeddings", "n_positions", "sliding_window")
    ]
    most = min(limit for limit in [*limits, 2**17] if limit)
    if wanted is not None and wanted > most:
        raise ConfigError(f"context_tokens={wanted}: this model can be used up to {most}")
    return wanted or most


def _generation_ends(model: Any) -> frozenset[int]:
    ends = getattr(model.generation_config, "eos_token_id", None)
    return frozenset(ends if isinstance(ends, list) else [ends] if ends is not None else [])
