"""How exactly a model computes while it learns; its weights move in float32 in any case."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, get_args

from aworld.errors import ConfigError
from aworld.train.algorithms.settings import check_choice

if TYPE_CHECKING:
    import torch

Precision = Literal["float32", "bf16"]

# by what `accelerate launch` was told
LAUNCHED: dict[str, Precision] = {"": "float32", "no": "float32", "bf16": "bf16"}


def chosen_precision(asked: Precision | None) -> Precision:
    """None: as `accelerate launch --mixed_precision` says, or else float32."""
    if asked is not None:
        check_choice("precision", asked, get_args(Precision))
        return asked
    told = os.environ.get("ACCELERATE_MIXED_PRECISION", "").lower()
    if told not in LAUNCHED:
        raise ConfigError(f"--mixed_precision {told} is not for training here: choose bf16, or no")
    return LAUNCHED[told]


def computing(precision: Precision, device: torch.device) -> torch.autocast:
    """Around forward passes: with bf16, matrix products are made in bfloat16. float32 leaves the
    model as it is."""
    import torch  # not before: a config is read without it

    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
