"""Continuous batching: requests join those in flight between two decoding steps."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from aworld.config import check_count
from aworld.errors import ModelError
from aworld.policies.base import Policy
from aworld.serve.batch import Batch
from aworld.serve.generation import Generation
from aworld.serve.sampling import Sampling


class Generator:
    """A thread that decodes for all requests; it pauses while `policy.updating()` is held.

    A request that was in flight then goes on afterwards, its later tokens stamped with the new
    version. What it has read so far is kept as the old weights saw it.
    """

    def __init__(self, policy: Policy, *, max_batch: int = 256, max_waiting: int = 4096):
        check_count("max_batch", max_batch, least=1)
        check_count("max_waiting", max_waiting, least=1)
        self.policy = policy
        self.max_batch = max_batch
        self.max_waiting = max_waiting
        self._batch = Batch(policy)
        self._waiting: deque[Generation] = deque()
        self._news = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._work, name="aworld-generator", daemon=True)

    def start(self) -> Generator:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Whatever has not ended ends now, with an error."""
        with self._news:
            self._stopping = True
            self._news.notify()
        self._thread.join()

    def __enter__(self) -> Generator:
        return self.start()

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def load(self) -> tuple[int, int]:
        """How many requests are being decoded, and how many wait."""
        return len(self._batch), len(self._waiting)

    def submit(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        *,
        on_token: Callable[[], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> Generation:
        """Returns at once. The callbacks run in the generator's thread, and must be quick."""
        wanted, most = len(prompt) + sampling.max_tokens, self.policy.context_tokens
        if not prompt or sampling.max_tokens < 1:
            raise ModelError("a generation needs a prompt and room for at least one token")
        if wanted > most:
            raise ModelError(
                f"the prompt has {len(prompt)} tokens and max_tokens is {sampling.max_tokens}: "
                f"together more than the context of {most}"
            )
        decode = self.policy.decode
        new = Generation(prompt, sampling, decode=decode, on_token=on_token, on_end=on_end)
        with self._news:
            if self._stopping:
                raise ModelError("the policy server is stopping", status=503, may_pass=True)
            if len(self._waiting) >= self.max_waiting:
                many = f"{self.max_waiting} requests are waiting already"
                raise ModelError(many, status=429, may_pass=True)
            self._waiting.append(new)
            self._news.notify()
        return new

    def generate(
        self, prompts: Sequence[Sequence[int]], samplings: Sequence[Sampling]
    ) -> list[Generation]:
        """All of them, when all have ended."""
        generations = [self.submit(*one) for one in zip(prompts, samplings, strict=True)]
        for generation in generations:
            generation.wait()
        return generations

    # -- in its thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._stopping or self._waiting or self._batch.rows)
                if self._stopping:
                    break
            self._turn()
        stopped = ModelError("the policy server has stopped", status=503, may_pass=True)
        for generation in [*self._batch.rows, *self._waiting]:
            generation.error = stopped
            generation.end()

    def _turn(self) -> None:
        """Lets newcomers in, decodes one step, and tells whom it concerns."""
        with self.policy.decoding() as version:
            over = self._batch.drop_ended()  # those that were cancelled
            newcomers = self._newcomers()
            if newcomers:
                try:
                    self._batch.admit(newcomers, version)
                except Exception as error:
                    over += _failed(newcomers, error)
            over += self._batch.drop_ended()
            rows = list(self._batch.rows)
            if rows:
                try:
                    self._batch.step(version)
                except Exception as error:
                    over += _failed(rows, error)
                    self._batch = Batch(self.policy)
            over += self._batch.drop_ended()
        for row in rows:
            row.tell()
        for generation in {id(one): one for one in over}.values():
            generation.end()

    def _newcomers(self) -> list[Generation]:
        """As many as there are rows for, and as the model may read at once."""
        chosen: list[Generation] = []
        prompts: set[tuple[int, ...]] = set()
        longest = 0
        with self._news:
            while self._waiting and len(self._batch) + len(chosen) < self.max_batch:
                new = self._waiting[0]
                if new.cancelled:
                    self._waiting.popleft().end()
                    continue
                longest = max(longest, len(new.prompt))
                prompts.add(tuple(new.prompt))
                if chosen and len(prompts) * longest > self.policy.prefill_tokens:
                    break
                chosen.append(self._waiting.popleft())
        return chosen


def _failed(generations: list[Generation], error: Exception) -> list[Generation]:
    """A model that has no room for these may have it for the next ones."""
    failure = ModelError(f"the model failed: {type(error).__name__}: {error}", may_pass=True)
    for generation in generations:
        generation.error = failure
    return generations
