"""Any other agent framework can be the agent: it works inside a function or a class."""

from __future__ import annotations

import json
import re

import openai
import pytest
from fake_server import reply_with

from aworld import ActionModel, RunConfig, Runners, Task

CONF = RunConfig(worker_num=2, tasks_per_worker=8)
COUNT = 30


def add(a: int, b: int) -> int:
    """Adds two numbers.

    Args:
        a: one number
        b: the other
    """
    return a + b


def right_answers(agent):
    tasks = [
        Task(input=f"Add {n}, 2, 3 and 4.", agent=agent, id=str(n), ground_truth=str(n + 9))
        for n in range(COUNT)
    ]
    responses = Runners.sync_run_task(tasks, CONF)
    assert [response.msg for response in responses.values() if not response.success] == []
    return sum(str(responses[task.id].answer) == task.ground_truth for task in tasks)


def test_a_function_with_the_bare_openai_client(server):
    url = server.url
    parameters = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    spec = {"name": "add", "parameters": {"type": "object", "properties": parameters}}

    async def agent(question):
        messages = [{"role": "user", "content": question}]
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            while True:
                completion = await client.chat.completions.create(
                    model="fake",
                    messages=messages,
                    tools=[{"type": "function", "function": spec}],
                )
                message = completion.choices[0].message
                if not message.tool_calls:
                    return message.content
                messages.append(message)
                for call in message.tool_calls:
                    result = str(add(**json.loads(call.function.arguments)))
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    assert right_answers(agent) == COUNT
    assert len(server.bodies) == 3 * COUNT


class PydanticAI:
    def __init__(self, url):
        self.url = url

    async def async_policy(self, observation, info):
        from openai import AsyncOpenAI
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        async with AsyncOpenAI(base_url=self.url, api_key="none") as client:
            model = OpenAIChatModel("fake", provider=OpenAIProvider(openai_client=client))
            result = await Agent(model, tools=[add]).run(observation.content)
        return [ActionModel(policy_info=result.output)]


def test_a_class_with_pydantic_ai(server):
    assert right_answers(PydanticAI(server.url)) == COUNT
    assert len(server.bodies) == 3 * COUNT


def test_a_function_with_openai_agents(server):
    url = server.url

    async def agent(question):
        import agents
        from openai import AsyncOpenAI

        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            inner = agents.Agent(
                name="adder",
                model=agents.OpenAIChatCompletionsModel("fake", openai_client=client),
                tools=[agents.function_tool(add)],
            )
            offline = agents.RunConfig(tracing_disabled=True)
            result = await agents.Runner.run(inner, question, run_config=offline)
        return result.final_output

    assert right_answers(agent) == COUNT
    assert len(server.bodies) == 3 * COUNT


def test_a_blocking_function_with_smolagents(server):
    smolagents = pytest.importorskip("smolagents")
    url = server.url
    server.answer = as_smolagents_wants_it

    def agent(question):
        model = smolagents.OpenAIModel("fake", api_base=url, api_key="none")
        tools = [smolagents.tool(add)]
        return smolagents.ToolCallingAgent(tools, model, verbosity_level=0).run(question)

    assert right_answers(agent) == COUNT
    assert len(server.bodies) == 3 * COUNT


def as_smolagents_wants_it(request):
    """Results come to the model as plain text; the answer goes back by a tool call."""
    said = json.dumps(request["messages"])
    numbers = re.findall(r"Add (\d+), (\d+), (\d+) and (\d+)", said)[0]
    results = [int(result) for result in re.findall(r"Observation:\\n(\d+)", said)]
    if len(results) < 2:
        a, b = map(int, numbers[2 * len(results) :][:2])
        name, arguments = "add", {"a": a, "b": b}
    else:
        name, arguments = "final_answer", {"answer": str(sum(results))}
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{len(results)}", "type": "function", "function": function}
    return reply_with({"role": "assistant", "content": None, "tool_calls": [call]})
