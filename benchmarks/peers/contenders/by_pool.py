"""Python's own process pool, with a future for each task."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

from stub import measured, wait, way_and_count


def main() -> None:
    workers, count = way_and_count()

    def results() -> Iterator[str | BaseException]:
        with ProcessPoolExecutor(min(int(workers), count)) as pool:
            for future in as_completed([pool.submit(wait, number) for number in range(count)]):
                yield future.exception() or future.result()

    measured(count, results)


if __name__ == "__main__":
    main()
