"""The local engine: worker processes of this machine."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace

from aworld.config import RunConfig
from aworld.engines.base import Invitation, RuntimeEngine, Worker
from aworld.engines.worker_process import WorkerProcess
from aworld.errors import ConfigError


class LocalRuntime(RuntimeEngine):
    """Runs tasks in processes of this machine, or in this very process to debug them."""

    can_reuse_process = True

    def __init__(self, conf: RunConfig):
        super().__init__(conf)
        if not conf.is_local:
            raise ConfigError("the local engine is always local: leave out in_local and address")
        if conf.engine_options:
            raise ConfigError("the local engine has no engine_options: leave them out")
        self.in_process = conf.reuse_process or conf.worker_num == 0
        if self.in_process and conf.memory_limit_mb is not None:
            raise ConfigError("memory_limit_mb needs worker processes: set worker_num to 1 or more")
        if self.in_process:
            return
        if sys.platform == "win32":
            raise ConfigError("worker processes need Linux or macOS: use WSL, or set worker_num=0")
        if not sys.executable:
            raise ConfigError("no Python interpreter is known to start workers: set sys.executable")

    @property
    def worker_num(self) -> int:
        return max(1, super().worker_num)

    def start_worker(self, invitation: Invitation) -> Worker:
        if self.in_process:
            return ThreadWorker(replace(invitation, owns_process=False))
        return WorkerProcess(invitation)


class ThreadWorker:
    """A worker in this process. It cannot be killed: one that does not stop is left behind."""

    def __init__(self, invitation: Invitation):
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=self._serve, args=(invitation,), name="aworld-in-process", daemon=True
        )
        self._thread.start()

    def _serve(self, invitation: Invitation) -> None:
        try:
            invitation.serve()
        finally:
            self._over.set()

    def wait(self) -> str:
        self._over.wait()
        return "was left behind"

    def kill(self) -> None:
        self._over.set()
