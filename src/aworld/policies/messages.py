"""Messages and tools in OpenAI's form, and what is read out of them."""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]
Tools = list[dict[str, Any]]


def text_of(content: Any) -> str:
    """Of a message; without its parts that are no text."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return "" if content is None else str(content)


def parameters(tools: Tools) -> dict[str, list[str]]:
    """The names of each tool's parameters, in order."""
    functions = [tool["function"] for tool in tools]
    return {f["name"]: list((f.get("parameters") or {}).get("properties") or ()) for f in functions}
