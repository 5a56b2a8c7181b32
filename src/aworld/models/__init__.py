"""Who answers a prompt. A new kind of model is one file and one line here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from aworld.core.plugins import load_dotted
from aworld.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from aworld.config import AgentConfig
    from aworld.models.base import Model

MODELS = {
    "openai": "aworld.models.openai_model.OpenAIModel",
    "embedded": "aworld.models.embedded.EmbeddedModel",
}


def open_model(conf: AgentConfig) -> Model:
    """The model that `conf` asks for; what it leaves open is taken from the environment.

    Without a name anywhere it is the embedded one: no server, no key.
    """
    name = conf.llm_model_name or os.environ.get("LLM_MODEL_NAME")
    base_url = conf.llm_base_url or os.environ.get("LLM_BASE_URL")
    provider = conf.llm_provider or ("openai" if name or base_url else "embedded")
    if provider not in MODELS:
        raise ConfigError(unknown_name("model provider", provider, MODELS))
    settings: dict[str, Any] = dict(conf.llm_settings)
    if provider == "openai":
        if not name:
            raise ConfigError("which model? set llm_model_name, or LLM_MODEL_NAME")
        settings["base_url"] = base_url
        settings["api_key"] = conf.llm_api_key or os.environ.get("LLM_API_KEY")
    for key in ("temperature", "max_tokens"):
        value = getattr(conf, f"llm_{key}")
        if value is not None:
            settings[key] = value
    return load_dotted(MODELS[provider])(*([name] if name else []), **settings)
