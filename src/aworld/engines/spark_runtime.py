"""The Spark engine: each worker stands in a job of one partition."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from aworld.config import RunConfig
from aworld.core.failure import first_line
from aworld.engines.base import Invitation, RuntimeEngine, Worker
from aworld.engines.warden import guard
from aworld.errors import ConfigError

try:
    from pyspark import InheritableThread, SparkContext
    from pyspark.sql import SparkSession
except ModuleNotFoundError:
    raise ConfigError("the 'spark' engine needs: pip install 'aworld[spark]'") from None

TASK_FAILURES = 4  # as on a cluster: one failed try does not fail the job
SPARE_SLOTS = 16  # in a session of our own, runs beside this one must find room
JOB_NUMBERS = itertools.count()


class SparkRuntime(RuntimeEngine):
    """Runs tasks on Spark: in this machine, or on the cluster of the environment or at `address`.

    A session that is open already is used, and left open.
    """

    start_seconds = 600.0  # a cluster may have to grow first
    closing_ends_worker = True

    def __init__(self, conf: RunConfig):
        super().__init__(conf)
        for key, value in conf.engine_options.items():
            if isinstance(value, Mapping):
                raise ConfigError(
                    f"engine option {key!r} is a table: in TOML a name with dots stands in quotes, "
                    'as in "spark.executor.memory" = "2g"'
                )
            if not key.startswith("spark."):
                raise ConfigError(
                    f"engine option {key!r} is none of Spark's: they begin with spark."
                )
        self._session: Any = None
        self._workers: list[SparkWorker] = []

    def open(self) -> None:
        with opened.lock:
            active = SparkContext._active_spark_context
            if active is None:
                self._session = self._new_session()
                opened.users = 0
                opened.is_ours = True
            elif self.conf.engine_options:
                given = ", ".join(sorted(self.conf.engine_options))
                raise ConfigError(f"a Spark session is open already: too late for {given}")
            else:
                self._check_address(str(active.master))
                self._session = SparkSession.builder.getOrCreate()
            opened.users += 1
        self._context = self._session.sparkContext
        if not self._context.master.startswith("local"):
            self.listen_host = self._context.getConf().get("spark.driver.host", "127.0.0.1")

    def _check_address(self, master: str) -> None:
        if self.conf.address not in (None, master):
            raise ConfigError(
                f"a Spark session is open already, at {master}, not at {self.conf.address}: leave "
                "out the address, or stop the session first"
            )

    def _new_session(self) -> Any:
        if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
            raise ConfigError(
                "the 'spark' engine needs Java 17 or later: apt-get install openjdk-17-jre-headless"
            )
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName(self.conf.job_name)
        if self.conf.is_local:
            slots = self.worker_num + SPARE_SLOTS
            builder = builder.master(f"local[{slots},{TASK_FAILURES}]")
            for key in ("spark.driver.host", "spark.driver.bindAddress"):
                builder = builder.config(key, "127.0.0.1")
        elif self.conf.address:
            builder = builder.master(self.conf.address)
        quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        options = {**quiet, **self.conf.engine_options}
        for key, value in options.items():
            builder = builder.config(key, value)
        in_main = threading.current_thread() is threading.main_thread()
        handler = signal.getsignal(signal.SIGINT)
        session = builder.getOrCreate()
        if in_main:
            signal.signal(signal.SIGINT, handler)  # Ctrl-C stays ours
        return session

    def start_worker(self, invitation: Invitation) -> Worker:
        group = f"aworld-{os.getpid()}-{next(JOB_NUMBERS)}"
        worker = SparkWorker(self._context, invitation, group)
        self._workers = [*(w for w in self._workers if w.is_running), worker]
        return worker

    def close(self) -> None:
        if self._session is None:
            return
        for worker in self._workers:
            worker.kill()
        with opened.lock:
            opened.users -= 1
            if opened.users <= 0 and opened.is_ours:
                opened.is_ours = False
                self._session.stop()


class OpenedSession:
    """This process has one Spark session. If we opened it, its last user closes it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.is_ours = False


opened = OpenedSession()


class SparkWorker:
    """One job. It ends when the driver closes the connection to the worker."""

    def __init__(self, context: SparkContext, invitation: Invitation, group: str):
        self._context = context
        self._invitation = invitation
        self._group = group
        self._end: Future[str] = Future()
        # a thread with a Java thread of its own: the job group holds for it alone
        thread = InheritableThread(target=self._run, name=group)
        thread.daemon = True
        thread.start()

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, self._invitation.job_name, True)
            job = self._context.parallelize([self._invitation], 1).map(guard)
            self._end.set_result(job.collect()[0])
        except BaseException as error:
            self._end.set_result(f"was lost with its job: {first_line(error)}")

    def wait(self) -> str:
        return self._end.result()

    def kill(self) -> None:
        if self.is_running:
            self._context.cancelJobGroup(self._group)

    @property
    def is_running(self) -> bool:
        return not self._end.done()
