"""One request to the model: what was asked, and what has been sampled for it so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal

from aworld.errors import ModelError
from aworld.serve.sampling import Sampling
from aworld.serve.text import Decode, GrowingText, cut_at

FinishReason = Literal["stop", "length"]


class Generation:
    """Grows token by token in the generator's thread; others look, wait or cancel.

    `ids`, `logprobs` and `versions` belong together: token for token what was drawn, how likely it
    was and which policy version drew it, the token that ended the turn included.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        *,
        decode: Decode,
        on_token: Callable[[], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ):
        self.prompt = list(prompt)
        self.sampling = sampling
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.versions: list[int] = []
        self.finish_reason: FinishReason | None = None
        self.error: ModelError | None = None
        self.cancelled = False
        self._ended = threading.Event()
        self._decode = decode
        self._growing = GrowingText(decode) if sampling.stop else None
        self._text: str | None = None
        self._on_token = on_token
        self._on_end = on_end

    def cancel(self) -> None:
        """Nobody waits for it any more: its place is given away before the next step."""
        self.cancelled = True

    @property
    def is_over(self) -> bool:
        """Whether no more tokens are to be made for it."""
        return self.finish_reason is not None or self.error is not None or self.cancelled

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def wait(self, timeout: float | None = None) -> None:
        """Until it has ended; raises what went wrong."""
        if not self._ended.wait(timeout):
            raise TimeoutError(f"no end of the generation within {timeout:g} s")
        if self.error is not None:
            raise self.error
        if self.finish_reason is None:
            raise ModelError("the generation was cancelled")

    @property
    def text(self) -> str:
        """Up to the stop string, where there was one."""
        if self._text is None or not self.ended:
            self._text = self._decode(self.ids)
            cut = cut_at(self._text, self.sampling.stop)
            self._text = self._text if cut is None else cut
        return self._text

    # -- the generator's side ----------------------------------------------------------------------

    def take(self, id: int, logprob: float, version: int) -> None:
        self.ids.append(id)
        self.logprobs.append(logprob)
        self.versions.append(version)
        if id in self.sampling.stop_ids or self._said_stop():
            self.finish_reason = "stop"
        elif len(self.ids) >= self.sampling.max_tokens:
            self.finish_reason = "length"

    def _said_stop(self) -> bool:
        if self._growing is None:
            return False
        return cut_at(self._growing.read(self.ids), self.sampling.stop) is not None

    def end(self) -> None:
        self._ended.set()
        if self._on_end is not None:
            self._on_end()

    def tell(self) -> None:
        if self._on_token is not None:
            self._on_token()
