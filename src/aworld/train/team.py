"""Several processes that train one model, as `accelerate launch` starts them: one leads."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from aworld.core.failure import first_line
from aworld.engines import pickling
from aworld.errors import ConfigError, TrainingError
from aworld.policies.base import Policy
from aworld.train.memory import is_out_of_memory

Found = TypeVar("Found")

PATIENCE = timedelta(days=7)  # helpers wait while the leader gathers rollouts, however long


class Alone:
    """The one process that there usually is."""

    rank = 0
    size = 1

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def tell(self, message: Any) -> None:
        """From the leader to all others; what others say nobody hears."""

    def hear(self) -> Any:
        """Waits for the leader to `tell` something."""
        raise RuntimeError("there is nobody who leads")

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """All have the leader's from now on."""

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        """The leader has the sum of all from now on."""

    def gather(self, mine: Found) -> list[Found]:
        """What each has said, to all of them."""
        return [mine]

    def agree(self, work: Callable[[], Found]) -> Found:
        """Each does its own; where one fails, all do, so that none waits for it."""
        return work()

    def share(self, things: Sequence[Found]) -> list[Found]:
        """Every so manieth: of things in the order of their size, about as much for each."""
        return list(things[self.rank :: self.size])


class Work(NamedTuple):
    """A method of the trainer that all are to call, each for its share."""

    method: str
    arguments: tuple[Any, ...]


@dataclass
class End:
    """It is over. `facts` are what the leader knows of it."""

    failure: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


class Team(Alone):
    """Weights, gradients and words between processes. Only the leader moves the weights: the
    others keep nothing that could differ, or that would have to be restored."""

    def __init__(self) -> None:
        state = _processes()
        self.rank, self.size = state.process_index, state.num_processes
        self.device = state.device
        # a group of its own for words: NCCL would not wait long, and would not see a dead process
        with _in_touch():
            self._words: Any = dist.new_group(backend="gloo", timeout=PATIENCE)

    def tell(self, message: Any) -> None:
        if self.leads:
            self._broadcast(pickling.dumps(message, "message"))

    def hear(self) -> Any:
        return pickling.loads(self._broadcast(None))

    def spread(self, tensors: Iterable[Tensor]) -> None:
        with _in_touch(), torch.no_grad():
            for tensor in tensors:
                dist.broadcast(tensor.detach(), 0)

    def add_up(self, tensors: Iterable[Tensor]) -> None:
        with _in_touch():
            for tensor in tensors:
                dist.reduce(tensor, 0)

    def gather(self, mine: Found) -> list[Found]:
        found: list[Any] = [None] * self.size
        with _in_touch():
            dist.all_gather_object(found, mine, group=self._words)
        return found

    def agree(self, work: Callable[[], Found]) -> Found:
        done: list[Found] = []
        error: Exception | None = None
        try:
            done.append(work())
        except Exception as raised:
            error = raised
        said = None if error is None else (first_line(error), is_out_of_memory(error))
        for rank, problem in enumerate(self.gather(said)):
            if error is None and problem is not None:
                text = f"process {rank} of {self.size}: {problem[0]}"
                error = torch.OutOfMemoryError(text) if problem[1] else TrainingError(text)
        if error is not None:
            raise error
        return done[0]

    def _broadcast(self, message: bytes | None) -> bytes:
        box = [message]
        with _in_touch():
            dist.broadcast_object_list(box, 0, group=self._words)
        assert box[0] is not None
        return box[0]


_at_work: Alone = Alone()


def team_at_work() -> Alone:
    """Whoever trains in this process does so with these."""
    return _at_work


@contextmanager
def open_team(policy: Policy) -> Iterator[Alone]:
    """All processes that were launched together: every one of them must open it. The policy goes
    where this process computes, and has the weights that the leader's has."""
    global _at_work
    team = Alone()
    if launched_together():
        team = Team()
        if policy.device.type == team.device.type:  # on which of the GPUs, if it is on one
            policy.module.to(team.device)
        team.spread(policy.module.parameters())
    _at_work = team
    try:
        yield team
    finally:
        _at_work = Alone()


@contextmanager
def leading(team: Alone) -> Iterator[End]:
    """For the leader: whatever happens inside, the others are told that it is over."""
    end = End()
    try:
        yield end
    except BaseException as error:
        end.failure = f"{type(error).__name__}: {first_line(error)}"
        try:
            team.tell(end)
        except TrainingError:  # those are gone already
            pass
        raise
    team.tell(end)


def help_out(team: Alone, assist: Callable[[Work], None]) -> dict[str, Any]:
    """For the others: does what the leader says, until that is over; what is known of the end."""
    while isinstance(message := team.hear(), Work):
        assist(message)
    if message.failure:
        raise TrainingError(f"the leading process has ended the training: {message.failure}")
    return message.facts


def launched_together() -> bool:
    """Whether this process is one of several, as `accelerate launch` or `torchrun` start them."""
    return int(os.environ.get("WORLD_SIZE") or 1) > 1


def _processes() -> Any:
    try:
        from accelerate import PartialState
    except ImportError:
        raise ConfigError(
            "training in several processes needs: pip install 'aworld[train]'"
        ) from None
    wants_cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
    is_ours = not dist.is_initialized()
    state = PartialState(cpu=wants_cpu or not torch.cuda.is_available())
    if is_ours:
        atexit.register(_leave)
    return state


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def _in_touch() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise TrainingError(
            "another process of this training is gone: start all of them again, and go on from the "
            f"last checkpoint with resume=True ({first_line(error):.160})"
        ) from error
