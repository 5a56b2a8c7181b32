"""Which model an agent asks, and what is refused before it is asked."""

from __future__ import annotations

import json
import sys

import pytest
from agent_scenes import double, observations, run, scripted

from aworld import (
    Agent,
    AgentConfig,
    ConfigError,
    RunConfig,
    tool,
)
from aworld.models.openai_model import OpenAIModel
from aworld.models.scripted import ScriptedModel, call

# -- which model ---------------------------------------------------------------------------------


def test_the_model_comes_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("LLM_MODEL_NAME", "from-env")
    monkeypatch.setenv("LLM_BASE_URL", server.url)
    monkeypatch.setenv("LLM_API_KEY", "env-key")
    server.key = "env-key"
    assert run(Agent("a"), "1 and 2").answer == "3"
    assert json.loads(server.bodies[0])["model"] == "from-env"


def test_the_model_comes_from_a_config(server):
    conf = AgentConfig(
        llm_provider="openai",
        llm_model_name="m",
        llm_base_url=server.url,
        llm_api_key="canary-key",
        llm_temperature=0.3,
        llm_settings={"top_p": 0.5},
    )
    assert "canary" not in repr(conf)
    assert run(Agent("a", conf=conf, max_completion_tokens=7), "1 and 2").answer == "3"
    body = json.loads(server.bodies[0])
    assert (body["temperature"], body["top_p"], body["max_completion_tokens"]) == (0.3, 0.5, 7)


def test_an_agent_whose_model_is_not_installed_is_refused_before_anything_starts(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    agent = Agent("a")  # it may be made: training gives it another model
    with pytest.raises(ConfigError, match=r"pip install 'aworld\[local\]'"):
        run(agent, "1 and 2")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"model": 3}, "model must be"),
        ({"model": "gpt-5"}, "LLM_API_KEY or LLM_BASE_URL"),
        ({"model": ScriptedModel(["x"]), "conf": AgentConfig()}, "give one of them"),
        ({"conf": AgentConfig(llm_provider="oai")}, "no model provider named 'oai'"),
        ({"conf": AgentConfig(llm_provider="openai")}, "which model"),
        ({"model": ScriptedModel(["x"]), "max_steps": 0}, "max_steps"),
        ({"model": ScriptedModel(["x"]), "max_step": 3}, "did you mean 'max_steps'"),
        ({"model": ScriptedModel(["x"]), "stream": True}, "cannot be set"),
        ({"conf": AgentConfig(llm_provider="embedded", llm_base_url="http://x")}, "has no server"),
        ({"model": ScriptedModel(["x"]), "tools": [3]}, "3"),
        ({"model": ScriptedModel(["x"]), "tools": [double, double]}, "double"),
        ({"model": ScriptedModel(["x"]), "approve": "yes"}, "approve"),
        ({"model": ScriptedModel(["x"]), "tools": double.function}, "tools must be a list"),
        ({"model": ScriptedModel(["x"]), "system_prompt": 5}, "system_prompt"),
        ({"model": ScriptedModel(["x"]), "name": "a/b"}, "without a /"),
        ({"conf": {"llm_model_name": "m"}}, "must be an AgentConfig"),
        ({"model": ScriptedModel(["x"]), "output_type": object()}, "output_type"),
    ],
)
def test_what_makes_no_sense_is_refused_when_the_agent_is_made(arguments, problem):
    with pytest.raises(ConfigError, match=problem):
        Agent(**{"name": "a", **arguments})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"base_url": "not a url"}, "base_url must start with"),
        ({"base_url": "http://user:canary@h:99999x/v1"}, "base_url is no URL: 'h:99999x/v1'"),
        ({"api_key": "sk-\u2026"}, "characters that no key has"),
        ({"api_key": "sk\nsecret"}, "characters that no key has"),
        ({"prices": (float("nan"), 1)}, "prices must be two numbers"),
        ({"prices": (-1, 1)}, "prices must be two numbers"),
        ({"prices": {"in": 1, "out": 2}}, "prices must be two numbers"),
        ({"cache": True}, "cache must be the path"),
        ({"timeout": "long"}, "timeout"),
        ({"connect_seconds": None}, "connect_seconds must be a positive number of seconds, got"),
        ({"retries": -1}, "retries"),
        ({"retrie": 3}, "did you mean 'retries'"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused_when_it_is_made(arguments, problem):
    with pytest.raises(ConfigError, match=problem) as caught:
        OpenAIModel("m", **{"base_url": "http://127.0.0.1:1/v1", **arguments})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [{"llm_base_url": 3}, {"llm_api_key": 5}, {"llm_settings": "abc"}, {"llm_temperature": "hot"}],
)
def test_a_config_that_makes_no_sense_is_refused(arguments):
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        AgentConfig(**arguments)


def test_a_key_may_end_with_a_newline(server):
    server.key = "sk-from-a-file"
    model = OpenAIModel("m", base_url=server.url, api_key="sk-from-a-file\n")
    assert run(Agent("a", model=model), "1 and 2").answer == "3"


def test_odd_inputs_are_sent_as_well_as_they_can_be(server):
    circle: list = []
    circle.append(circle)
    agent = Agent("a", model=OpenAIModel("m", base_url=server.url, retries=0))
    for odd in ("\ud800 1 and 2", {("a", 1): 2}, b"\xff 1", circle, None, {"x": {1, 2}}):
        response = run(agent, odd)
        assert response.success, response.msg
        json.dumps(response.trajectory.to_dict(), ensure_ascii=False).encode()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_a_tool_raises_the_task_goes_on(raised):
    @tool
    async def bad_async() -> None:
        """Raises."""
        raise raised

    @tool
    def bad_sync() -> None:
        """Raises."""
        raise raised

    response = run(scripted(call("bad_async"), call("bad_sync"), "on", tools=[bad_async, bad_sync]))
    assert (response.answer, response.attempts) == ("on", 1)
    assert all(raised.__name__ in text for text in observations(response))


# -- the cache -----------------------------------------------------------------------------------


def test_a_cached_answer_is_not_asked_for_or_paid_again(server, tmp_path):
    model = OpenAIModel("m", base_url=server.url, cache=str(tmp_path), prices=(1.0, 1.0))
    agent = Agent("a", model=model)
    first = run(agent, "1 and 2", id="t")
    again = run(agent, "1 and 2", id="t")
    assert first.answer == again.answer == "3"
    assert len(server.bodies) == 1
    assert (first.usage["model_calls"], again.usage) == (1, {})
    assert again.trajectory.steps[0]["model_call"]["attempts"] == 0
    run(agent, "1 and 2", conf=RunConfig(seed=6), id="t")  # another seed, another answer
    run(agent, "1 and 3", id="t")
    assert len(server.bodies) == 3
    assert again.trajectory.token_count == first.trajectory.token_count == 15
    model.token_ids = True  # another request
    run(agent, "1 and 2", id="t")
    assert len(server.bodies) == 4


def test_a_cache_that_cannot_be_written_loses_no_answer(server, tmp_path):
    (tmp_path / "file").touch()
    model = OpenAIModel("m", base_url=server.url, cache=str(tmp_path / "file"))
    assert run(Agent("a", model=model), "1 and 2").answer == "3"
