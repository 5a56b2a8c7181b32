"""Answers of a given form: the schema for the model, and the check of what it wrote."""

from __future__ import annotations

import re
from typing import Any

from aworld.errors import ConfigError


class Output:
    """`corrections` is how often the model is told what was wrong, and may try again."""

    def __init__(self, output_type: Any, corrections: int):
        self.type = output_type
        self.corrections = corrections
        try:
            self.schema: dict[str, Any] = self._adapter().json_schema()
        except Exception as error:
            raise ConfigError(
                f"output_type must be a pydantic model or a type that pydantic knows: {error}"
            ) from None

    def read(self, text: str) -> tuple[Any, str]:
        """The answer, or what is wrong with it."""
        from pydantic import ValidationError

        try:
            return self._adapter().validate_json(_without_fence(text)), ""
        except ValidationError as error:
            return None, str(error)

    def complaint(self, problem: str) -> str:
        return f"That does not fit the form asked for:\n{problem}\nAnswer again, with JSON alone."

    def _adapter(self) -> Any:
        from pydantic import TypeAdapter

        return TypeAdapter(self.type)


def _without_fence(text: str) -> str:
    """Models like to put JSON into a Markdown block."""
    fenced = re.fullmatch(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", text, re.DOTALL)
    return fenced[1] if fenced else text
