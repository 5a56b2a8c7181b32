"""Model servers have bad days: every task still ends, and what cannot go on says why, once."""

from __future__ import annotations

import itertools
import pickle
import random
from collections import Counter

import pytest
from fake_server import FAULTS, FakeServer, reply_with

from aworld import AccessError, Agent, RunConfig, Runners, Task, tool
from aworld.models.openai_model import OpenAIModel


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def agent_at(url, *, api_key="test-key", timeout=1.0, tools=(add,), name="adder", **settings):
    model = OpenAIModel("fake", base_url=url, api_key=api_key, timeout=timeout, **settings)
    return Agent(name, model=model, tools=tools)


def questions(agent, count):
    return [
        Task(input=f"Add {n}, 2, 3 and 4.", agent=agent, id=str(n), ground_truth=str(n + 9))
        for n in range(count)
    ]


def right(tasks, responses):
    return sum(responses[task.id].answer == task.ground_truth for task in tasks)


CONF = RunConfig(worker_num=2, tasks_per_worker=50, seed=1)


def test_with_faults_in_three_of_ten_replies_every_task_still_ends_right(server):
    chance = random.Random(7)
    kinds = itertools.cycle(FAULTS)
    server.fault = lambda number: next(kinds) if chance.random() < 0.3 else None
    tasks = questions(agent_at(server.url), 500)
    responses = Runners.sync_run_task(tasks, CONF)
    assert Counter(r.status for r in responses.values()) == {"success": 500}
    assert right(tasks, responses) == 500
    assert set(server.faults) == set(FAULTS)
    assert len(server.bodies) <= 1.6 * 500 * 3  # three calls each, if all goes well


def test_a_wrong_key_is_one_clear_error_for_the_run(server):
    server.key = "right-key"
    tasks = questions(agent_at(server.url, api_key="wrong-key-canary"), 500)
    with pytest.raises(AccessError, match=r"refuses the key \(401\)") as caught:
        Runners.sync_run_task(tasks, CONF)
    assert "canary" not in str(caught.value)
    assert set(caught.value.responses) == {task.id for task in tasks}  # nothing is lost with it
    assert len(server.bodies) < 150  # those that were under way, each once


def test_an_unreachable_host_is_said_within_the_connect_timeout():
    with FakeServer() as server:
        url = server.url
    response = Runners.sync_run("1 and 2", agent_at(url, connect_seconds=1.0), CONF)
    assert response.time_cost < 10  # from when it began: starting a worker may take its time
    assert response.status == "failed"
    assert f"{url} cannot be reached" in response.msg


def test_a_server_that_comes_back_within_the_connect_timeout_is_waited_for():
    with FakeServer() as first:
        agent, port = agent_at(first.url, connect_seconds=30), first.port
    (task,) = questions(agent, 1)
    events = iter(Runners.stream_events(task, CONF))
    assert next(events).kind == "retry"  # it runs, and finds nobody there
    with FakeServer(port=port):
        *_, last = events
    assert last.response.answer == "9"


def test_too_many_requests_at_once_become_fewer(server):
    server.delay = 0.02
    limit = 20
    server.fault = lambda number: "429 with Retry-After" if server.in_flight > limit else None
    tasks = questions(agent_at(server.url), 300)
    responses = Runners.sync_run_task(tasks, CONF)
    assert right(tasks, responses) == 300
    # 100 in flight against a limit of 20: without slowing down most replies would be refusals
    assert server.faults["429 with Retry-After"] < 0.5 * 900
    assert server.most_in_flight > limit


@pytest.mark.parametrize(
    ("fault", "said", "asked"),
    [
        ("500", "answered 500: oops", 3),  # once, and two retries
        ("400", "answered 400: no", 1),
        ("429 for a day", "asks to wait for 86400 s", 1),
    ],
)
def test_a_request_is_tried_again_only_where_that_may_help(server, fault, said, asked):
    server.fault = lambda number: fault
    response = Runners.sync_run("1 and 2", agent_at(server.url, retries=2), CONF)
    assert response.status == "failed"
    assert said in response.msg
    assert len(server.bodies) == asked


def test_one_forbidden_request_of_many_does_not_end_the_run(server):
    server.fault = lambda number: "403" if number == 20 else None
    agent = agent_at(server.url)
    responses = Runners.sync_run_task(questions(agent, 30), RunConfig(worker_num=1))
    assert Counter(r.status for r in responses.values()) == {"success": 29, "failed": 1}


@pytest.mark.parametrize("key", ["token", "test", "content"])
def test_a_key_that_is_a_word_changes_no_reply(server, key):
    server.answer = lambda _: reply_with({"role": "assistant", "content": "test token content"})
    response = Runners.sync_run("?", agent_at(server.url, api_key=key), CONF)
    assert response.answer == "test token content"
    assert response.usage["prompt_tokens"] == 10


def test_a_streamed_reply_that_breaks_off_is_asked_for_again(server):
    server.fault = lambda number: "broken stream" if number < 3 else None
    task = Task(input="1 and 2", agent=agent_at(server.url, tools=()))
    events = list(Runners.stream_events(task, CONF))
    assert [event.kind for event in events].count("retry") == 2
    assert events[-1].response.answer == "3"


def test_a_password_in_the_url_is_not_shown():
    url = "http://someone:canary-password@127.0.0.1:9/v1?key=canary"
    response = Runners.sync_run("?", agent_at(url, connect_seconds=0.5), CONF)
    assert "http://127.0.0.1:9/v1 cannot be reached" in response.msg
    assert "canary" not in repr(response)


def test_a_model_that_calls_tools_for_ever_is_truncated(server):
    server.fault = lambda number: "unknown tool"
    response = Runners.sync_run("1 and 2", agent_at(server.url), CONF)
    assert response.status == "truncated"
    assert "max_steps=10" in response.msg
    assert len(response.trajectory.steps) == 10


def test_the_key_is_nowhere_to_be_seen(server, caplog, capfd):
    """The server echoes it in an error; agents are shown, pickled and recorded."""
    key = "sk-canary-0123456789"
    agent = agent_at(server.url, api_key=key)
    assert key not in repr(agent)
    assert key not in repr(pickle.loads(pickle.dumps(agent.model)))
    assert key not in repr(vars(agent.model))
    response = Runners.sync_run("1 and 2", agent, CONF)
    assert response.success
    assert key not in repr(response)
    assert key not in str(response.trajectory.to_dict())
    server.key = "another"
    with pytest.raises(AccessError) as caught:
        Runners.sync_run("1 and 2", agent, CONF)
    assert "[secret]" in str(caught.value)
    assert key not in str(caught.value)
    assert key not in repr(caught.value.responses)
    assert key not in "".join(r.error.traceback for r in caught.value.responses.values() if r.error)
    assert key not in caplog.text
    assert key not in "".join(capfd.readouterr())
