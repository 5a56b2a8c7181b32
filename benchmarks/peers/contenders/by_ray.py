"""Ray by hand: a plain task each, or two async actors that may be restarted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sessions import ray_opened
from stub import IN_FLIGHT, WORKERS, measured, wait, wait_async, way_and_count


class Waiting:
    async def answer(self, number: int) -> str:
        return await wait_async(number)


def main() -> None:
    way, count = way_and_count()
    with ray_opened() as ray:

        def started() -> list[Any]:
            if way == "tasks":
                task = ray.remote(wait)
                return [task.remote(number) for number in range(count)]
            kind = ray.remote(Waiting).options(
                max_concurrency=IN_FLIGHT, max_restarts=-1, max_task_retries=-1
            )
            actors = [kind.remote() for _ in range(WORKERS)]
            return [actors[number % WORKERS].answer.remote(number) for number in range(count)]

        def results() -> Iterator[str | BaseException]:
            refs = started()
            try:
                yield from ray.get(refs)
            except ray.exceptions.RayError:  # some are lost: see which
                for ref in refs:
                    try:
                        yield ray.get(ref)
                    except ray.exceptions.RayError as error:
                        yield error

        measured(count, results)


if __name__ == "__main__":
    main()
