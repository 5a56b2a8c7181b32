"""What is run: functions of a module that every pool, engine and cluster can import."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from typing import Any

WORKERS = 2
MEGABYTE = 1 << 20


def echo(value: Any) -> Any:
    return value


def megabyte(value: int) -> bytes:
    return os.urandom(16) * (MEGABYTE // 16)


def who_works(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


async def engine_echo(value: Any, call: Any) -> Any:
    return value


async def engine_megabyte(value: int, call: Any) -> bytes:
    return megabyte(value)


async def engine_wait(seconds: float, call: Any) -> float:
    await asyncio.sleep(seconds)
    return time.time()


async def engine_who_works(seconds: float, call: Any) -> int:
    await asyncio.sleep(seconds)
    return os.getpid()


async def agent_echo(value: Any) -> Any:
    return value


async def agent_megabyte(value: int) -> bytes:
    return megabyte(value)


async def agent_wait(seconds: float) -> float:
    await asyncio.sleep(seconds)
    return time.time()


def texts(count: int) -> Iterator[str]:
    """Strings of 1 kB, no two alike: pickle sends a repeated one only once."""
    return (f"{number:08d}" * 128 for number in range(count))
