"""What can travel travels; what cannot is named down to the attribute."""

from __future__ import annotations

import threading
import types

import cloudpickle
import pytest

from aworld.engines import pickling


class Holder:
    def __init__(self, **parts):
        self.__dict__.update(parts)


class Slotted:
    __slots__ = ("lock", "name")

    def __init__(self):
        self.name = "x"
        self.lock = threading.Lock()


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (threading.Lock(), "thing (a lock)"),
        ([1, threading.Lock()], "thing[1] (a lock)"),
        ({"a": {"b": threading.Lock()}}, "thing['a']['b'] (a lock)"),
        (Holder(fine=1, broken=threading.Lock()), "thing.broken (a lock)"),
        (Holder(inner=Holder(deep=[threading.Lock()])), "thing.inner.deep[0] (a lock)"),
        (Slotted(), "thing.lock (a lock)"),
        ((i for i in "abc"), "thing (a generator)"),
    ],
)
def test_the_part_to_blame_is_named(value, path):
    with pytest.raises(pickling.UnpicklableError) as caught:
        pickling.dumps(value, "thing")
    assert str(caught.value).startswith(f"{path} cannot be pickled: ")


def test_a_closure_and_a_bound_method_are_looked_into():
    lock = threading.Lock()
    with pytest.raises(pickling.UnpicklableError, match=r"agent: lock \(a lock\)"):
        pickling.dumps(lambda: lock, "agent")
    holder = types.MethodType(lambda self: 1, Holder(lock=lock))
    with pytest.raises(pickling.UnpicklableError, match=r"agent\.__self__\.lock \(a lock\)"):
        pickling.dumps(holder, "agent")


def test_values_that_hold_themselves_do_not_go_round_for_ever():
    ring: list = [threading.Lock()]
    ring.insert(0, ring)
    with pytest.raises(pickling.UnpicklableError, match=r"thing\[1\]"):
        pickling.dumps(ring, "thing")


def test_what_is_defined_in_main_is_carried_along():
    module = types.ModuleType("__main__")
    exec("def double(x):\n    return 2 * x", module.__dict__)
    data = pickling.dumps({"function": module.double})
    assert b"cloudpickle" in data
    assert pickling.loads(data)["function"](21) == 42


def test_a_module_registered_by_value_is_carried_along():
    module = types.ModuleType("carried_along")
    exec("def double(x):\n    return 2 * x", module.__dict__)
    import sys

    sys.modules["carried_along"] = module
    cloudpickle.register_pickle_by_value(module)
    try:
        data = pickling.dumps(module.double)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules["carried_along"]
    assert pickling.loads(data)(21) == 42


class BreaksWhenShown:
    def __repr__(self):
        raise ValueError("cannot be shown")


def test_what_can_be_neither_pickled_nor_shown_still_gets_a_message():
    with pytest.raises(pickling.UnpicklableError, match=r"thing \(a dict\) cannot be pickled"):
        pickling.dumps({BreaksWhenShown(): threading.Lock()}, "thing")
