"""Agents of other frameworks around a client. Workers import it: each brings only what it needs."""

from __future__ import annotations

import json

SPEC = {"name": "add", "parameters": {"type": "object", "properties": {"a": {}, "b": {}}}}
TOOLS = [{"type": "function", "function": SPEC}]


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


class Plain:
    """Nothing but a client."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, question):
        messages = [{"role": "user", "content": question}]
        for _ in range(3):
            reply = await self.client.chat.completions.create(
                model="byte", messages=messages, tools=TOOLS
            )
            message = reply.choices[0].message
            if not message.tool_calls:
                break
            messages.append(message)
            for call in message.tool_calls:
                result = str(add(**json.loads(call.function.arguments)))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return message.content


class Streaming(Plain):
    async def __call__(self, question):
        async with self.client.chat.completions.stream(
            model="byte", messages=[{"role": "user", "content": question}]
        ) as stream:
            return (await stream.get_final_completion()).choices[0].message.content


def blocking(client):
    def agent(question):
        messages = [{"role": "user", "content": question}]
        reply = client.chat.completions.create(model="byte", messages=messages)
        return reply.choices[0].message.content

    return agent


def openai_agents(client):
    async def agent(question):
        import agents

        model = agents.OpenAIChatCompletionsModel("byte", openai_client=client)
        inner = agents.Agent(name="adder", model=model, tools=[agents.function_tool(add)])
        offline = agents.RunConfig(tracing_disabled=True)
        return (await agents.Runner.run(inner, question, run_config=offline)).final_output

    return agent


def pydantic_ai(client):
    async def agent(question):
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel("byte", provider=OpenAIProvider(openai_client=client))
        return (await Agent(model, tools=[add]).run(question)).output

    return agent


def by_place(task, trajectory):
    """Two rewards in each group: there is always something to learn."""
    return float(trajectory.metadata["sample_index"] % 2)
