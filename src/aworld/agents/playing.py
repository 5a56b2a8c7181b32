"""An agent that plays an environment of Gymnasium's kind, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aworld.agents.actions import as_text, how_to_act, read_action, simple
from aworld.agents.calling import agent_name, call_function, check_agent_name, why_no_agent
from aworld.agents.running import run_agent
from aworld.agents.stage import Move, Show, Stage
from aworld.config import check_count, is_int
from aworld.core.action import ActionModel, Observation
from aworld.core.context import TaskContext, agent_path, is_within, task_at_hand
from aworld.core.plain import plain, printable
from aworld.errors import ConfigError, TruncatedError, unknown_name

Messages = list[dict[str, Any]]
Step = dict[str, Any]

MOST_TURNS = 20
WISHES = ("seed", "options", "instruction")


class Player:
    """Shows an agent what an environment shows, and does there what the agent answers.

    agent        who decides; it is given the conversation so far, as a list of messages
    environment  a function that makes one: with reset(seed=...) and step(action) as in Gymnasium
    options      what that function is called with
    max_turns    how often the agent may act; then the task is `truncated`
    instruction  what the agent is told before the first observation
    parse        parse(answer) -> action; a ValueError says that there is none in it
    show         show(observation, environment) -> text

    The task's input is a seed, or a dict with `seed`, `options` (of reset) and `instruction`, or
    a text: the instruction. Without a seed there, it is that of the task. The answer is
    {"reward": of all turns, "turns": ..., "terminated": ..., "truncated": ...}; the reward of each
    turn is on the step that made its action.
    """

    def __init__(
        self,
        agent: Any,
        environment: Callable[..., Any],
        *,
        name: str = "player",
        options: Mapping[str, Any] | None = None,
        max_turns: int = MOST_TURNS,
        instruction: str = "",
        parse: Callable[[Any], Any] | None = None,
        show: Show | None = None,
    ):
        check_agent_name(name)
        problem = why_no_agent(agent)
        if problem:
            raise ConfigError(f"{name!r} {problem}")
        if not callable(environment):
            raise ConfigError(f"environment must be a function that makes one, got {environment!r}")
        check_count("max_turns", max_turns, least=1)
        self.name = name
        self.agents = [agent]
        self.environment = environment
        self.options = dict(options or {})
        self.max_turns = max_turns
        self.instruction = instruction
        self.parse = parse
        self.show = show

    async def async_policy(
        self, observation: Observation, info: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[ActionModel]:
        stage = Stage(self.environment, self.options, self.show or as_text)
        try:
            with task_at_hand() as task:
                wishes = _wishes(observation.content)
                await stage.open()
                answer = await self._play(task, stage, wishes, info or {})
        finally:
            await stage.close()
        return [ActionModel(policy_info=answer, agent_name=self.name)]

    async def _play(
        self, task: TaskContext, stage: Stage, wishes: dict[str, Any], info: dict[str, Any]
    ) -> dict[str, Any]:
        instruction = wishes.pop("instruction", self.instruction)
        shown = await stage.reset({"seed": task.seed, **wishes})
        hint = "" if self.parse else how_to_act(stage.action_space)
        messages = [_from_user("\n\n".join(filter(None, (instruction, shown, hint))))]
        so_far = Score()
        while so_far.turns < self.max_turns:
            try:
                answer, steps = await self._decide(task, messages, info)
            except TruncatedError as error:
                raise TruncatedError(str(error), asdict(so_far)) from error
            so_far.turns += 1
            try:
                action = await self._action(answer, stage.action_space)
            except ValueError as problem:
                shown = f"That is no action: {problem}. {hint}".strip()
                steps[-1]["environment"] = {"action": None, "problem": str(problem)}
            else:
                move = await stage.step(action)
                _record(steps[-1], action, move)
                so_far.add(move)
                shown = move.text
            messages += [*self._said(steps, answer), _from_user(shown)]
            if steps[-1].get("observation") is None:
                steps[-1]["observation"] = messages[-1]
            if so_far.terminated or so_far.truncated:
                return asdict(so_far)
        raise TruncatedError(f"not over after max_turns={self.max_turns}", asdict(so_far))

    async def _decide(
        self, task: TaskContext, messages: Messages, info: dict[str, Any]
    ) -> tuple[Any, list[Step]]:
        """The agent's answer, and the steps that led to it."""
        before = len(task.steps)
        own = Observation(list(messages), dict(info))
        answer = await run_agent(self.agents[0], own, dict(info))
        # others may be at work in the same task
        steps = [s for s in task.steps[before:] if is_within(s["agent"], self._path)]
        return answer, steps

    @property
    def _path(self) -> str:
        return "/".join(filter(None, (agent_path(), agent_name(self.agents[0]))))

    async def _action(self, answer: Any, space: Any) -> Any:
        if self.parse is None:
            return read_action(answer, space)
        return await call_function(self.parse, answer)

    def _said(self, steps: list[Step], answer: Any) -> Messages:
        """What it adds to the conversation: replies and tools' results, as they were."""
        own = [step for step in steps if step["agent"] == self._path]
        if not own or not all("model_call" in step for step in own):
            text = answer if isinstance(answer, str) else str(plain(simple(answer)))
            return [{"role": "assistant", "content": printable(text)}]
        said: Messages = []
        for step in own:
            seen = step.get("observation")
            said += [step["action"], *(seen if isinstance(seen, list) else [seen] if seen else [])]
        return said


@dataclass
class Score:
    """What an episode has come to."""

    reward: float = 0.0
    turns: int = 0
    terminated: bool = False
    truncated: bool = False

    def add(self, move: Move) -> None:
        self.reward += move.reward
        self.terminated, self.truncated = move.terminated, move.truncated


def _wishes(content: Any) -> dict[str, Any]:
    """What the input of a task says about the episode."""
    if isinstance(content, str):
        return {"instruction": content}
    wishes = {"seed": content} if is_int(content) else content or {}
    if not isinstance(wishes, dict):
        raise ValueError(f"an episode's input is a seed, a dict or a text, not {content!r:.80}")
    for key in wishes:
        if key not in WISHES:
            raise ValueError(unknown_name("part of an episode's input", str(key), WISHES))
    if "seed" in wishes and (not is_int(wishes["seed"]) or wishes["seed"] < 0):
        raise ValueError(f"a seed is a whole number of at least 0, got {wishes['seed']!r:.80}")
    return dict(wishes)


def _record(step: Step, action: Any, move: Move) -> None:
    step["reward"] = move.reward
    step["environment"] = {
        "action": plain(simple(action)),
        "observation": move.text,
        "terminated": move.terminated,
        "truncated": move.truncated,
        "info": plain(simple(move.info)),
    }


def _from_user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": printable(text)}
