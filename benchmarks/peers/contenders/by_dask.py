"""dask.distributed: async tasks in two worker processes, each with many slots."""

from __future__ import annotations

from distributed import Client, LocalCluster  # pyright: ignore[reportMissingImports]
from stub import IN_FLIGHT, WORKERS, measured, wait_async, way_and_count


def main() -> None:
    _, count = way_and_count()
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=IN_FLIGHT, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        measured(count, lambda: client.gather(client.map(wait_async, range(count)), errors="skip"))


if __name__ == "__main__":
    main()
