"""The dispatcher alone: whatever happens, in whatever order, every entry is settled once."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aworld.core.failure import ErrorInfo
from aworld.engines.dispatcher import (
    GRACE_SECONDS,
    SILENT_SECONDS,
    Dispatcher,
    Entry,
)


def make(count, *, slots=4, max_attempts=2, timeout=None):
    dispatcher = Dispatcher(tasks_per_worker=slots, max_attempts=max_attempts)
    dispatcher.add(Entry(i, "", (i,), timeout=timeout) for i in range(count))
    return dispatcher


def start_all(dispatcher, worker, now=0.0):
    dispatcher.worker_reported(worker, list(dispatcher.seats[worker].queued), [], now)


def finish_all(dispatcher, worker, now=0.0):
    running = list(dispatcher.seats[worker].running)
    results = [(i, "success", (i,), None, 0.1) for i in running]
    dispatcher.worker_reported(worker, [], results, now)


def run_until_settled(dispatcher, poison):
    """Workers come as often as needed; one that runs a poisonous entry dies."""
    deaths = 0
    worker = 0
    dispatcher.worker_joined(worker, 0.0)
    while dispatcher.unfinished:
        dispatcher.assign()
        start_all(dispatcher, worker)
        if poison & dispatcher.seats[worker].running.keys():
            deaths += 1
            dispatcher.worker_died(worker, "died", 0.0)
            worker += 1
            dispatcher.worker_joined(worker, 0.0)
        else:
            finish_all(dispatcher, worker)
    return deaths


def test_a_worker_is_given_no_more_than_its_slots_at_first():
    dispatcher = make(100, slots=4)
    dispatcher.worker_joined(1, 0.0)
    assert [(w, len(entries)) for w, entries in dispatcher.assign()] == [(1, 4)]
    assert dispatcher.assign() == []


def test_a_fast_worker_is_given_work_ahead():
    dispatcher = make(1000, slots=4)
    dispatcher.worker_joined(1, 0.0)
    for step in range(1, 4):
        dispatcher.assign()
        start_all(dispatcher, 1, step * 0.006)
        finish_all(dispatcher, 1, step * 0.006)
    ((_, entries),) = dispatcher.assign()
    assert len(entries) > 4


def test_work_is_levelled_and_a_share_is_kept_for_who_arrives():
    dispatcher = make(6, slots=16)
    dispatcher.worker_joined(1, 0.0)
    assert [len(entries) for _, entries in dispatcher.assign(arriving=2)] == [2]
    dispatcher.worker_joined(2, 0.0)
    assert [(w, len(entries)) for w, entries in dispatcher.assign(arriving=1)] == [(2, 2)]
    assert [len(entries) for _, entries in dispatcher.assign(arriving=0)] == [1, 1]


def test_only_the_poison_is_given_up_and_innocents_keep_their_first_attempt():
    for count in (1, 2, 7, 16, 33):
        dispatcher = make(count, slots=16, max_attempts=3)
        run_until_settled(dispatcher, {count // 2})
        attempts = {s.index: (s.status, s.attempts) for s in dispatcher.settled}
        assert attempts.pop(count // 2) == ("crashed", 3)
        assert set(attempts.values()) <= {("success", 1)}


def test_the_poison_among_n_is_found_in_the_logarithm_of_n():
    dispatcher = make(64, slots=64, max_attempts=1)
    assert run_until_settled(dispatcher, {13}) <= 8


def test_suspects_run_apart_from_everybody_else():
    dispatcher = make(4, slots=4)
    dispatcher.worker_joined(1, 0.0)
    dispatcher.assign()
    start_all(dispatcher, 1)
    dispatcher.worker_died(1, "died", 0.0)
    dispatcher.add([Entry(99, "", (99,))])
    dispatcher.worker_joined(2, 0.0)
    ((_, entries),) = dispatcher.assign()
    assert [entry.index for entry in entries] == [0, 1]
    start_all(dispatcher, 2)
    assert dispatcher.assign() == []  # nothing joins them, though there are two free slots


def test_a_worker_that_has_others_to_do_is_not_given_suspects():
    dispatcher = make(8, slots=4)
    dispatcher.worker_joined(1, 0.0)
    dispatcher.worker_joined(2, 0.0)
    dispatcher.assign()
    start_all(dispatcher, 1)
    start_all(dispatcher, 2)
    dispatcher.worker_died(1, "died", 0.0)
    assert dispatcher.assign() == []
    finish_all(dispatcher, 2)
    assert [(w, len(entries)) for w, entries in dispatcher.assign()] == [(2, 2)]


def test_an_overdue_task_dooms_its_worker_and_nobody_else_is_suspected():
    dispatcher = make(3, timeout=1.0)
    dispatcher.worker_joined(1, 0.0)
    dispatcher.assign()
    dispatcher.worker_reported(1, [0], [], 0.0)
    dispatcher.worker_reported(1, [1, 2], [], 0.9)
    assert dispatcher.overdue(1.0 + GRACE_SECONDS - 0.01) == []
    dispatcher.worker_beat(1, None, 1.4)
    assert dispatcher.overdue(1.0 + GRACE_SECONDS) == [1]
    assert [(s.index, s.status) for s in dispatcher.settled] == [(0, "timeout")]
    dispatcher.worker_died(1, "was killed", 0.0)
    assert not dispatcher.suspects
    assert [entry.index for entry in dispatcher.fresh] == [1, 2]


def test_a_known_blocker_alone_is_blamed():
    dispatcher = make(3, timeout=1.0)
    dispatcher.worker_joined(1, 0.0)
    dispatcher.assign()
    start_all(dispatcher, 1)
    dispatcher.worker_beat(1, 2, 1.4)
    assert dispatcher.overdue(1.6) == [1]
    assert [(s.index, s.status) for s in dispatcher.settled] == [(2, "timeout")]
    dispatcher.worker_died(1, "was killed", 0.0)
    assert sorted(entry.index for entry in dispatcher.fresh) == [0, 1]


def test_when_a_worker_falls_silent_all_that_ran_are_suspects():
    dispatcher = make(2, timeout=1.0)
    dispatcher.worker_joined(1, 0.0)
    dispatcher.assign()
    start_all(dispatcher, 1)
    now = max(1.6, SILENT_SECONDS + 0.1)
    assert dispatcher.overdue(now) == [1]
    assert dispatcher.settled == []
    dispatcher.worker_died(1, "was killed", 0.0)
    assert [[e.index for e in group] for group in dispatcher.suspects] == [[0], [1]]


def test_what_one_worker_cannot_start_is_recalled_for_an_idle_one():
    dispatcher = make(6, slots=2)
    dispatcher.worker_joined(1, 0.0)
    dispatcher.seats[1].pace = 1e6
    dispatcher.assign()
    dispatcher.worker_reported(1, [0, 1], [], 0.0)
    assert dispatcher.recalls() == []  # nobody could take it
    dispatcher.worker_joined(2, 0.0)
    assert dispatcher.recalls() == [1]
    assert dispatcher.recalls() == []  # asked once
    dispatcher.worker_returned(1, [2, 3, 4, 5], 0.0)
    orders = dict(dispatcher.assign())
    assert [entry.index for entry in orders[2]][:2] == [2, 3]


def test_old_deadlines_do_not_pile_up():
    dispatcher = make(0, slots=1)
    dispatcher.worker_joined(1, 0.0)
    for i in range(5000):
        dispatcher.add([Entry(i, "", (i,), timeout=3600.0)])
        dispatcher.assign()
        start_all(dispatcher, 1)
        finish_all(dispatcher, 1)
    assert len(dispatcher._deadlines) < 200


class AnythingHappens(RuleBasedStateMachine):
    """Random events in random order, then a calm end."""

    def __init__(self):
        super().__init__()
        self.dispatcher = Dispatcher(tasks_per_worker=3, max_attempts=2)
        self.now = 0.0
        self.added = 0
        self.workers = 0
        self.doomed: set[int] = set()
        self.suspected: set[int] = set()

    @rule(count=st.integers(1, 8), timeout=st.sampled_from([None, 0.5, 5.0]))
    def tasks_arrive(self, count, timeout):
        self.dispatcher.add(
            Entry(i, "", (i,), timeout=timeout) for i in range(self.added, self.added + count)
        )
        self.added += count

    @rule()
    def a_worker_joins(self):
        self.workers += 1
        self.dispatcher.worker_joined(self.workers, self.now)

    @rule(arriving=st.integers(0, 2))
    def work_is_assigned(self, arriving):
        self.dispatcher.assign(arriving)

    @rule(seconds=st.floats(0, 2))
    def time_passes(self, seconds):
        self.now += seconds
        self.doomed.update(self.dispatcher.overdue(self.now))

    @precondition(lambda self: self.dispatcher.seats)
    @rule(data=st.data())
    def a_worker_reports(self, data):
        seat = self.some_seat(data)
        started = list(seat.queued)[: data.draw(st.integers(0, 3))]
        running = [*seat.running, *started]
        finished = data.draw(st.lists(st.sampled_from(running), unique=True)) if running else []
        results = [(i, "success", (i,), None, 0.1) for i in finished]
        self.dispatcher.worker_reported(seat.worker, started, results, self.now)

    @precondition(lambda self: self.dispatcher.seats)
    @rule(data=st.data())
    def a_worker_beats(self, data):
        seat = self.some_seat(data)
        blocked_by = data.draw(st.sampled_from([None, *seat.running]))
        self.dispatcher.worker_beat(seat.worker, blocked_by, self.now)

    @precondition(lambda self: self.dispatcher.seats)
    @rule(data=st.data())
    def a_worker_dies(self, data):
        worker = self.some_seat(data).worker
        self.doomed.discard(worker)
        self.dispatcher.worker_died(worker, "died", 0.0)

    @rule()
    def work_is_recalled(self):
        for worker in self.dispatcher.recalls():
            unstarted = list(self.dispatcher.seats[worker].queued)
            self.dispatcher.worker_returned(worker, unstarted, self.now)

    @rule()
    def the_run_is_cancelled(self):
        error = ErrorInfo("Cancelled", "")
        self.doomed.update(self.dispatcher.abandon("cancelled", error))
        assert not self.dispatcher.unfinished

    @precondition(lambda self: self.dispatcher.seats)
    @rule(data=st.data())
    def a_worker_is_about_to_leave(self, data):
        worker = self.some_seat(data).worker
        self.dispatcher.worker_leaving(worker)
        self.doomed.add(worker)

    def some_seat(self, data):
        return self.dispatcher.seats[data.draw(st.sampled_from(sorted(self.dispatcher.seats)))]

    @invariant()
    def every_entry_is_in_one_place(self):
        d = self.dispatcher
        places = Counter(entry.index for entry in d.fresh)
        places.update(entry.index for group in d.suspects for entry in group)
        for seat in d.seats.values():
            places.update(list(seat.queued))
            places.update(list(seat.running))
        places.update(settled.index for settled in d.settled)
        assert places == Counter(range(self.added))
        assert set(d.unfinished) == set(range(self.added)) - {s.index for s in d.settled}

    @invariant()
    def suspects_are_apart(self):
        d = self.dispatcher
        self.suspected.update(entry.index for group in d.suspects for entry in group)
        for seat in d.seats.values():
            held = {*seat.queued, *seat.running}
            assert seat.apart == bool(held & self.suspected) or not held
            assert held <= self.suspected or not held & self.suspected

    def teardown(self):
        for worker in list(self.doomed):
            self.dispatcher.worker_died(worker, "was killed", 0.0)
        self.a_worker_joins()
        for _ in range(10 * self.added + 10):
            self.dispatcher.assign()
            for worker in list(self.dispatcher.seats):
                start_all(self.dispatcher, worker, self.now)
                finish_all(self.dispatcher, worker, self.now)
        assert not self.dispatcher.unfinished
        assert Counter(s.index for s in self.dispatcher.settled) == Counter(range(self.added))


TestAnythingHappens = AnythingHappens.TestCase
TestAnythingHappens.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
