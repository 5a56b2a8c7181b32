"""A tool: something that a model can call. What comes of it, good or bad, is text for the model."""

from __future__ import annotations

import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, overload

from aworld.config import check_count, check_seconds
from aworld.core.failure import ErrorInfo, describe_error
from aworld.core.shown import cut_in_the_middle
from aworld.errors import AWorldError, ConfigError
from aworld.tools.docstring import summary
from aworld.tools.limits import TimeUpError, call_within, is_async
from aworld.tools.rendering import render
from aworld.tools.schema import Arguments, BadArgumentsError, documented, hints_of

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the model servers accept
LONGEST_COMPLAINT = 2_000
MOST_KNOWN = 256

_known: dict[tuple[Any, str, str], Arguments] = {}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`text` is what the model is shown, always; `error` says what went wrong, if anything did."""

    text: str
    error: ErrorInfo | None = None
    seconds: float = 0.0


class ToolSource(Protocol):
    """Something that has tools to offer once a task runs: an MCP server is one."""

    @property
    def name(self) -> str: ...
    async def tools(self) -> list[Tool]: ...


class Tool:
    """A function that a model can call. It can still be called like the function that it was.

    name, description   what the model knows it by; else from the function and its docstring
    parameters          a JSON schema; then the arguments are passed on as they come. Without it,
                        both come from the type hints, and arguments are checked and converted
    timeout             seconds; a tool that takes longer is stopped, or left behind
    max_chars           longer results are cut in the middle
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: dict[str, Any] | None = None,
        timeout: float | None = 30.0,
        max_chars: int = 20_000,
    ):
        if isinstance(function, (Tool, type)) or not callable(function):
            raise ConfigError(f"a tool is made of a function, got {function!r:.200}")
        self.name = _checked_name(function, name)
        for is_generator in (inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            if is_generator(function):
                raise ConfigError(f"tool {self.name!r} is a generator: let it return a list")
        check_seconds("timeout", timeout, or_none=True)
        check_count("max_chars", max_chars, least=1)
        self.function = function
        self.timeout = timeout
        self.max_chars = max_chars
        self.description = (
            summary(documented(function).__doc__) if description is None else description
        )
        self._hints: dict[str, Any] | None = None
        self._arguments: Arguments | None = None
        self._is_typed = parameters is None
        if parameters is None:
            hints = hints_of(function, self.name)
            self._arguments = Arguments(function, self.name, hints)
            # Hints written as text need names that do not travel with the function.
            if any(isinstance(hint, str) for hint in documented(function).__annotations__.values()):
                self._hints = hints
            parameters = self._arguments.schema()
        self.parameters: dict[str, Any] = parameters

    def spec(self) -> dict[str, Any]:
        """The tool as the OpenAI API wants it described."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }

    async def run(self, arguments: str | dict[str, Any]) -> ToolResult:
        """Takes the arguments as the model wrote them. Raises only if the task is cancelled."""
        began = time.monotonic()
        error: ErrorInfo | None = None
        try:
            text = await self._run(arguments)
        except BadArgumentsError as fault:
            return self.complaint(fault)
        except TimeUpError:
            text = f"the tool was stopped after {self.timeout:g} s"
            error = ErrorInfo("Timeout", text)
        except AWorldError as told:  # its message was written to be read
            text = cut_in_the_middle(str(told), self.max_chars)
            error = ErrorInfo(type(told).__name__, text)
        except Exception as raised:
            error = describe_error(raised)
            text = cut_in_the_middle(f"{error.kind}: {error.message}", self.max_chars)
        return ToolResult(text, error, time.monotonic() - began)

    def complaint(self, fault: BadArgumentsError) -> ToolResult:
        """What the model is told about arguments that do not fit."""
        message = f"the arguments of {self.name!r} do not fit: {fault}"
        text = cut_in_the_middle(message, min(LONGEST_COMPLAINT, self.max_chars))
        return ToolResult(text, ErrorInfo("BadArguments", text))

    async def _run(self, arguments: str | dict[str, Any]) -> str:
        positional, named = self._read(arguments)
        if is_async(self.function):
            value = await call_within(self.timeout, self.function, *positional, **named)
            if isinstance(value, (str, int, float, type(None))):
                return render(value, self.max_chars)
            return await call_within(self.timeout, render, value, self.max_chars)
        return await call_within(self.timeout, self._call_and_render, positional, named)

    def _call_and_render(self, positional: list[Any], named: dict[str, Any]) -> Any:
        value = self.function(*positional, **named)
        return (
            self._rendered(value) if inspect.isawaitable(value) else render(value, self.max_chars)
        )

    async def _rendered(self, awaitable: Any) -> str:
        return render(await awaitable, self.max_chars)

    def _read(self, arguments: Any) -> tuple[list[Any], dict[str, Any]]:
        given = read_object(arguments, self.parameters)
        if not self._is_typed:
            return [], given
        if self._arguments is None:  # it has travelled
            self._arguments = self._known_arguments()
        return self._arguments.read(given)

    def _known_arguments(self) -> Arguments:
        """Made once per process, though each task has its own copy of its agent and its tools.

        Not where classes are among the types: each copy of a function may have its own.
        """
        code = getattr(self.function, "__code__", None)
        key = (code, self.name, json.dumps(self.parameters, sort_keys=True))
        if key in _known:
            return _known[key]
        hints = self._hints or hints_of(self.function, self.name)
        arguments = Arguments(self.function, self.name, hints)
        if code is not None and "$defs" not in self.parameters and len(_known) < MOST_KNOWN:
            _known[key] = arguments
        return arguments

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[..., Any]:  # for inspect.signature
        return self.function

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        _let_travel(self.function)
        return {**self.__dict__, "_arguments": None}


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = 30.0,
    max_chars: int = 20_000,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Makes a Tool of a typed function: `@tool`, or `@tool(timeout=5)`."""
    if function is None:
        return lambda function: Tool(function, **settings)
    return Tool(function, **settings)


def as_tools(items: Iterable[Any]) -> list[Tool | ToolSource]:
    """Tools and sources of tools as they are, functions as Tools; two of one name are refused."""
    found: list[Tool | ToolSource] = []
    seen: dict[str, int] = {}
    for position, item in enumerate(items):
        if isinstance(item, Tool) or _is_source(item):
            made: Tool | ToolSource = item
        elif callable(item) and not isinstance(item, type):
            made = Tool(item)
        else:
            raise ConfigError(
                f"item {position} of the tools is no tool: {item!r:.200}; "
                f"give typed functions, Tools or MCP servers"
            )
        if made.name in seen:
            raise ConfigError(
                f"items {seen[made.name]} and {position} of the tools are both called "
                f"{made.name!r}: rename one with tool(name=...)"
            )
        seen[made.name] = position
        found.append(made)
    return found


def _is_source(item: Any) -> bool:
    offers = inspect.iscoroutinefunction(getattr(item, "tools", None))
    return offers and not isinstance(item, type) and isinstance(getattr(item, "name", None), str)


def as_tool_name(name: str) -> str:
    """Somebody else's name for it, made fit for the model servers."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]


def _checked_name(function: Any, name: str | None) -> str:
    inner = function
    while name is None and inner is not None:
        name = getattr(inner, "__name__", None)
        inner = getattr(inner, "func", None)  # of a partial
    if name is None:
        raise ConfigError(f"{function!r:.200} has no name: give it one with tool(name=...)")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r:.100} cannot be the name of a tool: 1 to 64 letters, digits, _ and -; "
            f"give it one with tool(name=...)"
        )
    return name


def read_object(arguments: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The arguments as a model wrote them; BadArgumentsError says what is wrong with them."""
    given = arguments
    if isinstance(arguments, str):
        try:
            given = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as error:
            raise BadArgumentsError(
                f"they are no valid JSON ({error}); {_expected(parameters)}"
            ) from None
    if not isinstance(given, dict):
        raise BadArgumentsError(
            f"they must be a JSON object, not a {type(given).__name__}; {_expected(parameters)}"
        )
    return given


def _expected(parameters: dict[str, Any]) -> str:
    names = ", ".join(f'"{name}"' for name in parameters.get("properties", ()))
    return f"send one JSON object with the keys {names}" if names else "send {}"


def _let_travel(function: Any) -> None:
    """Pickle finds a function by its name, but where `@tool` stood, the name leads to the Tool.

    From there, `.function` leads to the function.
    """
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    qualified = getattr(function, "__qualname__", None)
    if not inspect.isfunction(function) or module is None or qualified is None:
        return
    found: Any = module
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Tool) and found.function is function:
        function.__qualname__ = f"{qualified}.function"
