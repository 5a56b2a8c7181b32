"""Scores a finished trajectory. Not known is None, not 0."""

from aworld.rewards.base import Reward, Scored, has_answer
from aworld.rewards.catalog import name_of, named
from aworld.rewards.code_answers import code_tests
from aworld.rewards.combined import failures_as, weighted
from aworld.rewards.gaia import gaia_match
from aworld.rewards.json_answers import json_match
from aworld.rewards.matching import contains, exact_match, numeric_match, regex_match
from aworld.rewards.scoring import score
from aworld.rewards.tool_use import tool_used
from aworld.rewards.verdicts import judge

__all__ = [
    "Reward",
    "Scored",
    "code_tests",
    "contains",
    "exact_match",
    "failures_as",
    "gaia_match",
    "has_answer",
    "json_match",
    "judge",
    "name_of",
    "named",
    "numeric_match",
    "regex_match",
    "score",
    "tool_used",
    "weighted",
]
