"""Moves weights along their gradients, in float32 whatever the model computes in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from aworld.errors import ConfigError
from aworld.train.team import Alone


class Descent:
    """AdamW. Parameters that are not float32 have a float32 copy, which is what really moves: a
    small step would be lost in the rounding of bfloat16."""

    def __init__(
        self, parameters: Sequence[nn.Parameter], *, weight_decay: float, clip: float | None
    ):
        if not parameters:
            raise ConfigError("the model has no weights that train: none of them requires_grad")
        self._parameters = list(parameters)
        self._masters = [_master(parameter) for parameter in self._parameters]
        self._clip = clip
        self.optimizer = torch.optim.AdamW(self._masters, lr=0.0, weight_decay=weight_decay)

    def clear(self) -> None:
        for tensor in (*self._parameters, *self._masters):
            tensor.grad = None

    def gather(self) -> None:
        """After each backward pass: adds what it found where it is exact."""
        for parameter, master in self._pairs():
            if parameter.grad is not None:
                found = parameter.grad.float()
                master.grad = found if master.grad is None else master.grad.add_(found)
                parameter.grad = None

    def add_up(self, team: Alone) -> None:
        """Of several processes, the leader has the sum of all gradients from now on."""
        mine = [master.grad is not None for master in self._masters]
        found = [any(one) for one in zip(*team.gather(mine), strict=True)]
        gradients: list[Tensor] = []
        for master, somebody_has_one in zip(self._masters, found, strict=True):
            if somebody_has_one:
                master.grad = torch.zeros_like(master) if master.grad is None else master.grad
                gradients.append(master.grad)
        team.add_up(gradients)

    def norm(self) -> float:
        """Of the whole gradient."""
        gradients = [master.grad for master in self._masters if master.grad is not None]
        return float(torch.nn.utils.get_total_norm(gradients)) if gradients else 0.0

    def step(self, rate: float, norm: float, moving: AbstractContextManager[None]) -> None:
        """Goes one step down. `moving` is held while the weights change."""
        if self._clip is not None and norm > self._clip:
            for master in self._masters:
                if master.grad is not None:
                    master.grad.mul_(self._clip / norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with moving:
            self.optimizer.step()
            self._copy_masters()
        self.clear()

    def state_dict(self) -> dict[str, Any]:
        weights = [master.detach() for master in self._masters]
        return {"weights": weights, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Puts the weights back, too."""
        given: list[Tensor] = state["weights"]
        if [tuple(one.shape) for one in given] != [tuple(one.shape) for one in self._masters]:
            raise ConfigError("the checkpoint is of another model: its weights have other shapes")
        with torch.no_grad():
            for master, saved in zip(self._masters, given, strict=True):
                master.copy_(saved)
            self._copy_masters()
        self.optimizer.load_state_dict(state["optimizer"])

    def _pairs(self) -> Iterable[tuple[nn.Parameter, Tensor]]:
        """Those whose master is another tensor."""
        for parameter, master in zip(self._parameters, self._masters, strict=True):
            if parameter is not master:
                yield parameter, master

    @torch.no_grad()
    def _copy_masters(self) -> None:
        for parameter, master in self._pairs():
            parameter.copy_(master)


def _master(parameter: nn.Parameter) -> Tensor:
    if parameter.dtype == torch.float32:
        return parameter
    return parameter.detach().float().clone()
