"""Agents of many kinds. Run as a script, it says what it takes each of them for."""

from __future__ import annotations

import asyncio
import enum
import functools
import json
import logging
import os
import pathlib
import re
import sys
import threading
from collections import deque
from dataclasses import dataclass, field

import numpy
from pydantic import BaseModel

from aworld import Agent, tool
from aworld.agents.identity import identify
from aworld.models.openai_model import OpenAIModel
from aworld.models.scripted import ScriptedModel
from aworld.tools.mcp import McpServer


async def double(x, k=1):
    return x * k


async def triple(x):
    return x * 3


def closing_over(held):
    async def agent(x):
        return held

    return agent


def with_default(held):
    async def agent(x, k=held, *, j=0):
        return k

    return agent


def with_keyword_default(held):
    async def agent(x, *, k=held):
        return k

    return agent


def adding(k):
    def decorate(function):
        @functools.wraps(function)
        async def wrapper(x):
            return await function(x) + k

        return wrapper

    return decorate


def typed_in(source):
    names = {}
    exec(source, names)
    return names["agent"]


class Held:
    def __init__(self, held):
        self.held = held

    async def __call__(self, x):
        return x

    async def act(self, x):
        return x


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held

    async def __call__(self, x):
        return self.held


@dataclass
class Record:
    held: int
    tags: set = field(default_factory=lambda: {"a", "b", "c", "d"})


@dataclass(slots=True)
class SlottedRecord(Record):
    pass


class Model(BaseModel):
    held: int
    tags: set = set("abcdef")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Keyed:
    def __init__(self, key, max_tokens=5, eos_token="</s>"):
        self.api_key = self._token = self.db_password = self.client_secret = key
        self.max_tokens, self.eos_token = max_tokens, eos_token


@tool
def look(word: str) -> str:
    """Looks."""
    return word


def made(key="k", name="gpt", prompt="", tools=(look,), url="http://x/v1", **settings):
    model = OpenAIModel(name, api_key=key, base_url=url, **settings)
    return Agent("a", model=model, system_prompt=prompt, tools=tools)


def asking(inner):
    return Agent("outer", model=ScriptedModel(["a"]), tools=[inner])


def around(first, second):
    """Two that hold each other, in a set: where one enters the ring is left to chance."""
    one, two = Held(first), Held(second)
    one.other, two.other = two, one
    agent = Held({one, two, Held(frozenset("xyz"))})
    agent.leader = one
    return agent


def marked(mark):
    async def agent(x):
        return x

    agent.mark = mark
    return agent


def running():
    """Things of the process. Those made before have other addresses, names and numbers."""
    held = Held(logging.getLogger("abc"))
    held.lock, held.event, held.local = threading.Lock(), threading.Event(), threading.local()
    held.thread, held.file, held.module = threading.Thread(), sys.stderr, os
    held.queue, held.said = asyncio.Queue(), repr(held)
    held.odd = [object(), iter([]), (n for n in ()), numpy.random.default_rng()]
    return held


def server(**settings):
    return made(tools=[McpServer(command=["server"], **settings)])


def array(last):
    values = numpy.zeros(5000)
    values[2500] = last
    return Held(values)


# Each row: agents of which no two are the same.
DIFFERENT = {
    "function": lambda: [double, triple, lambda x: x],
    "lambdas of a line": lambda: [lambda x: x + 1, lambda x: x + 2],
    "partial": lambda: [
        *(functools.partial(double), functools.partial(triple), double),
        *(functools.partial(double, k=1), functools.partial(double, k=2)),
        *(functools.partial(double, 1), functools.partial(double, 2)),
    ],
    "closure": lambda: [closing_over(1), closing_over(2), closing_over({"a"}), closing_over(b"a")],
    "default": lambda: [with_default(1), with_default(2)],
    "keyword default": lambda: [with_keyword_default(1), with_keyword_default(2)],
    "decorated": lambda: [triple, adding(1)(triple), adding(2)(triple), adding(1)(double)],
    "cached": lambda: [functools.lru_cache(double), functools.lru_cache(triple)],
    "slots": lambda: [Slotted(1), Slotted(2), Slotted(1).__call__, Slotted(2).__call__],
    "attribute": lambda: [Held(1), Held(2), Held("1"), Held(True), Held(1.0), Held(None), Held],
    "bound": lambda: [Held(1).act, Held(2).act, Held(1).__call__],
    "record": lambda: [Record(1), Record(2), SlottedRecord(1), SlottedRecord(2)],
    "model": lambda: [Model(held=1), Model(held=2), Model, Record],
    "enum": lambda: [Held(Colour.RED), Held(Colour.BLUE)],
    "array": lambda: [array(0), array(3), Held(numpy.zeros(3)), Held(numpy.zeros(3, "int8"))],
    "array of objects": lambda: [Held(numpy.array([Slotted(n)])) for n in (1, 2)],
    "bytes": lambda: [Held(b"\xff"), Held(b"\xfe"), Held(bytearray(b"\xfd"))],
    "set": lambda: [Held({"q", "w", "e"}), Held({"q", "w"}), Held(["e", "q", "w"])],
    "sets in a set": lambda: [Held({frozenset("xyzt"), frozenset("ab")}), Held({frozenset("xy")})],
    "pairs": lambda: [Held({(1, "a"), (2, "b")}), Held({(1, "b"), (2, "a")})],
    "keys": lambda: [Held({Slotted(1): 1, Slotted(2): 2}), Held({Slotted(1): 2, Slotted(2): 1})],
    "mixed keys": lambda: [Held({1: "a", "1": "b"}), Held({1: "b", "1": "a"}), Held({1: "a"})],
    "keyed by functions": lambda: [Held({double: 1, triple: 2}), Held({double: 2, triple: 1})],
    "pattern": lambda: [Held(re.compile("x" * 500 + end)) for end in "ab"],
    "others": lambda: [Held(pathlib.Path("/a")), Held(pathlib.Path("/b")), Held(deque("abc"))],
    "ring": lambda: [around(1, 2), around(1, 3), around(2, 1)],
    "attribute of a function": lambda: [marked(1), marked(2)],
    "running": lambda: [running()],
    "typed in": lambda: [
        typed_in(f"def agent(x): return {body}")
        for body in (
            *('x in {"a", "b", "c"}', "x.foo()", "x.bar()", "x(lambda y: y + 1)"),
            *("x(lambda y: y + 2)", "x(1)", "x(True)", "x(b=1)", "x(a=1)"),
        )
    ],
    "agent": lambda: [
        *(
            made(),
            made(name="other"),
            made(prompt="Be kind."),
            made(tools=()),
            made(url="http://y"),
        ),
        *(made(temperature=0.3), made(temperature=0.4), asking(made()), asking(made(prompt="x"))),
        *(server(), server(allow=["a"]), server(env={"LEVEL": "1"}), server(env={"LEVEL": "2"})),
    ],
    "output": lambda: [
        Agent("a", model=ScriptedModel(["a"]), output_type=kind)
        for kind in (None, Model, list[Model], int)
    ],
    "no secret": lambda: [Keyed("a"), Keyed("a", 6), Keyed("a", 5, "<|im_end|>"), Keyed(None)],
}


def fingerprints():
    return {name: [identify(a).fingerprint for a in make()] for name, make in DIFFERENT.items()}


if __name__ == "__main__":
    if sys.argv[1:]:
        threads = [threading.Thread(target=print, args=("",), kwargs={"end": ""}) for _ in range(9)]
        for thread in threads:
            thread.start()
        logging.basicConfig(level="DEBUG")
        logging.getLogger("abc.other").addHandler(logging.StreamHandler())
        DIFFERENT = dict(reversed(DIFFERENT.items()))
    print(json.dumps(fingerprints()))
