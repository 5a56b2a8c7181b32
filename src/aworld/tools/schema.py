"""Describes a typed function as JSON schema, and reads a model's arguments for it.

pydantic does the work. Its classes are built when they are needed and never travel.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from aworld.errors import ConfigError
from aworld.tools.docstring import parameter_texts

MOST_FAULTS = 8
LONGEST_VALUE = 80


class BadArgumentsError(Exception):
    """The model's arguments do not fit. The message tells it how to correct them."""


class Arguments:
    """What a function takes: `schema` describes it, `read` checks and converts."""

    def __init__(self, function: Callable[..., Any], tool_name: str, hints: Mapping[str, Any]):
        try:
            from pydantic import ConfigDict, create_model
        except ImportError as error:
            raise ConfigError("tools with typed parameters need: pip install pydantic") from error
        self._tool_name = tool_name
        self._hints = hints
        self._parameters = _parameters(function, tool_name)
        self._names = [parameter.name for parameter in self._parameters]
        texts = parameter_texts(documented(function).__doc__)
        fields: dict[str, Any] = {}
        for index, parameter in enumerate(self._parameters):
            # An alias, so that parameters may be called `schema`, `copy` or `_x`.
            fields[f"p{index}"] = _field(parameter, hints[parameter.name], texts)
        try:
            self._model = create_model(tool_name, __config__=ConfigDict(extra="forbid"), **fields)
        except Exception as error:
            raise self._undescribable(error) from error

    def schema(self) -> dict[str, Any]:
        try:
            return without_titles(self._model.model_json_schema(schema_generator=_untitled()))
        except Exception as error:
            raise self._undescribable(error) from error

    def _undescribable(self, error: Exception) -> ConfigError:
        name, reason = _culprit(self._hints) or (None, error)
        what = "its parameters" if name is None else f"the type of {name!r}"
        return ConfigError(
            f"tool {self._tool_name!r}: {what} cannot be described as JSON schema "
            f"({str(reason).strip().partition(chr(10))[0]}): use str, int, float, bool, list, "
            f"dict, Literal, an Enum, a dataclass or a pydantic model"
        )

    def read(self, given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments. What the model left out is left to the function."""
        from pydantic import ValidationError

        try:
            values = self._model.model_validate(given)
        except ValidationError as error:
            raise BadArgumentsError(self._faults(error)) from None
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for index, parameter in enumerate(self._parameters):
            is_positional = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
            is_needed = parameter.default is inspect.Parameter.empty
            if not is_positional and not is_needed and f"p{index}" not in values.model_fields_set:
                continue
            value = getattr(values, f"p{index}")
            if is_positional:
                positional.append(value)
            else:
                named[parameter.name] = value
        return positional, named

    def _faults(self, error: Any) -> str:
        faults = error.errors(include_url=False, include_context=False)
        lines = [self._fault(fault) for fault in faults[:MOST_FAULTS]]
        if len(faults) > MOST_FAULTS:
            lines.append(f"and {len(faults) - MOST_FAULTS} more")
        return "; ".join(lines)

    def _fault(self, fault: Mapping[str, Any]) -> str:
        where = ".".join(str(part) for part in fault["loc"]) or "arguments"
        if fault["type"] == "missing":
            return f"{where}: is missing"
        if fault["type"] == "extra_forbidden":
            known = (
                f" (known: {', '.join(self._names) or 'none'})" if len(fault["loc"]) == 1 else ""
            )
            return f"{where:.80}: there is no such parameter{known}"
        return f"{where:.200}: {fault['msg']}, got {_short(fault['input'])}"


def hints_of(function: Callable[..., Any], tool_name: str) -> dict[str, Any]:
    """The types of the parameters, names resolved."""
    target = documented(function)
    written = getattr(target, "__annotations__", {})
    found: dict[str, Any] = {}
    for name in [parameter.name for parameter in _parameters(function, tool_name)]:
        if name not in written:
            raise ConfigError(f"tool {tool_name!r}: give the parameter {name!r} a type hint")
        holder = types.SimpleNamespace(__annotations__={name: written[name]})
        names = getattr(inspect.unwrap(target), "__globals__", {})
        try:
            found[name] = typing.get_type_hints(holder, names, include_extras=True)[name]
        except Exception as error:
            raise ConfigError(
                f"tool {tool_name!r}: the type hint {written[name]!r} of {name!r} cannot be "
                f"resolved ({error}): define what it names at the top level of its module"
            ) from error
    return found


def _parameters(function: Callable[..., Any], tool_name: str) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"tool {tool_name!r}: its parameters are not known ({error}): wrap it in a def"
        ) from error
    decided = function.keywords if isinstance(function, functools.partial) else {}
    found = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ConfigError(
                f"tool {tool_name!r}: a model cannot be told what to give for "
                f"'{parameter}': name each parameter, or take a list or a dict"
            )
        if parameter.name == "self" and parameter.annotation is parameter.empty:
            raise ConfigError(
                f"tool {tool_name!r} is a method without its object: "
                f"write tool(the_object.{tool_name})"
            )
        if parameter.name not in decided:
            found.append(parameter)
    return found


def documented(function: Callable[..., Any]) -> Any:
    """Where hints and docstring are: under partials, and in the class of a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def _field(parameter: inspect.Parameter, hint: Any, texts: Mapping[str, str]) -> tuple[Any, Any]:
    from pydantic import Field
    from pydantic.fields import FieldInfo

    metadata = hint.__metadata__ if typing.get_origin(hint) is Annotated else ()
    said = [item.description for item in metadata if isinstance(item, FieldInfo)]
    said += [item for item in metadata if isinstance(item, str)]
    said.append(texts.get(parameter.name))
    settings: dict[str, Any] = {"alias": parameter.name}
    settings["description"] = next((text for text in said if text), None)
    if parameter.default is not inspect.Parameter.empty:
        settings["default"] = parameter.default
    return hint, Field(**settings)


def _culprit(hints: Mapping[str, Any]) -> tuple[str, Exception] | None:
    from pydantic import TypeAdapter

    for name, hint in hints.items():
        try:
            TypeAdapter(hint).json_schema(schema_generator=_untitled())
        except Exception as error:
            return name, error
    return None


@functools.cache
def _untitled() -> Any:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        # A default that JSON does not know is left out; the function still has it.
        ignored_warning_kinds: typing.ClassVar[Any] = {"skipped-choice", "non-serializable-default"}

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    return Untitled


def without_titles(schema: Any, *, names: bool = False) -> Any:
    """Titles only repeat the names. `names`: the keys are the user's, not the schema's."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if names:
            kept[key] = without_titles(value)
        elif key in ("properties", "$defs"):
            kept[key] = without_titles(value, names=True)
        elif key in ("default", "const", "enum", "examples"):
            kept[key] = value
        elif key != "title":
            kept[key] = without_titles(value)
    return kept


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
