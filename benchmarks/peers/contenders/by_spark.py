"""Spark by hand: parallelize, map, collect; or with an event loop in each partition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from sessions import spark_opened
from stub import IN_FLIGHT, WORKERS, measured, wait, wait_async, way_and_count


def all_at_once(numbers: Iterable[int]) -> list[str]:
    async def together() -> list[str]:
        slots = asyncio.Semaphore(IN_FLIGHT)

        async def limited(number: int) -> str:
            async with slots:
                return await wait_async(number)

        return await asyncio.gather(*map(limited, numbers))

    return asyncio.run(together())


def main() -> None:
    way, count = way_and_count()
    with spark_opened() as context:
        rows = context.parallelize(range(count), WORKERS)
        mapped = rows.map(wait) if way == "map" else rows.mapPartitions(all_at_once)
        measured(count, mapped.collect)


if __name__ == "__main__":
    main()
