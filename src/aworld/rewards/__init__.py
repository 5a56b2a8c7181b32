"""Scores a finished trajectory. Not known is None, not 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aworld.lazy import imported_on_demand

if TYPE_CHECKING:
    from aworld.rewards.base import Reward, Scored, has_answer
    from aworld.rewards.catalog import name_of, named
    from aworld.rewards.code_answers import code_tests
    from aworld.rewards.combined import failures_as, weighted
    from aworld.rewards.environment import environment_return
    from aworld.rewards.gaia import gaia_match
    from aworld.rewards.json_answers import json_match
    from aworld.rewards.matching import contains, exact_match, numeric_match, regex_match
    from aworld.rewards.reasoning_gym import reasoning_gym_score
    from aworld.rewards.scoring import score
    from aworld.rewards.tool_use import tool_used
    from aworld.rewards.verdicts import judge

# Imported when first asked for: a judge needs models, code tests a sandbox; the others do not.
_HOMES = {
    "Reward": "aworld.rewards.base",
    "Scored": "aworld.rewards.base",
    "code_tests": "aworld.rewards.code_answers",
    "contains": "aworld.rewards.matching",
    "environment_return": "aworld.rewards.environment",
    "exact_match": "aworld.rewards.matching",
    "failures_as": "aworld.rewards.combined",
    "gaia_match": "aworld.rewards.gaia",
    "has_answer": "aworld.rewards.base",
    "json_match": "aworld.rewards.json_answers",
    "judge": "aworld.rewards.verdicts",
    "name_of": "aworld.rewards.catalog",
    "named": "aworld.rewards.catalog",
    "numeric_match": "aworld.rewards.matching",
    "reasoning_gym_score": "aworld.rewards.reasoning_gym",
    "regex_match": "aworld.rewards.matching",
    "score": "aworld.rewards.scoring",
    "tool_used": "aworld.rewards.tool_use",
    "weighted": "aworld.rewards.combined",
}
__all__ = [
    "Reward",
    "Scored",
    "code_tests",
    "contains",
    "environment_return",
    "exact_match",
    "failures_as",
    "gaia_match",
    "has_answer",
    "json_match",
    "judge",
    "name_of",
    "named",
    "numeric_match",
    "reasoning_gym_score",
    "regex_match",
    "score",
    "tool_used",
    "weighted",
]

__getattr__ = imported_on_demand(__name__, _HOMES)
