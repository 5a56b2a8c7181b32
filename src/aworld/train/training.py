"""`train`: makes an agent's model better at tasks, by a reward."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aworld.core.shown import as_word
from aworld.core.task import Task
from aworld.errors import ConfigError
from aworld.policies.base import Policy
from aworld.policies.messages import Message
from aworld.rewards.base import Reward
from aworld.rewards.truth import check_truth
from aworld.serve.weight_sync import WeightSync
from aworld.train.checkpoints import checkpoints
from aworld.train.config import TrainConfig
from aworld.train.demonstrations import Conversation
from aworld.train.episodes import Episode
from aworld.train.journal import METRICS, evaluations_of, read_journal, start_of
from aworld.train.parts import open_trainer
from aworld.train.plan import Plan
from aworld.train.tasks import listed_tasks
from aworld.train.team import Alone, help_out, leading, open_team
from aworld.train.tracking import Tracker
from aworld.train.warming import Lessons

log = logging.getLogger("aworld")


@dataclass(frozen=True)
class TrainResult:
    """What came of a training; the rest is in its folder."""

    run_dir: Path
    policy: Policy
    steps: int
    history: list[dict[str, float]]  # the figures of each step, as in metrics.jsonl
    checkpoint: Path  # the last one; its `policy` is a model that can be served

    @property
    def start(self) -> float | None:
        """pass@1 before the warm-up, where there was one."""
        return start_of(self.history)

    @property
    def evaluations(self) -> dict[int, float]:
        """pass@1 on the held-out tasks, by step; 0 is before the first."""
        return evaluations_of(self.history)


def train(
    agent: Any,
    tasks: Sequence[Task] | str | Path,
    reward: Reward | str,
    config: TrainConfig,
    *,
    policy: Policy,
    held_out: Sequence[Task] | str | Path | None = None,
    demonstrations: Sequence[Conversation | Episode] = (),
    worked_examples: Sequence[Message] = (),
    trackers: Iterable[Tracker] = (),
    weight_sync: WeightSync | None = None,
    resume: bool = False,
) -> TrainResult:
    """Trains `policy` in place.

    agent           an Agent, which is given the policy as its model, or a function that takes the
                    model and gives an agent of any kind; in tasks of an environment, it plays
    tasks           a list, or what `aworld.sources.load_tasks` takes
    reward          a function of (task, trajectory) or the name of one
    held_out        tasks to be evaluated on, before, after and every `config.eval_every` steps
    demonstrations  {"messages": [...]} to be imitated first, see WarmUp
    worked_examples messages that, in the warm-up only, come before each question: what the model
                    then does well is imitated without them
    trackers        of your own, told the figures of each step
    weight_sync     where a server elsewhere answers, in the place of the policy server of this
                    process: it is sent the weights after every step
    resume          go on from the last checkpoint in `config.run_dir`, if there is one
    """
    if not isinstance(config, TrainConfig):
        raise ConfigError(f"config must be a TrainConfig, got {config!r:.80}")
    if not isinstance(policy, Policy):
        raise ConfigError(f"policy must be a Policy (see open_policy), got {policy!r:.80}")
    config.check_room(policy.context_tokens)
    if reward is None:
        raise ConfigError("training needs a reward: a function of (task, trajectory), or a name")
    lessons = Lessons(demonstrations, worked_examples)
    lessons.check(config)
    learned = listed_tasks(tasks)
    examined = None if held_out is None else listed_tasks(held_out)
    check_truth(reward, learned)
    if examined is not None:
        check_truth(reward, examined)
    plan = Plan(
        agent, learned, reward, config, policy, examined, lessons, trackers, weight_sync, resume
    )
    folder = Path(config.run_dir)
    with open_team(policy) as team:
        if not team.leads:
            return _helped(team, policy, config)
        with leading(team) as end, ExitStack() as stack:
            loop = plan.open(stack)
            loop.run()
            if loop.taught_nothing >= loop.step > 0:
                log.warning(
                    "no episode of any step has trained: `aworld why %s` says why", as_word(folder)
                )
            stack.close()  # what is under way ends before the others are told
            history = list(read_journal(folder / METRICS))
            result = TrainResult(folder, policy, loop.step, history, checkpoints(folder)[-1])
            end.facts = {
                "steps": result.steps,
                "history": history,
                "checkpoint": result.checkpoint,
                "version": policy.version,
            }
        team.spread(policy.parameters())
        return result


def _helped(team: Alone, policy: Policy, config: TrainConfig) -> TrainResult:
    """What the processes do that do not lead; they come to the same end."""
    facts = help_out(team, open_trainer(policy, config).updates.assist)
    policy.version = facts.pop("version")
    team.spread(policy.parameters())
    return TrainResult(Path(config.run_dir), policy, **facts)
