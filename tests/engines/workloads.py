"""What the tests make workers do. A light module: every worker imports it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import random
import re
import threading
import time
from collections import Counter

from aworld import ActionModel, Observation, Task


def tasks_of(values, agent=None, **options):
    """One task for each value, with the ids t0, t1, ..."""
    agent = agent or echo
    return [Task(input=v, agent=agent, id=f"t{i}", **options) for i, v in enumerate(values)]


def statuses(responses):
    """How many ended how."""
    return Counter(response.status for response in responses.values())


async def give_value(value, call):
    """For an engine itself, without tasks and agents."""
    return value


async def echo(value):
    return value


def sync_echo(value):
    return value


async def wait(seconds):
    await asyncio.sleep(seconds)
    return seconds


async def wait_and_echo(value):
    await asyncio.sleep(random.random() * 0.02)
    return value


async def worker_pid(_):
    await asyncio.sleep(0.02)
    return os.getpid()


class Policy:
    """An agent by the sync protocol."""

    def policy(self, observation: Observation, info: dict, **kwargs) -> list[ActionModel]:
        return [ActionModel(policy_info=observation.content)]


class AsyncPolicy:
    async def async_policy(self, observation: Observation, info: dict, **kwargs):
        return [ActionModel(policy_info=(observation.content, info["seed"], info["attempt"]))]


class Remembers:
    """Keeps state, which must not leak into the next task."""

    def __init__(self):
        self.seen = []

    async def async_policy(self, observation: Observation, info: dict, **kwargs):
        self.seen.append(observation.content)
        return [ActionModel(policy_info=list(self.seen))]


class AsyncCallable:
    async def __call__(self, value):
        return value


def add(first, second):
    return first + second


async def span(seconds):
    """When it ran, and where."""
    begin = time.time()
    await asyncio.sleep(seconds)
    return os.getpid(), begin, time.time()


# -- things that go wrong ------------------------------------------------------------------------


class PlainError(Exception):
    pass


class CannotBeRebuiltError(Exception):
    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")


class CannotBePickledError(Exception):
    def __init__(self):
        super().__init__("holds a lock")
        self.lock = threading.Lock()


class CannotBeShownError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def raise_by_kind(kind):
    raise {
        "plain": lambda: PlainError("went wrong"),
        "not rebuilt": lambda: CannotBeRebuiltError(7, "seven"),
        "not pickled": CannotBePickledError,
        "not shown": CannotBeShownError,
        "exit": lambda: SystemExit(3),
        "interrupt": KeyboardInterrupt,
        "stop": lambda: StopIteration("x"),
        "huge": lambda: ValueError("x" * 5_000_000),
        "memory": MemoryError,
        "recursion": RecursionError,
        "cancelled": asyncio.CancelledError,
        "group": lambda: ExceptionGroup("several", [ValueError("a"), KeyError("b")]),
    }[kind]()


async def raise_async(kind):
    raise_by_kind(kind)


async def every_tenth_raises(number):
    if number % 10 == 0:
        raise_by_kind(
            ["plain", "not rebuilt", "not pickled", "not shown", "exit"][number // 10 % 5]
        )
    return number


async def give_a_lock(_):
    return threading.Lock()


async def give_a_lock_inside(_):
    return {"fine": 1, "deep": [0, threading.Lock()]}


class BreaksWhenRebuilt:
    def __reduce__(self):
        return explode, ("in the driver",)


def explode(where):
    if where == "in the driver":
        raise RuntimeError(f"exploded {where}")


async def give_what_breaks(_):
    return BreaksWhenRebuilt()


async def die(how):
    """One way to take the whole worker down."""
    if how == "exit":
        os._exit(7)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "memory":
        hoard = []
        while True:
            hoard.append(bytearray(b"x" * (8 << 20)))
            await asyncio.sleep(0.001)
    if how == "late":
        await asyncio.sleep(0.2)
        os._exit(7)
    await asyncio.sleep(0.05)
    return how


async def block(how):
    """Does not return for a long time, in one way or another."""
    note, how = how.split("|")
    if note:
        with open(note, "w") as file:
            file.write(str(os.getpid()))
    if how == "loop":  # a coroutine that sleeps without awaiting
        time.sleep(60)
    elif how == "gil":  # C code that never lets another thread run
        ctypes.PyDLL(None).sleep(60)
    elif how == "regex":  # the classic: all in C, and hours long
        re.match(r"(a+)+$", "a" * 60 + "b")
    elif how == "stubborn":
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue
    elif how == "await":
        await asyncio.sleep(60)
    return how


def block_in_thread(how):
    note, how = how.split("|")
    if note:
        with open(note, "w") as file:
            file.write(str(os.getpid()))
    if how == "sleep":
        time.sleep(60)
    if how == "gil":
        ctypes.PyDLL(None).sleep(60)
    return how


async def start_a_child(note):
    """A process of its own that would outlive the worker."""
    import subprocess

    child = subprocess.Popen(["sleep", "600"])
    with open(note, "a") as file:
        file.write(f"{child.pid}\n")
    await asyncio.sleep(60)


async def fork_and_fall_through(value):
    """A child that returns into the event loop, as a careless agent may let it."""
    return value, os.fork() == 0


def exit_in_driver():
    raise SystemExit(5)
