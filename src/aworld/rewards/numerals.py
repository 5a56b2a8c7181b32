"""Finds the number in a text: '$1,234.50', '-3e5', '3/4', '2.5 x 10^3', '12 %'."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

CURRENCY = "$€£¥₹"
LARGEST_EXPONENT = 9999  # beyond this it is a jest, and arithmetic with it would not end well
ROUNDING = 1e-12  # what arithmetic with floats may add to a number

# Not inside a word ('CO2', 'm2') and not the end of a version ('3.11.2'); a hyphen after a digit
# or a letter ('10-20', 'COVID-19') is no sign.
NUMBER = re.compile(
    r"""
    (?P<sign>(?<![\w)])[-+\u2212])?
    (?:[$€£¥₹][ ]?)?
    (?P<inner>(?<=[$€£¥₹])[-+\u2212])?
    (?<!\w)(?<![0-9]\.)
    (?P<in_date>(?<=[0-9]/))?
    (?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)
    (?:[eE](?P<exponent>[-+]?[0-9]+)
      |\s?[xX*\u00d7]\s?10(?:\^|\*\*)\{?(?P<power>[-+\u2212]?[0-9]+)\}?
      |(?(in_date)(?!)|/(?P<divisor>[0-9]++)(?!/|\.[0-9])))?
    """,
    re.VERBOSE,
)


def last_number(value: Any) -> Decimal | None:
    """The value itself, or the last number in its text. A percent sign or a unit changes nothing:
    '12 %' is 12."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    found = [_number(match) for match in NUMBER.finditer(str(value))]
    return next((number for number in reversed(found) if number is not None), None)


def whole_number(value: Any) -> Decimal | None:
    """The number, if the text is one and nothing else but a currency or a percent sign."""
    if not isinstance(value, str):
        return last_number(value)
    match = NUMBER.fullmatch(value.strip().rstrip(f"%{CURRENCY}").strip())
    return None if match is None else _number(match)


def same_number(
    one: Decimal, other: Decimal, *, tolerance: float = 0.0, relative: float = 0.0
) -> bool:
    """Whole numbers are told apart however large they are; others as well as floats can."""
    if one == other:
        return True
    if not (_is_whole(one) and _is_whole(other)):
        relative = max(relative, ROUNDING)
    allowed = max(Decimal(tolerance), Decimal(relative) * max(abs(one), abs(other)))
    return abs(one - other) <= allowed


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _number(match: re.Match[str]) -> Decimal | None:
    digits = match["digits"].replace(",", "")
    exponent = (match["exponent"] or match["power"] or "0").replace("\N{MINUS SIGN}", "-")
    if len(exponent) > 6 or len(digits) > LARGEST_EXPONENT:
        return None
    number = Decimal(f"{digits}e{exponent}")
    if number and abs(number.adjusted()) > LARGEST_EXPONENT:
        return None
    if match["divisor"]:
        divisor = Decimal(match["divisor"])
        if not divisor or divisor.adjusted() > LARGEST_EXPONENT:
            return None
        number /= divisor
    sign = (match["sign"] or match["inner"] or "").strip()
    return number.copy_negate() if sign in ("-", "\N{MINUS SIGN}") else number
