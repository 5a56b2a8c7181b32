"""The text of tokens while they are still being made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decode = Callable[[Sequence[int]], str]

BROKEN = "\ufffd"  # what the first bytes of a character decode to


class GrowingText:
    """The text of a growing list of ids; the first bytes of a character are not yet a text.

    Only the last few ids are decoded again for each new one. They start one piece further back than
    what is new: in many tokenizers the first token of a text loses its leading space.
    """

    def __init__(self, decode: Decode):
        self.text = ""
        self._decode = decode
        self._start = 0
        self._read = 0

    def read(self, ids: Sequence[int]) -> str:
        """All the text so far."""
        known = self._decode(ids[self._start : self._read])
        text = self._decode(ids[self._start :])
        if len(text) > len(known) and not text.endswith(BROKEN):
            self.text += text[len(known) :]
            self._start, self._read = self._read, len(ids)
        return self.text


def cut_at(text: str, stop: Sequence[str]) -> str | None:
    """The text before the first of the stop strings, if one of them is in it."""
    places = [place for place in map(text.find, stop) if place >= 0]
    return text[: min(places)] if places else None


def held_back(text: str, markers: Sequence[str]) -> int:
    """How many characters at the end may be the beginning of a marker."""
    longest = 0
    for marker in markers:
        for size in range(min(len(marker), len(text)), longest, -1):
            if text.endswith(marker[:size]):
                longest = size
                break
    return longest
