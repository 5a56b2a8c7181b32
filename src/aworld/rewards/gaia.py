"""The match of the GAIA benchmark: forgiving about form, strict about content.

The ground truth says what is compared: a number with a number, a list (by comma or semicolon)
element by element and in its order, anything else as text without case, white space, punctuation
and articles. Unlike GAIA's own scorer, '1,234' is a number, and articles do not count.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from aworld.rewards.base import Match, text_of
from aworld.rewards.numerals import same_number, whole_number

ARTICLES = {"a", "an", "the"}
ASCII_PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
FINAL_ANSWER = re.compile(r"final answer\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class GaiaMatch(Match):
    """What stands after the last 'FINAL ANSWER:', or else the whole answer, is the truth."""

    def matches(self, answer: Any, truth: Any) -> bool:
        return same_answer(FINAL_ANSWER.split(_as_text(answer))[-1], _as_text(truth))


def same_answer(answer: str, truth: str) -> bool:
    if whole_number(truth) is not None or not re.search("[,;]", truth):
        return _same_element(answer, truth, punctuation=False)
    found, wanted = re.split("[,;]", answer), re.split("[,;]", truth)
    return len(found) == len(wanted) and all(
        _same_element(one, other, punctuation=True)
        for one, other in zip(found, wanted, strict=True)
    )


def normalised(text: str, *, punctuation: bool = False) -> str:
    """`punctuation` keeps it: in a list it may be all that an element is."""
    before = None
    while before != text:  # folding one letter may give two, and one of them a space
        before = text
        text = _folded(text, punctuation)
    return text


def _folded(text: str, punctuation: bool) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if not punctuation:
        text = "".join(letter for letter in text if not _is_punctuation(letter))
    words = text.split()
    telling = [word for word in words if word not in ARTICLES]
    return "".join(telling or words)  # an answer of articles alone is that article


def _is_punctuation(letter: str) -> bool:
    return letter in ASCII_PUNCTUATION or unicodedata.category(letter).startswith("P")


def _same_element(answer: str, truth: str, *, punctuation: bool) -> bool:
    wanted = whole_number(truth)
    if wanted is None:
        mine, theirs = (normalised(text, punctuation=punctuation) for text in (answer, truth))
        return mine == theirs
    found = whole_number(answer.strip().removesuffix("."))
    return found is not None and same_number(found, wanted)


def _as_text(value: Any) -> str:
    """A list of values is written like the lists of GAIA."""
    if isinstance(value, list):
        return ", ".join(text_of(part) for part in value)
    return text_of(value)


gaia_match = GaiaMatch()
"""What stands after the last 'FINAL ANSWER:' is the truth, whatever its form (`any_of`)."""
