"""Asks the model server of the environment which models it has; its key is never shown."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from aworld.core.secret import Secret, bare_url
from aworld.core.shown import harmless, shortened

if TYPE_CHECKING:
    from aworld.cli.machine import Check

SECONDS = 5.0
MOST_BYTES = 10_000_000
NAME = "model endpoint"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Elsewhere nobody is to see the key."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # type: ignore[override]
        return None


def endpoint() -> Check:
    from aworld.cli.machine import Check
    from aworld.models.openai_model import OPENAI

    environment = os.environ.get
    url, model = environment("LLM_BASE_URL"), environment("LLM_MODEL_NAME")
    key = environment("LLM_API_KEY")
    if not (url or model or key):
        advice = "set LLM_MODEL_NAME, LLM_BASE_URL and LLM_API_KEY to use a model server"
        return Check(NAME, "missing", "none in the environment", advice)
    url = url or OPENAI
    try:
        place = bare_url(url)
        models = _models(url, key or environment("OPENAI_API_KEY"))
    except (ValueError, HTTPException):  # what they say may hold a password of the address
        return Check(NAME, "broken", "LLM_BASE_URL is no address", "as in http://host:8000/v1")
    except OSError as error:
        said = shortened(harmless(str(error)), 200)
        if key:
            said = Secret(key).hide_in(said, least=1)
        advice = "is it running, and is the key right?"
        return Check(NAME, "broken", f"LLM_BASE_URL does not answer: {said}", advice)
    if not model:
        return Check(NAME, "broken", f"{place} answers", "say which model: set LLM_MODEL_NAME")
    name = harmless(model)
    if models and model not in models:
        known = shortened(harmless(", ".join(sorted(models))), 200)
        return Check(NAME, "broken", f"{place} has no model {name!r}", f"it has {known}")
    return Check(NAME, "ok", f"{place} answers, model {name!r}")


def _models(url: str, key: str | None) -> set[str]:
    """Their names; none where the server does not tell."""
    if not url.startswith(("http://", "https://")):
        raise ValueError("it must start with http:// or https://")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{url.rstrip('/')}/models", headers=headers)
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
        content = answer.read(MOST_BYTES)
    try:
        data = json.loads(content)
    except ValueError:
        raise OSError("what it says of its models is no JSON") from None
    found = data.get("data") if isinstance(data, dict) else None
    return {str(one["id"]) for one in found or () if isinstance(one, dict) and "id" in one}
