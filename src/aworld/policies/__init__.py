"""The models that are trained, behind one protocol that the policy server and the trainer share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.policies.base import Policy
    from aworld.policies.byte_model import ByteConfig, BytePolicy
    from aworld.policies.hf_model import HFPolicy
    from aworld.policies.opening import open_policy

__all__ = ["ByteConfig", "BytePolicy", "HFPolicy", "Policy", "open_policy"]

__getattr__ = imported_on_demand(
    __name__,
    {
        "ByteConfig": "aworld.policies.byte_model",
        "BytePolicy": "aworld.policies.byte_model",
        "HFPolicy": "aworld.policies.hf_model",
        "Policy": "aworld.policies.base",
        "open_policy": "aworld.policies.opening",
    },
)
