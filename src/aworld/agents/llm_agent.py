"""An agent that asks a model, does what it wants done with its tools, and asks again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from aworld.agents.calling import check_agent_name, policy_of
from aworld.agents.output import Output
from aworld.agents.running import run_together
from aworld.agents.toolbox import AgentTool, Approve, Toolbox
from aworld.config import AgentConfig, check_count
from aworld.core.action import ActionModel, Observation
from aworld.core.context import TaskContext, acting_agent, acting_as, task_at_hand
from aworld.core.plain import plain, printable
from aworld.errors import ConfigError, TruncatedError
from aworld.models import open_model
from aworld.models.base import Model, ModelReply, ModelRequest, check_settings
from aworld.tools.base import as_tools

Messages = list[dict[str, Any]]

MOST_TOOLS_AT_ONCE = 32


class Agent:
    """Works on its input turn by turn until the model answers without calling a tool.

    model          a Model, a model's name, or None: from the environment, or the embedded one
    system_prompt  what the model is told first
    tools          typed functions, Tools, MCP servers and other agents
    max_steps      how many times the model may be asked; then the task is `truncated`
    max_tokens     how many tokens its calls in one task may use; then it is `truncated`
    output_type    a pydantic model that the answer must fit
    corrections    how often the model is told what does not fit, and may answer again
    approve        asked before each tool call: approve(name, arguments) -> True, False or a reason
    settings       of the model's sampling: temperature, top_p, ...
    """

    def __init__(
        self,
        name: str = "agent",
        *,
        model: Model | str | None = None,
        conf: AgentConfig | None = None,
        system_prompt: str = "",
        tools: Iterable[Any] = (),
        max_steps: int = 10,
        max_tokens: int | None = None,
        output_type: Any = None,
        corrections: int = 2,
        approve: Approve | None = None,
        **settings: Any,
    ):
        check_agent_name(name)
        check_settings(Agent, settings)
        if not isinstance(system_prompt, str):
            raise ConfigError(f"system_prompt must be a str, got {system_prompt!r:.80}")
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise ConfigError(f"tools must be a list, got {tools!r:.80}")
        check_count("max_steps", max_steps, least=1)
        check_count("corrections", corrections, least=0)
        if max_tokens is not None:
            check_count("max_tokens", max_tokens, least=1)
        if approve is not None and not callable(approve):
            raise ConfigError(f"approve must be a function of (name, arguments), got {approve!r}")
        self.name = name
        self.model = _the_model(model, conf)
        self.system_prompt = system_prompt
        self.tools = as_tools([_tool_like(item) for item in tools])
        self.max_steps = max_steps
        self.max_tokens = max_tokens
        self.output = None if output_type is None else Output(output_type, corrections)
        self.approve = approve
        self.settings = settings

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, model={self.model!r})"

    async def async_policy(
        self, observation: Observation, info: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[ActionModel]:
        answer = await self.run(observation.content)
        return [ActionModel(policy_info=answer, agent_name=self.name)]

    async def run(self, input: Any) -> Any:
        """Answers; what was done for it is recorded in the task that this runs in."""
        with task_at_hand() as task:
            if acting_agent() == self.name:  # whoever called it has said who acts
                return await self._work(task, input)
            with acting_as(self.name):
                return await self._work(task, input)

    async def _work(self, task: TaskContext, input: Any) -> Any:
        toolbox = await Toolbox.open(self.tools, task.tools, self.approve)
        messages = self._opening(input)
        corrections = tokens = 0
        for turn in range(self.max_steps):
            request = ModelRequest(
                list(messages),
                toolbox.specs,
                self.output.schema if self.output else None,
                self.settings,
            )
            reply, record = await self.model.ask(request)
            step = task.record({"action": reply.message, "model_call": record, "observation": None})
            messages.append(reply.message)
            tokens += reply.prompt_tokens + reply.completion_tokens
            if reply.tool_calls:
                results = await self._use_tools(task, toolbox, reply, turn)
                step["tool_calls"] = [record for _, record in results]
                step["observation"] = [message for message, _ in results]
                messages += step["observation"]
            else:
                if reply.finish_reason == "length":
                    raise TruncatedError("the answer was cut: finish_reason 'length'", reply.text)
                if self.output is None:
                    return reply.text
                answer, problem = self.output.read(reply.text)
                if not problem:
                    return answer
                if corrections == self.output.corrections:
                    raise ValueError(f"no valid answer after {corrections} corrections: {problem}")
                corrections += 1
                messages.append({"role": "user", "content": self.output.complaint(problem)})
                step["observation"] = messages[-1]
            if self.max_tokens is not None and tokens >= self.max_tokens:
                raise TruncatedError(f"max_tokens={self.max_tokens} of the agent are used up")
        raise TruncatedError(f"no answer after max_steps={self.max_steps}")

    def _opening(self, input: Any) -> Messages:
        system = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        if isinstance(input, list) and input and all(_is_message(part) for part in input):
            return [*system, *input]
        text = input if isinstance(input, str) else json.dumps(plain(input), ensure_ascii=False)
        return [*system, {"role": "user", "content": printable(text)}]

    async def _use_tools(
        self, task: TaskContext, toolbox: Toolbox, reply: ModelReply, turn: int
    ) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """At the same time; the results in the order of the calls."""
        calls = [
            toolbox.use(task, call, f"{turn}.{number}")
            for number, call in enumerate(reply.tool_calls)
        ]
        return await run_together(calls, at_once=MOST_TOOLS_AT_ONCE)


def _the_model(model: Model | str | None, conf: AgentConfig | None) -> Model:
    if conf is not None and not isinstance(conf, AgentConfig):
        raise ConfigError(f"conf must be an AgentConfig, got {conf!r:.80}")
    if model is not None and conf is not None:
        raise ConfigError("model and conf both say which model to use: give one of them")
    if isinstance(model, Model):
        return model
    if model is not None and not isinstance(model, str):
        raise ConfigError(f"model must be a Model, the name of one or None, got {model!r:.80}")
    return open_model(conf or AgentConfig(llm_model_name=model))


def _tool_like(item: Any) -> Any:
    return AgentTool(item) if policy_of(item) is not None else item


def _is_message(part: Any) -> bool:
    return isinstance(part, dict) and "role" in part
