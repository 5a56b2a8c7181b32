"""Log-probabilities of given tokens, without ever holding the logits of a whole batch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

LOGITS_AT_ONCE = 2**25  # 128 MiB in float32
Head = Callable[[Tensor], Tensor]


def selected_logprobs(
    head: Head,
    hidden: Tensor,
    targets: Tensor,
    temperatures: Tensor,
    *,
    vocab_size: int,
    entropy_trains: bool = False,
) -> tuple[Tensor, Tensor]:
    """Of each target, with gradient, and the entropy it was drawn with, without, unless it trains.

    hidden (tokens, width), targets and temperatures (tokens,). Where it takes several pieces, the
    logits of a piece are computed again in the backward pass instead of being kept.
    """
    at_once = max(1, LOGITS_AT_ONCE // vocab_size)
    pieces = list(
        zip(hidden.split(at_once), targets.split(at_once), temperatures.split(at_once), strict=True)
    )
    if len(pieces) == 1 or not torch.is_grad_enabled():
        parts = [_of_piece(head, entropy_trains, *piece) for piece in pieces]
    else:
        parts = [
            checkpoint(_of_piece, head, entropy_trains, *piece, use_reentrant=False)
            for piece in pieces
        ]
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])


def _of_piece(
    head: Head, entropy_trains: bool, hidden: Tensor, targets: Tensor, temperatures: Tensor
) -> tuple[Tensor, Tensor]:
    logits = head(hidden).float() / temperatures[:, None]
    logprobs = torch.log_softmax(logits, -1)
    spread = logprobs if entropy_trains else logprobs.detach()
    entropy = -(spread.exp() * spread).nan_to_num(nan=0.0).sum(-1)
    return logprobs.gather(-1, targets[:, None])[:, 0], entropy
