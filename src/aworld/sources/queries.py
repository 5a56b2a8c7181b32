"""Reads the options of a source, which stand after a ? as in a web address."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from aworld.errors import ConfigError

WORDS = {"True": True, "False": False, "None": None}  # as Python writes them; json knows the others


def split_query(text: str) -> tuple[str, dict[str, Any]]:
    """'chain_sum?size=20&seed=1' is ('chain_sum', {'size': 20, 'seed': 1})."""
    name, _, query = text.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ConfigError(f"{text!r}: write the options like '?size=20&seed=1'") from None
    options: dict[str, Any] = {}
    for key, value in pairs:
        if key in options:
            raise ConfigError(f"{text!r}: the option {key!r} is there twice: leave one out")
        options[key] = _value(value)
    return name, options


def _value(text: str) -> Any:
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text
