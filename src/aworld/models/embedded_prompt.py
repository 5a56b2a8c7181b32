"""Turns a conversation with tools into plain text for a tiny model, and its text into a message.

Such a model follows a pattern, not instructions: the offered tools are shown by worked examples,
and decoding is held to a JSON schema made of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]
Message = dict[str, Any]
Turn = tuple[str, str]

# so that a call written again from its parsed form has the same letters as when it was sampled;
# and a tiny model that may write white space does so for ever
COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}


def render(messages: list[Message], tools: list[dict[str, Any]]) -> str:
    """The conversation in ChatML, up to where the assistant is to speak."""
    turns = [_turn(message) for message in messages]
    if tools:
        functions = [tool["function"] for tool in tools]
        system = [content for role, content in turns if role == "system"]
        system.append(_told(functions))
        turns = [turn for turn in turns if turn[0] != "system"]
        turns = [("system", "\n\n".join(system)), *_shown(functions), *turns]
    told = "".join(
        # what a user or a tool writes must not end its own turn
        f"<|im_start|>{role}\n{content.replace('<|', '< |')}<|im_end|>\n"
        for role, content in turns
    )
    return f"{told}<|im_start|>assistant\n"


def schema_for(tools: list[dict[str, Any]], output_schema: Schema | None) -> Schema | None:
    """What decoding is held to: a call of one of the tools, or an answer."""
    if not tools:
        return None if output_schema is None else {"x-guidance": COMPACT, **output_schema}
    definitions: Schema = {}
    choices = []
    for number, tool in enumerate(tools):
        function = tool["function"]
        parameters = function.get("parameters") or {"type": "object", "properties": {}}
        parameters = {"additionalProperties": False, **parameters}
        arguments = _hoisted(parameters, f"{number}.", definitions)
        choices.append(_object(tool={"const": function["name"]}, arguments=arguments))
    answer = _hoisted(output_schema or {"type": "string"}, "answer.", definitions)
    choices.append(_object(answer=answer))
    return {"x-guidance": COMPACT, "anyOf": choices, "$defs": definitions}


def read_reply(text: str, prompt: str, *, has_tools: bool) -> Message:
    """The message that a text means; a text that broke off is all content."""
    message: Message = {"role": "assistant", "content": text}
    if not has_tools or not is_json(text):
        return message
    said = json.loads(text)
    if "answer" in said:
        answer = said["answer"]
        return {**message, "content": answer if isinstance(answer, str) else _written(answer)}
    # the same for the same call, another one for the next call in the conversation
    digest = hashlib.blake2b((prompt + text).encode(), digest_size=6).hexdigest()
    function = {"name": said["tool"], "arguments": json.dumps(said["arguments"])}
    call = {"id": f"call_{digest}", "type": "function", "function": function}
    return {**message, "content": None, "tool_calls": [call]}


def is_json(text: str, *, so_far: bool = False) -> bool:
    """Or, of a text that was cut short, whether it may have become JSON."""
    try:
        json.loads(text)
    except ValueError:
        return so_far and text.startswith(tuple('{["-0123456789tfn'))
    return True


def _turn(message: Message) -> Turn:
    role, content = message["role"], _text(message.get("content"))
    if role == "tool":
        return "user", f"RESULT: {content}"
    calls = message.get("tool_calls") or []
    if calls:
        said = [_call(one["function"]["name"], _arguments(one)) for one in calls]
        return "assistant", "\n".join(said)
    return ("system" if role == "developer" else role), content


def _text(content: Any) -> str:
    if isinstance(content, list):  # parts, in OpenAI's form
        return "".join(part.get("text", "") for part in content)
    return "" if content is None else str(content)


def _arguments(call: dict[str, Any]) -> Any:
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return call["function"]["arguments"]


def _call(tool: str, arguments: Any) -> str:
    return _written({"tool": tool, "arguments": arguments})


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _hoisted(schema: Any, prefix: str, definitions: Schema) -> Any:
    """The schema with its definitions moved to the root, where references to them are resolved."""
    if isinstance(schema, list):
        return [_hoisted(part, prefix, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, part in schema.items():
        if key in ("$defs", "definitions"):
            for name, definition in part.items():
                definitions[prefix + name] = _hoisted(definition, prefix, definitions)
        elif key == "$ref" and isinstance(part, str):
            kept[key] = f"#/$defs/{prefix}{part.rpartition('/')[2]}"
        else:
            kept[key] = _hoisted(part, prefix, definitions)
    return kept


def _told(functions: list[dict[str, Any]]) -> str:
    lines = []
    for function in functions:
        names = ", ".join(_properties(function))
        lines.append(f"- {function['name']}({names}): {function.get('description') or ''}".rstrip())
    return (
        "You can use tools. Reply with a tool call, read its RESULT, then give the answer.\n"
        "Tools:\n" + "\n".join(lines)
    )


def _shown(functions: list[dict[str, Any]]) -> Iterator[Turn]:
    """Worked examples, two of each tool: after a single one this model does not take the hint."""
    for turn in (0, 1):
        for function in functions:
            question, arguments, result = _example(function, turn)
            yield "user", question
            yield "assistant", _call(function["name"], arguments)
            yield "user", f"RESULT: {result}"
            yield "assistant", _written({"answer": result})


def _example(function: dict[str, Any], turn: int) -> tuple[str, dict[str, Any], str]:
    """A question, the arguments for it and what came of it."""
    properties = _properties(function)
    if len(properties) == 1 and set(properties) & {"expression", "formula"}:
        (name,) = properties
        expression, result = (("23 * 7 + 4", "165"), ("(12 + 30) * 2", "84"))[turn]
        return f"What is {expression}?", {name: expression}, result
    arguments = {name: _value(schema, turn) for name, schema in properties.items()}
    told = " and ".join(f"{name} {_shortly(value)}" for name, value in arguments.items())
    asked = function["name"].replace("_", " ") + (f" for {told}?" if told else "?")
    return asked, arguments, ("fine", "none")[turn]


def _properties(function: dict[str, Any]) -> dict[str, Schema]:
    return (function.get("parameters") or {}).get("properties") or {}


def _value(schema: Schema, turn: int) -> Any:
    """A value of the schema's form, one that it names itself if it does."""
    named = schema.get("examples") or schema.get("enum")
    if named:
        return named[-turn]
    for key in ("const", "default"):
        if schema.get(key) is not None:
            return schema[key]
    plain = {"integer": (3, 18), "number": (2.5, 40.0), "boolean": (True, False)}
    plain |= {"array": ([], []), "object": ({}, {})}
    return plain.get(str(schema.get("type")), ("Rome", "blue bird"))[turn]


def _shortly(value: Any) -> str:
    return value if isinstance(value, str) else _written(value)
