"""Finds a reward by its name. A new one is one file and one line here."""

from __future__ import annotations

import re
from typing import Any, cast

from aworld.core.plugins import load_dotted
from aworld.errors import ConfigError, unknown_name
from aworld.rewards.base import Match, Reward

READY = {  # scores as it is; options are not needed
    "exact_match": "aworld.rewards.matching.exact_match",
    "numeric_match": "aworld.rewards.matching.numeric_match",
    "contains": "aworld.rewards.matching.contains",
    "json_match": "aworld.rewards.json_answers.json_match",
    "gaia_match": "aworld.rewards.gaia.gaia_match",
    "reasoning_gym": "aworld.rewards.reasoning_gym.reasoning_gym_score",
    "environment_return": "aworld.rewards.environment.environment_return",
}
MADE = {  # has to be called, with options, to give a reward
    "regex_match": "aworld.rewards.matching.regex_match",
    "tool_used": "aworld.rewards.tool_use.tool_used",
    "code_tests": "aworld.rewards.code_answers.code_tests",
    "judge": "aworld.rewards.verdicts.judge",
}
BUILT_IN = READY | MADE


def named(name: str, /, **options: Any) -> Reward:
    """A built-in reward, or your own by 'package.module:function'. With options, what it gives when
    it is called with them: `named("numeric_match", tolerance=0.1)`."""
    if not isinstance(name, str) or not (name in BUILT_IN or re.search("[.:]", name)):
        raise ConfigError(f"{unknown_name('reward', str(name), BUILT_IN)}; or 'module:function'")
    found = load_dotted(BUILT_IN.get(name, name))
    if options or name in MADE or isinstance(found, type):
        found = _made(name, found, options)
    if not callable(found):
        raise ConfigError(f"{name!r} is no reward but a {type(found).__name__}: give a function")
    return cast(Reward, found)


def the_reward(given: Reward | str) -> Reward:
    """A reward as it was given, or found by its name."""
    return named(given) if isinstance(given, str) else given


def name_of(reward: Reward) -> str:
    """How its scores are called where nobody gave them a name."""
    name = getattr(reward, "__name__", None)
    if isinstance(name, str) and name:
        return name
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(reward).__name__).lower()


def _made(name: str, factory: Any, options: dict[str, Any]) -> Any:
    import inspect

    if not callable(factory):
        raise ConfigError(f"{name!r} is no reward but a {type(factory).__name__}")
    if not isinstance(factory, Match):  # those know their options themselves
        try:
            inspect.signature(factory).bind(**options)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"the reward {name!r} cannot be made: {error}") from None
    return factory(**options)
