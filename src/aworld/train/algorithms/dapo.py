"""DAPO: GRPO with more room upwards than downwards, and the mean over tokens.

Groups without a difference are dropped, to be sampled anew; what was cut short is masked. Yu et al.
2025, arXiv:2503.14476.
"""

from __future__ import annotations

from dataclasses import dataclass

from aworld.train.algorithms.base import Recipe
from aworld.train.algorithms.clipping import clipped_loss
from aworld.train.algorithms.grpo import GrpoSettings, credit
from aworld.train.algorithms.settings import Aggregation, Use


@dataclass(frozen=True)
class DapoSettings(GrpoSettings):
    truncated: Use = "mask"
    aggregation: Aggregation = "token"
    clip_high: float = 0.28


DAPO = Recipe(DapoSettings, credit, clipped_loss)
