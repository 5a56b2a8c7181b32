"""The policy server: the model being trained answers like any OpenAI-compatible server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.serve.generation import Generation
    from aworld.serve.generator import Generator
    from aworld.serve.sampling import Sampling
    from aworld.serve.server import PolicyServer
    from aworld.serve.weight_sync import SGLangSync, VLLMLoraSync, VLLMSync, WeightSync

__all__ = [
    "Generation",
    "Generator",
    "PolicyServer",
    "SGLangSync",
    "Sampling",
    "VLLMLoraSync",
    "VLLMSync",
    "WeightSync",
]

__getattr__ = imported_on_demand(
    __name__,
    {
        "Generation": "aworld.serve.generation",
        "Generator": "aworld.serve.generator",
        "PolicyServer": "aworld.serve.server",
        "SGLangSync": "aworld.serve.weight_sync",
        "Sampling": "aworld.serve.sampling",
        "VLLMLoraSync": "aworld.serve.weight_sync",
        "VLLMSync": "aworld.serve.weight_sync",
        "WeightSync": "aworld.serve.weight_sync",
    },
)
