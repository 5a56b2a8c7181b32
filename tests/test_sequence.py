"""`sequence_dependent=True`: one after another, each sees the answer of the one before."""

from __future__ import annotations

import asyncio
import time

import pytest

from aworld import ActionModel, RunConfig, Runners, Task


async def add_one(value):
    return value + 1


class Looks:
    async def async_policy(self, observation, info):
        before = observation.info.get("previous_answer", "nothing")
        return [ActionModel(policy_info=(observation.content, before, time.time()))]


CONF = RunConfig(worker_num=2, sequence_dependent=True)


def test_each_task_sees_the_answer_of_the_one_before():
    tasks = [Task(input=i, agent=Looks(), id=str(i)) for i in range(4)]
    answers = [r.answer for r in Runners.sync_run_task(tasks, CONF).values()]
    assert [answer[0] for answer in answers] == [0, 1, 2, 3]
    assert answers[0][1] == "nothing"
    assert [answer[1] for answer in answers[1:]] == answers[:3]
    assert [answer[2] for answer in answers] == sorted(answer[2] for answer in answers)


def test_without_an_input_of_its_own_a_task_works_on_the_previous_answer():
    tasks = [Task(input=0, agent=add_one)] + [Task(agent=add_one) for _ in range(9)]
    answers = [r.answer for r in Runners.sync_run_task(tasks, CONF).values()]
    assert answers == list(range(1, 11))


@pytest.mark.parametrize("answer", [None, 0, "", False])
def test_a_falsy_answer_is_passed_on(answer):
    async def give(_):
        return answer

    tasks = [Task(input="x", agent=give), Task(input="y", agent=Looks())]
    last = list(Runners.sync_run_task(tasks, CONF).values())[-1]
    assert last.answer[1] == answer
    assert last.answer[1] is answer


def test_after_a_failure_the_rest_is_skipped_with_the_reason():
    async def fail(_):
        raise ValueError("no")

    tasks = [
        Task(input=0, agent=add_one, id="first"),
        Task(input=0, agent=fail, id="broken"),
        Task(agent=add_one, id="third"),
        Task(input=5, agent=add_one, id="fourth"),
    ]
    responses = Runners.sync_run_task(tasks, CONF)
    assert list(responses) == ["first", "broken", "third", "fourth"]
    assert [r.status for r in responses.values()] == ["success", "failed", "skipped", "skipped"]
    assert "task 'broken' before it ended as failed" in responses["fourth"].msg
    assert responses["fourth"].attempts == 0


def test_a_crash_and_a_timeout_skip_the_rest_too():
    async def crash(_):
        import os

        os._exit(1)

    async def sleep(_):
        await asyncio.sleep(30)

    for agent, status in ((crash, "crashed"), (sleep, "timeout")):
        tasks = [Task(input=0, agent=agent), Task(agent=add_one)]
        conf = RunConfig(worker_num=1, sequence_dependent=True, timeout=0.5, max_attempts=1)
        responses = Runners.sync_run_task(tasks, conf)
        assert [r.status for r in responses.values()] == [status, "skipped"]


def test_a_generator_runs_in_sequence_too():
    tasks = (Task(input=0 if i == 0 else None, agent=add_one) for i in range(50))
    responses = Runners.sync_run_task(tasks, CONF)
    assert [r.answer for r in responses.values()] == list(range(1, 51))


def test_a_sequence_can_be_streamed_and_awaited():
    def tasks():
        return [Task(input=0 if i == 0 else None, agent=add_one) for i in range(5)]

    assert [r.answer for r in Runners.stream_tasks(tasks(), CONF)] == [1, 2, 3, 4, 5]
    awaited = asyncio.run(Runners.run_task(tasks(), CONF))
    assert [r.answer for r in awaited.values()] == [1, 2, 3, 4, 5]


def test_cancelling_a_sequence_settles_all_of_it():
    async def sleep(_):
        await asyncio.sleep(30)

    tasks = [Task(input=0, agent=add_one), *(Task(input=1, agent=sleep) for _ in range(3))]
    with Runners.stream_tasks(tasks, CONF) as stream:
        assert next(stream).answer == 1
        stream.cancel()
        assert [r.status for r in stream] == ["cancelled"] * 3
