"""One engine's part of the soak: its tasks run to the end, whatever is killed meanwhile."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psutil
from driver import Order
from faults import APART_SECONDS, Fault, drawn
from places import PLACES, SLOTS, Place, environment
from processes import described, end, kill_all, megabytes, start, tree_of, workers_of
from tally import Found, Tally, tally
from view import Seen, View
from workload import answer_of, task_id

from aworld import open_run
from aworld.store.reader import Run

DRIVER = Path(__file__).parent / "driver.py"
WORKERS = 2 * SLOTS
TASKS_PER_WORKER = 16  # more than the pace needs: after a fault it catches up
ARRIVING = 0.95  # of the time, during which tasks come
LEAVE_SECONDS = 10.0  # for all that a killed driver had started
STALL_SECONDS = 300.0  # without a result: it hangs
MOST_OWN_ENDS = 5  # drivers that ended without being killed
LOOK_SECONDS, WEIGH_SECONDS, SAY_SECONDS = 0.25, 5.0, 30.0


@dataclass
class Memory:
    """In MB; the first is taken when all is up."""

    first: float | None = None
    last: float = 0.0

    def note(self, value: float) -> None:
        self.first = value if self.first is None else self.first
        self.last = value


@dataclass
class Part:
    """What one engine's part came to."""

    engine: str
    seconds: float = 0.0
    pause: float = 0.0  # the longest without a result: a cluster starts, a driver comes back
    faults: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)  # whatever should not have been
    driver: Memory = field(default_factory=Memory)
    worker: Memory = field(default_factory=Memory)  # one, on average
    view: Memory = field(default_factory=Memory)
    seen: Seen = field(default_factory=Seen)
    counted: Tally | None = None

    @property
    def is_good(self) -> bool:
        return self.counted is not None and self.counted.is_good and not self.problems


class Soaking:
    """Lives as long as the part does; `run` gives what it came to."""

    def __init__(self, engine: str, count: int, seconds: float, seed: str, folder: Path):
        self.part = Part(engine)
        self._luck = random.Random(f"{seed} {engine}")
        self._logs = folder / "logs" / engine
        self._logs.mkdir(parents=True)
        self._run_dir = folder / "runs" / engine
        self._seconds = seconds
        self._place: Place = PLACES[engine](self._logs, environment())
        self._order = Order(
            engine=engine,
            run_dir=str(self._run_dir),
            told=str(self._logs / "told.txt"),
            count=count,
            began=0.0,
            seconds=ARRIVING * seconds,
            workers=WORKERS,
            tasks_per_worker=TASKS_PER_WORKER,
            job=f"soak-{engine}-{random.randrange(1 << 32):08x}",  # of this soak alone
        )
        self._driver: subprocess.Popen[bytes] | None = None
        self._driver_since = 0.0
        self._own_ends = 0
        self._was_killed = False
        self._leaving: deque[tuple[float, list[psutil.Process]]] = deque()
        self._last_fault = 0.0

    def run(self, view: View) -> Part:
        """Whatever goes wrong here is told in the table, beside what the others came to."""
        try:
            self._soak(view)
            self._count()
        except Exception as error:
            self.part.problems.append(f"{type(error).__name__}: {error}")
        self.part.problems += [f"the view: {reason}" for reason in self.part.seen.refused[:3]]
        if not self.part.seen.answers:
            self.part.problems.append("the view has never answered")
        return self.part

    def _soak(self, view: View) -> None:
        try:
            self._place.open()
            self._order = replace(
                self._order,
                began=time.time(),
                address=self._place.address,
                options=self._place.options,
            )
            self._go_on(view)
        finally:
            end(self._driver)
            kill_all(workers_of(self._order.job))
            self._place.close()
            view.watch(None)

    # -- while it goes --------------------------------------------------------------------------

    def _go_on(self, view: View) -> None:
        part, began = self.part, time.monotonic()
        kinds = ["worker", "driver", *self._place.faults]
        faults = drawn(kinds, self._seconds, self._luck)
        told, told_at, weighed_at, said_at = 0, began, began, began
        while self._keeps_going():
            now = time.monotonic()
            if faults and self._is_due(faults[0], now - began) and self._inject(faults[0].kind):
                part.faults[faults.popleft().kind] += 1
                self._last_fault = now
            if now - began > self._seconds:
                faults.clear()
            self._place.look_after()
            self._see_them_leave(now)
            if part.seen is not view.seen and (self._run_dir / "run.db").exists():
                part.seen = view.watch(self._run_dir.name)
            if self._told() > told:
                part.pause = max(part.pause, now - told_at)
                told, told_at = self._told(), now
            elif now - told_at > STALL_SECONDS:
                part.problems.append(f"no result came for {STALL_SECONDS:g} s, at {told}")
                break
            if now - weighed_at > WEIGH_SECONDS:
                weighed_at = now
                self._weigh(view)
            if now - said_at > SAY_SECONDS:
                said_at = now
                faulty = dict(part.faults)
                print(f"{part.engine} {now - began:5.0f} s  {told} told  {faulty}", flush=True)
            time.sleep(LOOK_SECONDS)
        part.seconds = time.monotonic() - began

    def _is_due(self, fault: Fault, since: float) -> bool:
        return fault.at <= since and time.monotonic() - self._last_fault >= APART_SECONDS

    def _told(self) -> int:
        try:
            return Path(self._order.told).stat().st_size // len(f"{task_id(0)}\n")
        except FileNotFoundError:
            return 0

    def _keeps_going(self) -> bool:
        """Starts the driver, and starts it again when it was killed; False: it has done all."""
        if self._driver is not None and self._driver.poll() is None:
            return True
        if self._driver is not None and self._driver.returncode == 0:
            return False
        if self._driver is not None and not self._was_killed:
            self._own_ends += 1
            said = self._log.read_text(errors="replace")[-600:]
            self.part.problems.append(f"a driver ended by itself: {said}")
            if self._own_ends >= MOST_OWN_ENDS:
                return False
        self._start_driver()
        return True

    @property
    def _log(self) -> Path:
        return self._logs / "driver.log"

    def _start_driver(self) -> None:
        command = [sys.executable, str(DRIVER), json.dumps(asdict(self._order))]
        self._driver = start(command, self._log, self._place.env)
        self._driver_since, self._was_killed = time.monotonic(), False

    # -- faults ---------------------------------------------------------------------------------

    def _inject(self, kind: str) -> bool:
        """False where there is nothing to kill just now: it is tried again."""
        if kind == "driver":
            return self._kill_driver()
        if kind == "worker":
            workers = workers_of(self._order.job)
            if workers:
                kill_all([self._luck.choice(sorted(workers, key=lambda process: process.pid))])
            return bool(workers)
        return self._place.faults[kind](self._luck)

    def _kill_driver(self) -> bool:
        if self._driver is None or self._driver.poll() is not None:
            return False
        workers = workers_of(self._order.job)
        if not workers:
            return False
        others = {*workers, *tree_of(self._driver)[1:]}  # Spark's has a JVM
        self._was_killed = True
        self._driver.kill()  # alone: the others have to notice
        self._driver.wait()
        self._leaving.append((time.monotonic() + LEAVE_SECONDS, list(others)))
        return True

    def _see_them_leave(self, now: float) -> None:
        while self._leaving and self._leaving[0][0] <= now:
            left = [process for process in self._leaving.popleft()[1] if process.is_running()]
            if left:
                names = ", ".join(sorted(described(process) for process in left))
                self.part.problems.append(f"outlived their driver by {LEAVE_SECONDS:g} s: {names}")
                kill_all(left)

    # -- figures --------------------------------------------------------------------------------

    def _weigh(self, view: View) -> None:
        workers = workers_of(self._order.job)
        settled = time.monotonic() - self._driver_since > WEIGH_SECONDS
        if self._driver is None or len(workers) < WORKERS or not settled:
            return
        try:
            self.part.driver.note(megabytes([psutil.Process(self._driver.pid)]))
        except psutil.NoSuchProcess:
            return
        self.part.worker.note(megabytes(workers) / len(workers))
        self.part.view.note(view.megabytes)

    def _count(self) -> None:
        ids = [task_id(number) for number in range(self._order.count)]
        told = Path(self._order.told)
        lines = told.read_text().splitlines() if told.exists() else []
        with open_run(self._run_dir) as run:
            if run.status != "complete":
                self.part.problems.append(f"the run is {run.status}")
            self.part.counted = tally(ids, found_in(run), lines)
            self.part.problems += [f"{one.task}: {one.reason}" for one in run.damage]
        self._hand_back()

    def _hand_back(self) -> None:
        """`Runners.resume` of a run that owes nothing: it hands back all."""
        order = json.dumps(asdict(replace(self._order, last=True)))
        command = [sys.executable, str(DRIVER), order]
        done = subprocess.run(command, capture_output=True, text=True, timeout=STALL_SECONDS)
        if done.returncode:
            self.part.problems.append(f"it cannot be resumed again: {done.stderr[-600:]}")
            return
        handed = json.loads(done.stdout)
        assert self.part.counted is not None
        right = self.part.counted.statuses.get("success", 0)
        if handed != {"handed_back": self._order.count, "right": right}:
            self.part.problems.append(f"another resume handed back {handed}")


def found_in(run: Run) -> Iterator[Found]:
    """Every result in the store; what was given up for a later one is there as well."""
    for rollout in run.rollouts():
        response = rollout.response
        is_right = response.answer == answer_of(response.id)
        found = Found(rollout.slot, response.id, response.status, is_right, response.attempts)
        yield found
        if rollout.round:
            yield found
