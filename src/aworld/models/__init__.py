"""Who answers a prompt. A new kind of model is one file and one line here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

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
    if conf.llm_provider not in (None, *MODELS):
        raise ConfigError(unknown_name("model provider", str(conf.llm_provider), MODELS))
    name, settings = conf.llm_model_name, dict(conf.llm_settings)
    provider = conf.llm_provider or _provider(conf)
    if provider == "openai":
        name = name or os.environ.get("LLM_MODEL_NAME")
        if not name:
            raise ConfigError("which model? set llm_model_name, or LLM_MODEL_NAME")
        settings["base_url"] = conf.llm_base_url or os.environ.get("LLM_BASE_URL")
        settings["api_key"] = conf.llm_api_key or os.environ.get("LLM_API_KEY")
    elif conf.llm_base_url or conf.llm_api_key:
        raise ConfigError("the embedded model has no server: leave out llm_base_url, llm_api_key")
    for key in ("temperature", "max_tokens"):
        value = getattr(conf, f"llm_{key}")
        if value is not None:
            settings[key] = value
    return load_dotted(MODELS[provider])(*([name] if name else []), **settings)


def _provider(conf: AgentConfig) -> str:
    named = conf.llm_model_name or conf.llm_base_url or conf.llm_api_key
    variables = ("LLM_MODEL_NAME", "LLM_BASE_URL", "LLM_API_KEY")
    known = any(os.environ.get(variable) for variable in variables)
    return "openai" if named or known else "embedded"
