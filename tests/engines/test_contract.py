"""What every engine promises when nothing goes wrong."""

from __future__ import annotations

import asyncio
import functools
import itertools
import threading
import time
from collections import Counter

import pytest
import workloads
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workloads import give_value, tasks_of

from aworld import EchoAgent, InputError, Runners, Task
from aworld.engines import open_engine
from aworld.engines.base import Item
from aworld.engines.roster import Member


def test_every_task_comes_back_once_in_the_order_of_the_input(engine):
    responses = Runners.sync_run_task(
        tasks_of(range(500), workloads.wait_and_echo), engine.conf(tasks_per_worker=50)
    )
    assert list(responses) == [f"t{i}" for i in range(500)]
    assert [response.answer for response in responses.values()] == list(range(500))
    assert {response.status for response in responses.values()} == {"success"}


@pytest.mark.parametrize(
    "agent",
    [
        workloads.echo,
        workloads.sync_echo,
        workloads.Policy(),
        EchoAgent(),
        lambda value: value,
        workloads.AsyncCallable(),
        functools.partial(workloads.add, ""),
        functools.partial(workloads.AsyncCallable()),
    ],
    ids=[
        "async function",
        "function",
        "policy",
        "async_policy",
        "lambda",
        "async callable",
        "partial",
        "async partial",
    ],
)
def test_an_agent_may_have_any_of_the_known_shapes(engine, agent):
    responses = Runners.sync_run_task(tasks_of(["a", "b"], agent), engine.conf())
    assert [response.answer for response in responses.values()] == ["a", "b"]


@pytest.mark.parametrize("answer", [0, "", None, False, [], {}, 0.0, b""])
def test_a_falsy_answer_is_an_answer(engine, answer):
    (response,) = Runners.sync_run_task(tasks_of([answer]), engine.conf()).values()
    assert response.success
    assert response.answer == answer
    assert type(response.answer) is type(answer)


def test_nothing_leaks_from_task_to_task_through_the_agent(engine):
    responses = Runners.sync_run_task(
        tasks_of(range(20), workloads.Remembers()), engine.conf(worker_num=1)
    )
    assert [response.answer for response in responses.values()] == [[i] for i in range(20)]


def test_the_agent_travels_once_per_worker(killable, monkeypatch):
    sent = []
    send = Member.send
    monkeypatch.setattr(Member, "send", lambda self, *m: (sent.append(m[0]), send(self, *m)))
    responses = Runners.sync_run_task(tasks_of(range(300), EchoAgent()), killable.conf())
    assert all(response.success for response in responses.values())
    assert 1 <= sent.count("shared") <= 2  # quick tasks may all go to the first that comes


def test_more_agents_than_a_worker_keeps(engine):
    tasks = [Task(input=i, agent=EchoAgent(f"agent{i}"), id=str(i)) for i in range(300)]
    responses = Runners.sync_run_task(tasks + tasks_of(["x"]), engine.conf(worker_num=1))
    assert len(responses) == 301
    assert {responses[str(i)].trajectory.agent_id for i in range(300)} == {
        f"agent{i}" for i in range(300)
    }


def test_responses_stream_while_the_rest_still_runs(engine):
    released = threading.Event()

    def tasks():
        yield Task(input=0, agent=workloads.wait, id="quick")
        released.wait(20)  # the second task exists only after the first response was seen
        yield Task(input=0, agent=workloads.wait, id="second")

    stream = Runners.stream_tasks(tasks(), engine.conf())
    assert next(stream).id == "quick"
    released.set()
    assert [response.id for response in stream] == ["second"]


def test_short_tasks_do_not_wait_for_long_ones(engine):
    values = [1.0] + [0.01] * 40
    stream = Runners.stream_tasks(
        tasks_of(values, workloads.wait), engine.conf(worker_num=1, tasks_per_worker=4)
    )
    assert [response.id for response in stream][-1] == "t0"


def test_a_generator_is_pulled_only_a_little_ahead(engine):
    pulled = itertools.count()
    last = 0

    def tasks():
        nonlocal last
        for last in pulled:
            yield Task(input=0.005, agent=workloads.wait, id=str(last))

    ahead = []
    with Runners.stream_tasks(tasks(), engine.conf(tasks_per_worker=4)) as stream:
        for done, _ in enumerate(itertools.islice(stream, 300)):
            ahead.append(last - done)
    assert max(ahead) <= 2 * (2 * 4 + 2 * 40)  # twice what is in flight, prefetched tasks included


def test_a_reader_that_pauses_holds_up_the_source_not_the_memory(engine):
    made = 0

    def tasks():
        nonlocal made
        for made in itertools.count():
            yield Task(input="x" * 100_000, agent=workloads.echo, id=str(made))

    with Runners.stream_tasks(tasks(), engine.conf()) as stream:
        next(stream)
        before = -1
        while before != made:  # until the source stands still
            before = made
            time.sleep(0.5)
        assert made * 100_000 < 100 << 20


def test_async_for_and_for_give_the_same(engine):
    async def gather():
        return {r.id async for r in Runners.stream_tasks(tasks_of(range(50)), engine.conf())}

    assert asyncio.run(gather()) == {r.id for r in Runners.stream_tasks(tasks_of(range(50)))}


def test_other_coroutines_go_on_while_a_run_is_awaited(engine):
    async def count(ticks):
        while True:
            await asyncio.sleep(0.01)
            ticks.append(1)

    async def main():
        ticks = []
        counter = asyncio.create_task(count(ticks))
        responses = await Runners.run_task(tasks_of([0.5], workloads.wait), engine.conf())
        counter.cancel()
        return responses, ticks

    responses, ticks = asyncio.run(main())
    assert responses["t0"].success
    assert len(ticks) > 10


def test_two_runs_at_once_do_not_meet(engine):
    async def main():
        return await asyncio.gather(
            *(Runners.run_task(tasks_of([n] * 20), engine.conf()) for n in range(3))
        )

    for number, responses in enumerate(asyncio.run(main())):
        assert [response.answer for response in responses.values()] == [number] * 20


def test_worker_num_and_tasks_per_worker_are_what_runs_at_once(killable):
    conf = killable.conf(worker_num=3, tasks_per_worker=2)
    responses = Runners.sync_run_task(tasks_of([0.3] * 24, workloads.span), conf).values()
    spans = [response.answer for response in responses]
    assert len({pid for pid, _, _ in spans}) == 3
    at_once = [
        Counter(pid for pid, begin, end in spans if begin <= now < end) for _, now, _ in spans
    ]
    assert max(max(counts.values()) for counts in at_once) == 2
    assert max(sum(counts.values()) for counts in at_once) == 6


def test_a_few_tasks_are_shared_out_among_the_workers(killable):
    conf = killable.conf(worker_num=2, tasks_per_worker=16)
    responses = Runners.sync_run_task(tasks_of(range(8), workloads.worker_pid), conf)
    assert len({response.answer for response in responses.values()}) == 2


def test_no_more_workers_are_started_than_there_are_tasks(killable):
    with Runners.stream_tasks(
        tasks_of([0.3, 0.3], workloads.wait), killable.conf(worker_num=8)
    ) as s:
        next(s)
        assert len(killable.worker_pids()) <= 2


def test_the_same_seed_gives_the_same_seeds_to_the_tasks(engine):
    def seeds(**changes):
        tasks = tasks_of(range(20), workloads.AsyncPolicy())
        responses = Runners.sync_run_task(tasks, engine.conf(**changes))
        return [response.answer[1] for response in responses.values()]

    first = seeds(seed=1)
    assert len(set(first)) == 20
    assert first == seeds(seed=1, worker_num=1, tasks_per_worker=1)
    assert not set(first) & set(seeds(seed=2))
    assert not set(first) & set(seeds())


def test_tasks_without_an_id_are_seeded_by_their_position(engine):
    def seeds():
        tasks = [Task(input=i, agent=workloads.AsyncPolicy()) for i in range(5)]
        responses = Runners.sync_run_task(tasks, engine.conf(seed=1))
        return [response.answer[1] for response in responses.values()]

    assert seeds() == seeds()


def test_an_engine_can_run_again_and_again(engine):
    with open_engine(engine.conf()) as opened:
        for count in (1, 100, 0, 7):
            outcomes = list(opened.run(give_value, [Item(i) for i in range(count)]))
            assert sorted(outcome.value for outcome in outcomes) == list(range(count))


def test_an_empty_list_and_an_empty_generator_give_nothing(engine):
    assert Runners.sync_run_task([], engine.conf()) == {}
    assert Runners.sync_run_task(iter(()), engine.conf()) == {}
    assert list(Runners.stream_tasks([], engine.conf())) == []


def test_a_source_that_breaks_off_loses_nothing(engine):
    def tasks():
        yield from tasks_of(range(30))
        raise OSError("the disk is gone")

    with pytest.raises(InputError, match=r"broke off after 30.*the disk is gone") as caught:
        Runners.sync_run_task(tasks(), engine.conf())
    assert len(caught.value.responses) == 30
    assert all(response.success for response in caught.value.responses.values())


def test_a_duplicate_id_half_way_through_a_generator_loses_nothing(engine):
    tasks = itertools.chain(tasks_of(range(30)), tasks_of(["again"]))
    with pytest.raises(InputError, match=r"'t0', at 0 and 30") as caught:
        Runners.sync_run_task(tasks, engine.conf())
    assert len(caught.value.responses) == 30


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=200_000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batch=st.lists(values, max_size=40))
def test_whatever_goes_in_comes_out_unchanged(engine, batch):
    responses = Runners.sync_run_task(tasks_of(batch), engine.conf(worker_num=1))
    answers = [response.answer for response in responses.values()]
    assert answers == batch
    assert [type(answer) for answer in answers] == [type(value) for value in batch]


def test_a_large_value_comes_through_whole(engine):
    value = {"blob": bytes(range(256)) * (200 << 10), "n": 1}
    (response,) = Runners.sync_run_task(tasks_of([value]), engine.conf()).values()
    assert response.answer == value


# -- news and announcements -----------------------------------------------------------------------


async def tell_and_wait_for_the_answer(value, call):
    call.tell({"from": value})
    while call.announced is None:
        await asyncio.sleep(0.01)
    return call.announced


def test_what_items_tell_is_heard_while_they_run_and_announcements_reach_every_worker(engine):
    heard = []

    def listen(index, news):
        heard.append((index, news["from"]))
        if len(heard) == 20:
            outcomes.announce("all were heard")

    with open_engine(engine.conf()) as opened:
        outcomes = opened.run(
            tell_and_wait_for_the_answer, [Item(i) for i in range(20)], on_news=listen
        )
        assert [outcome.value for outcome in outcomes] == ["all were heard"] * 20
        assert sorted(heard) == [(i, i) for i in range(20)]
        # the next run on the same workers knows nothing of it
        outcomes = opened.run(
            tell_and_wait_for_the_answer, [Item(i) for i in range(5)], on_news=lambda *_: None
        )
        outcomes.announce("second run")
        assert [outcome.value for outcome in outcomes] == ["second run"] * 5
