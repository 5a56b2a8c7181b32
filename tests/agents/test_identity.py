"""An agent is known again in another process, and another one is told from it."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import cloudpickle
import identity_scenes
import numpy
import pytest
from identity_scenes import (
    DIFFERENT,
    Colour,
    Held,
    Keyed,
    Record,
    asking,
    closing_over,
    double,
    look,
    made,
    server,
)

from aworld.agents.identity import canonical, identify


@pytest.fixture(scope="module")
def processes():
    """What two processes say. The second has done other things before."""
    started = [
        subprocess.Popen(
            [sys.executable, identity_scenes.__file__, *args],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
        )
        for seed, args in (("1", []), ("2", ["busy"]))
    ]
    return [json.loads(process.communicate()[0]) for process in started]


@pytest.mark.parametrize("name", DIFFERENT)
def test_an_agent_is_known_again_in_another_process(processes, name):
    first, second = processes
    assert first[name] == second[name]


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_agent_is_told_from_it(processes, name):
    assert len(set(processes[0][name])) == len(processes[0][name])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made("k1"), made("k2")),
        (Keyed("a"), Keyed("b")),
        (Held({"token": "a"}), Held({"token": "b"})),
        (closing_over(Keyed("a")), closing_over(Keyed("b"))),
        (functools.partial(double, api_key="a"), functools.partial(double, api_key="b")),
        (server(env={"API_KEY": "a"}), server(env={"API_KEY": "b"})),
    ],
)
def test_another_key_does_not_make_another_agent(one, other):
    assert identify(one) == identify(other)


def test_the_order_of_a_dict_does_not_count():
    assert identify(Held({"a": 1, "b": 2})) == identify(Held({"b": 2, "a": 1}))
    assert identify(Held({1: 1, 2: 2})) == identify(Held({2: 2, 1: 1}))


def test_a_tool_that_has_travelled_is_the_same():
    agent = asking(made())
    agent.tools.append(look)
    before = identify(agent)
    travelled = cloudpickle.loads(cloudpickle.dumps(agent))
    assert identify(agent) == before
    assert identify(travelled) == before


def test_what_was_only_computed_does_not_count():
    class Lazy:
        @functools.cached_property
        def size(self):
            return 5

    agent = Lazy()
    before = identify(agent)
    assert agent.size == 5
    assert identify(agent) == before


SOURCE = """
import functools, prompts
LIMITS, SEEN, count = {"most": 3}, None, 0
class Base:
    def most(self): return helper()
class Solver(Base):
    greeting = "hello"
    def __init__(self): super().__init__()
    def __call__(self, x): return Solver.greeting + self.most()
def helper(): return deeper(LIMITS)
@functools.lru_cache
def deeper(x): return prompts.SYSTEM
def solve(x):
    global count
    count += 1
    return solve(Solver()) if x else unrelated
def apart(x): return x
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Makes a module of the user's own, in any number of versions."""

    def load(name, source):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(source)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize(
    ("written", "changed", "is_other"),
    [
        ("return helper()", "return helper() + 1", True),  # a base class
        ('"hello"', '"hi"', True),
        ('{"most": 3}', '{"most": 4}', True),
        ("return deeper(LIMITS)", "return deeper(0)", True),
        ("prompts.SYSTEM", "prompts.OTHER", True),
        ("None, 0", "None, 7", False),  # `solve` sets it: its memory
        ("None, 0", "5, 0", False),  # nobody reads it
        ("def apart(x): return x", "def apart(x): return 2", False),
    ],
)
def test_code_counts_with_what_it_uses_and_nothing_else(load, written, changed, is_other):
    load("prompts", "SYSTEM = OTHER = 'Be good.'")
    first = load("users_own", SOURCE)
    before = identify(first.Solver()).fingerprint, identify(first.solve).fingerprint
    second = load("users_own", SOURCE.replace(written, changed))
    after = identify(second.Solver()).fingerprint, identify(second.solve).fingerprint
    assert (before[0] != after[0], before[1] != after[1]) == (is_other, is_other)


def test_settings_are_read_as_they_are_now(load):
    prompts = load("prompts", "SYSTEM = 'Be good.'")
    module = load("users_own", SOURCE)
    seen = {identify(module.Solver())}
    prompts.SYSTEM = "Be brief."
    seen.add(identify(module.Solver()))
    module.Solver.greeting = "hi"
    seen.add(identify(module.Solver()))
    assert len(seen) == 3


def test_who_can_be_imported_is_named():
    assert identify(double)[:2] == ("double", "identity_scenes:double")
    assert identify(Held(1))[:2] == ("Held", "")
    assert identify(lambda x: x).spec == ""


def test_many_agents_of_a_class_take_no_time():
    agents = [Held({"n": n}) for n in range(2000)]
    identify(agents[0])
    began = time.perf_counter()
    seen = {identify(agent).fingerprint for agent in agents}
    assert time.perf_counter() - began < 5
    assert len(seen) == 2000


def test_what_is_held_many_times_is_looked_at_once():
    def tower(end):
        for _ in range(200):
            end = Held([end, {end}, end])
        return end

    began = time.perf_counter()
    assert identify(tower(Held(1))) == identify(tower(Held(1)))
    assert identify(tower(Held(1))) != identify(tower(Held(2)))
    assert time.perf_counter() - began < 10


def test_depth_does_not_matter():
    def pit(end):
        for _ in range(3000):
            end = Held([end])
        return end

    assert identify(pit(1)) == identify(pit(1))
    assert identify(pit(1)) != identify(pit(2))


class Unhashable(type):
    def __eq__(cls, other):
        raise RuntimeError


class Liar:
    @property
    def __class__(self):
        raise RuntimeError

    @property
    def __dict__(self):
        raise RuntimeError

    @property
    def name(self):
        raise RuntimeError

    def __getattr__(self, name):
        raise RuntimeError

    def __repr__(self):
        raise RuntimeError

    __str__ = __hash__ = __bool__ = __repr__


class Endless:
    def __getattr__(self, name):
        return Endless()

    def __iter__(self):
        return iter(Endless, 1)


class BrokenText(str):
    def __repr__(self):
        raise RuntimeError

    __str__ = __len__ = __repr__


class Named:
    def __init__(self, name):
        self.name = self.__module__ = self.__qualname__ = name

    def __call__(self):
        return self.name


class BrokenPath(pathlib.PurePosixPath):
    def __str__(self):
        raise RuntimeError


def itself():
    ring: list = []
    ring.append(ring)
    return ring


def partial_of_itself():
    made = functools.partial(double)
    made.__setstate__((made, (), {}, {}))
    return made


# as functions: pytest itself stumbles over some of these
ODD = [
    *(Liar, Endless, lambda: Unhashable("Odd", (), {})(), lambda: Unhashable("Odd", (), {})),
    *(lambda: BrokenText("a"), lambda: BrokenPath("a"), itself, partial_of_itself),
    *(lambda: Named(BrokenText("a")), lambda: Named(Liar()), lambda: Named(Endless())),
    *(lambda: type("Nowhere", (), {"__module__": None})(), lambda: Exception(Liar()), object),
    lambda: [None, 10**5000, float("nan"), "\ud800", print, [].append, int, type, ..., 1j],
    lambda: [numpy, numpy.float32(1), numpy.add, list[int], int | str, slice(1, 2), range(3)],
    lambda: [memoryview(b"a"), sys._getframe(), iter([]), Colour, property(), {"a": {}}.keys()],
]


@pytest.mark.parametrize("make", ODD)
def test_nothing_is_too_odd(make):
    for value in (make(), [make()], {1: make()}, functools.partial(double, make())):
        assert identify(value) == identify(value)
        text = canonical(value)
        assert text == canonical(value)
        assert " at 0x" not in text
        json.loads(text)


def test_plain_values_are_plain_json():
    value = {"b": [1, 2.5, None, True, "ä", ()], "a": {"x": "at 0xff"}}
    assert json.loads(canonical(value)) == {**value, "b": [*value["b"][:-1], []]}
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    assert canonical("x") == '"x"'
    assert len(canonical(["x" * 10_000])) > 10_000


def test_a_value_is_what_it_holds():
    assert canonical(Record(1)) == canonical(Record(1))
    assert canonical(Record(1)) != canonical(Record(2))
    assert canonical({"token": "a"}) != canonical({"token": "b"})  # a task may be about one
    assert canonical({1, 2}) != canonical([1, 2])
