"""Gradients of batches, and the steps that they make; by several processes, where there are some.

The leader calls `values` and `make`; the others `assist`, which calls the same methods, each for
its share of the rows. What a loss is divided by comes from the whole batch, so shares are added up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from aworld.policies.base import Policy
from aworld.train.advantages import Numbers
from aworld.train.algorithms import Algorithm
from aworld.train.algorithms.metrics import figures
from aworld.train.batches import TokenBatch, Totals, micro_batches
from aworld.train.descent import Descent
from aworld.train.episodes import Episode
from aworld.train.memory import is_out_of_memory
from aworld.train.passes import outputs_of, values_of, with_old_logprobs, with_ref_logprobs
from aworld.train.precision import Precision, computing
from aworld.train.team import Work, team_at_work
from aworld.train.values import ValueHead


class Updates:
    """A model, what it needs to learn, and those who help."""

    def __init__(
        self,
        policy: Policy,
        head: ValueHead | None,
        reference: Policy | None,
        *,
        weight_decay: float,
        clip: float | None,
        precision: Precision,
    ):
        extra = [] if head is None else list(head.parameters())
        self.descent = Descent([*policy.parameters(), *extra], weight_decay=weight_decay, clip=clip)
        self.precision: Precision = precision
        self._policy = policy
        self._head = head
        self._reference = reference
        self._team = team_at_work()
        if reference is not None and self._team.leads:
            self._spread_reference()

    def assist(self, work: Work) -> None:
        """For those that do not lead."""
        try:
            getattr(self, work.method)(*work.arguments)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):  # of that the leader knows, and asks for smaller parts
                raise
        finally:
            self.descent.clear()

    def values(self, episodes: Sequence[Episode], budget: int) -> list[Numbers]:
        """What is expected before each turn of each episode."""
        team, head = self._team, self._head
        assert head is not None
        team.tell(Work("values", (episodes, budget)))
        team.spread([*self._policy.parameters(), *head.parameters()])
        mine = team.share(range(len(episodes)))
        chosen = [episodes[place] for place in mine]
        with self._computing():
            found = team.agree(lambda: values_of(self._policy, head, chosen, budget))
        pairs = team.gather(list(zip(mine, found, strict=True)))
        values = dict(pair for ours in pairs for pair in ours)
        return [values[place] for place in range(len(episodes))]

    def make(
        self,
        batches: Sequence[TokenBatch],
        budget: int,
        algorithm: Algorithm,
        rate: float,
        refers: bool,
    ) -> dict[str, float]:
        """An update for each batch, up to one whose gradient is not finite; the mean figures, and
        how many `updates` there were. All but the first are off the policy that they began with.
        refers: to the reference."""
        team, weights = self._team, self._weights(algorithm)
        team.tell(Work("make", (batches, budget, algorithm, rate, refers)))
        team.spread(weights)
        split = team.agree(lambda: self._parts(batches, budget, refers))
        made: list[dict[str, float]] = []
        for batch, parts in zip(batches, split, strict=True):
            if made:
                team.spread(weights)
            made.append(self._update(parts, batch.totals, algorithm, rate))
            if not math.isfinite(made[-1]["gradient_norm"]):
                break
        counts = {
            "updates": sum(math.isfinite(one["gradient_norm"]) for one in made),
            "tokens": sum(batch.totals.tokens for batch in batches),
            "micro_batches": sum(team.gather(sum(map(len, split)))),
        }
        return {name: sum(one[name] for one in made) / len(made) for name in made[0]} | counts

    def _parts(
        self, batches: Sequence[TokenBatch], budget: int, refers: bool
    ) -> list[list[TokenBatch]]:
        """This process's share of each batch."""
        split = []
        for batch in batches:
            rows = batch.lengths.argsort(descending=True, stable=True).tolist()
            parts = micro_batches(batch.take(self._team.share(rows)), budget)
            split.append([part.to(self._policy.device) for part in parts])
        with self._computing():
            if len(batches) > 1:
                split = [with_old_logprobs(self._policy, parts) for parts in split]
            if refers and self._reference is not None:
                split = [with_ref_logprobs(self._reference, parts) for parts in split]
        return split

    def _update(
        self, parts: Sequence[TokenBatch], totals: Totals, algorithm: Algorithm, rate: float
    ) -> dict[str, float]:
        team = self._team
        self.descent.clear()
        ours = team.agree(lambda: self._gradients(parts, totals, algorithm))
        metrics = [one for some in team.gather(ours) for one in some]
        self.descent.add_up(team)
        norm = team.gather(self.descent.norm())[0]  # the leader's, who has the sum
        if team.leads and math.isfinite(norm):
            self.descent.step(rate, norm, self._policy.updating())
        else:
            self.descent.clear()
        return {**figures(metrics), "gradient_norm": norm, "learning_rate": rate}

    def _gradients(
        self, parts: Sequence[TokenBatch], totals: Totals, algorithm: Algorithm
    ) -> list[dict[str, Tensor]]:
        """Leaves them with the weights; gives what is to be watched of each part."""
        entropy = bool(getattr(algorithm.settings, "entropy", 0.0))
        head = self._head if algorithm.needs_values else None
        metrics = []
        for part in parts:
            with self._computing():
                outputs = outputs_of(self._policy, part, head, entropy=entropy)
            loss = algorithm.loss(outputs, part, totals)
            loss.value.backward()
            self.descent.gather()
            metrics.append({name: share.detach().cpu() for name, share in loss.metrics.items()})
        return metrics

    def _weights(self, algorithm: Algorithm) -> list[nn.Parameter]:
        """Those that move, and that a pass needs."""
        head = self._head if algorithm.needs_values else None
        return [*self._policy.parameters(), *([] if head is None else head.parameters())]

    def _spread_reference(self) -> None:
        """The others made theirs of the weights that they began with."""
        assert self._reference is not None
        self._team.tell(Work("_spread_reference", ()))
        self._team.spread(self._reference.module.parameters())

    def _computing(self) -> Any:
        return computing(self.precision, self._policy.device)
