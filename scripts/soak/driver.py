"""The program that is killed: runs the tasks, or what is still owed of them.

python scripts/soak/driver.py ORDER, an `Order` as JSON
"""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from workload import answer_of, paced_tasks

from aworld import RunConfig, Runners


@dataclass(frozen=True)
class Order:
    engine: str
    run_dir: str
    told: str  # a file: the id of every response that was handed over
    count: int
    began: float
    seconds: float  # over which the tasks come
    workers: int
    tasks_per_worker: int
    job: str
    address: str | None = None
    options: dict[str, str] = field(default_factory=dict)  # of the engine
    last: bool = False  # resume once more, and say how much was handed back


def main() -> None:
    order = Order(**json.loads(sys.argv[1]))
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
    if order.last:
        hand_back_all(order)
    else:
        run(order)


def run(order: Order) -> None:
    if order.engine == "ray":
        connect(order.address or "auto")
    conf = RunConfig(
        engine_name=order.engine,
        worker_num=order.workers,
        tasks_per_worker=order.tasks_per_worker,
        job_name=order.job,
        address=order.address,
        engine_options=order.options,
        run_dir=order.run_dir,
    )
    tasks = paced_tasks(order.count, began=order.began, seconds=order.seconds)
    if (Path(order.run_dir) / "run.db").exists():
        # as `Runners.resume`, but what is told is seen at once, and the memory stays flat
        stream = Runners.stream_owed(order.run_dir, tasks, run_conf=conf)
    else:
        stream = Runners.stream_tasks(tasks, conf)
    told = os.open(order.told, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with stream:
        for response in stream:
            os.write(told, f"{response.id}\n".encode())


def connect(address: str) -> None:
    """Both nodes are on this machine: Ray has to be told which of them is the driver's."""
    import ray

    host = address.partition(":")[0]
    quiet = {"log_to_driver": False, "logging_level": logging.WARNING}
    ray.init(address, _node_ip_address=host, **quiet)


def hand_back_all(order: Order) -> None:
    tasks = paced_tasks(order.count, began=0.0, seconds=0.0)
    conf = RunConfig(worker_num=1, job_name=order.job)
    responses = Runners.resume(order.run_dir, tasks, run_conf=conf)
    right = sum(response.answer == answer_of(name) for name, response in responses.items())
    print(json.dumps({"handed_back": len(responses), "right": right}))


if __name__ == "__main__":
    main()
