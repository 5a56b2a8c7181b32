"""Data as JSON that a browser reads: it knows neither NaN nor infinity."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response


def to_json(value: Any) -> bytes:
    """In ASCII: lone surrogates are escaped, and come back as they were."""
    try:
        return _dumped(value)
    except ValueError:
        return _dumped(json.loads(json.dumps(value), parse_constant=lambda _: None))


class Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return to_json(content)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
