"""Attention in which several heads of queries share the keys and values of one."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """(rows, heads, length, width); causal without a mask, else (rows, 1, 1, columns) for one step.

    In a step the heads that share keys are laid out as if they were positions, so that the keys of
    the whole cache are never repeated for them.
    """
    if mask is None:
        return scaled_dot_product_attention(
            queries,
            keys,
            values,
            is_causal=True,
            scale=scale,
            dropout_p=dropout,
            enable_gqa=queries.shape[1] != keys.shape[1],
        )
    folded = queries.reshape(len(queries), keys.shape[1], -1, queries.shape[3])
    return scaled_dot_product_attention(folded, keys, values, mask, scale=scale).reshape(
        queries.shape
    )
