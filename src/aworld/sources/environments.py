"""Makes tasks of environments: each is an episode that the agent plays.

'env:my_games.py:guessing?size=20&seed=1' calls a function of yours that gives an environment;
'gym:FrozenLake-v1?size=20&is_slippery=false' makes one that is registered with Gymnasium.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aworld.agents.playing import MOST_TURNS, Player
from aworld.config import check_count
from aworld.core.failure import first_line
from aworld.core.plugins import load_object
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.sources.functions import check_arguments
from aworld.sources.queries import split_query


def environment_tasks(spec: str, agent: Any) -> list[Task]:
    """`size`, `seed` and `max_turns` are for the tasks; all other options for the function."""
    name, options = split_query(spec)
    if "." not in name and ":" not in name:
        raise ConfigError(f"'env:{name}': write 'env:module:function', or 'gym:{name}'")
    function = load_object(name)
    episodes = _Episodes(options)
    check_arguments(function, options, name)
    # without its folder: the tasks are the same from wherever they are named
    return episodes.tasks(name.rpartition("/")[2], function, options, agent)


def gymnasium_tasks(spec: str, agent: Any) -> list[Task]:
    """All other options are for `gymnasium.make`. One is made at once, to see that it can be."""
    try:
        import gymnasium
    except ImportError:
        raise ConfigError("Gymnasium's environments need: pip install 'aworld[gym]'") from None
    name, options = split_query(spec)
    episodes = _Episodes(options)
    options = {"id": name, **options}
    try:
        gymnasium.make(**options).close()
    except Exception as error:
        raise ConfigError(f"'gym:{name}' cannot be made: {first_line(error)}") from error
    return episodes.tasks(name, gymnasium.make, options, agent)


class _Episodes:
    """How many are played, from which seed on, and how long. It takes its own options out."""

    def __init__(self, options: dict[str, Any]):
        self._size = options.pop("size", 1)
        self._seed = options.pop("seed", 0)
        self._max_turns = options.pop("max_turns", MOST_TURNS)
        check_count("size", self._size, least=1)
        check_count("seed", self._seed, least=0)

    def tasks(
        self, name: str, environment: Callable[..., Any], options: dict[str, Any], agent: Any
    ) -> list[Task]:
        if agent is None:
            raise ConfigError(
                f"{name}: who plays? Give an agent (--agent, or load_tasks(..., agent))"
            )
        player = Player(agent, environment, options=options, max_turns=self._max_turns)
        return [
            Task({"seed": seed}, player, id=f"{name}-{seed}", metadata={"environment": name})
            for seed in range(self._seed, self._seed + self._size)
        ]
