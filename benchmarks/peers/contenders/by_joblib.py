"""joblib with its own backend, loky; results are taken as they come."""

from __future__ import annotations

from joblib import Parallel, delayed  # pyright: ignore[reportMissingImports]
from stub import measured, wait, way_and_count


def main() -> None:
    workers, count = way_and_count()
    parallel = Parallel(n_jobs=min(int(workers), count), return_as="generator_unordered")
    measured(count, lambda: parallel(delayed(wait)(number) for number in range(count)))


if __name__ == "__main__":
    main()
