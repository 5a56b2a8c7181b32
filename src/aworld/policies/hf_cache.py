"""How a Hugging Face model decodes with our cache: its attention, its Cache, its CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, Cache

from aworld.policies.attention import attend
from aworld.policies.slots import PromptRows, SlotCache, StepRows

ATTENTION = "aworld"
Decode = Callable[[SlotCache, Tensor, Tensor, int], Tensor]
Graph = tuple[Any, Tensor, Tensor, Tensor]  # with what it reads, ids and positions, and its logits


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **more: Any,
) -> tuple[Tensor, None]:
    """Registered with transformers, which makes no masks for it: we pass our own, or none."""
    for name in ("softcap", "s_aux", "position_bias"):
        if more.get(name) is not None:
            raise ValueError(f"attention with {name!r} is not known")
    attended = attend(query, key, value, attention_mask, scaling, dropout)
    return attended.transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, attention)


class RowsCache(Cache):
    """Our rows, in the form that transformers' models write to."""

    def __init__(self, rows: PromptRows | StepRows | Shapes):
        super().__init__(layers=[])
        self.rows = rows

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        return self.rows.update(key_states, value_states, layer_idx)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0  # positions are always given


class Shapes:
    """Learns how many layers there are and what each keeps; configs have many names for it."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[int, int]] = {}

    def update(self, keys: Tensor, values: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        if keys.shape != values.shape:
            raise ValueError("keys and values have different sizes")
        self.seen[layer] = (keys.shape[1], keys.shape[3])
        return keys, values

    def open_cache(self, dtype: torch.dtype, device: torch.device) -> GraphedCache:
        if len(set(self.seen.values())) != 1:
            raise ValueError("its layers are not all of the same attention")
        heads, width = self.seen[0]
        return GraphedCache(len(self.seen), heads, width, dtype=dtype, device=device)


class GraphedCache(SlotCache):
    """With the CUDA graphs of the steps that write to it.

    Launching the kernels of a step takes far longer than running them. A graph launches all of them
    at once, for a fixed number of rows and columns: both are rounded up.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._graphs: dict[tuple[int, int], Graph] = {}
        self._pool: Any = None

    def make_room(self, rows: int, length: int) -> bool:
        if not super().make_room(rows, length):
            return False
        self._graphs.clear()  # they write to where the cache was
        self._pool = None  # it is gone with the last graph that used it
        return True

    def replay(self, decode: Decode, ids: Tensor, positions: Tensor, length: int) -> Tensor:
        size = rows_for(len(ids)), columns_for(length)
        self.make_room(*size)
        known = self._graphs.get(size)
        # rows that nobody has taken yet are fed too, and write to their column 0
        its_ids = known[1] if known else ids.new_zeros(size[0])
        its_positions = known[2] if known else ids.new_zeros(size[0])
        its_ids.zero_()[: len(ids)] = ids
        its_positions.zero_()[: len(ids)] = positions
        if known is None:
            known = self._graphs[size] = self._captured(decode, its_ids, its_positions, size[1])
        known[0].replay()
        return known[3][: len(ids)]

    def _captured(self, decode: Decode, ids: Tensor, positions: Tensor, length: int) -> Graph:
        """What it writes into the cache on the way is what its first replay will write again."""
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        now, aside = torch.cuda.current_stream(ids.device), torch.cuda.Stream(ids.device)
        aside.wait_stream(now)
        with torch.cuda.stream(aside):
            decode(self, ids, positions, length)  # libraries set themselves up in their first call
        now.wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        # other threads may go on with what they do on this device, training for example
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            logits = decode(self, ids, positions, length)
        return graph, ids, positions, logits


def rows_for(count: int) -> int:
    """16, 32, 64, ...: a step with few rows takes as long as one with more."""
    return max(16, 1 << (count - 1).bit_length())


def columns_for(count: int) -> int:
    """128, 192, 256, 384, 512, ...: few sizes, and none much too large."""
    size = 1 << (max(count, 128) - 1).bit_length()
    return size * 3 // 4 if size * 3 // 4 >= max(count, 128) else size
