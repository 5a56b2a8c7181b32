"""`aworld view`, really open: asked once a second for all that a run's page shows."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
from processes import end, megabytes, start

START_SECONDS = 60.0


@dataclass
class Seen:
    """What the view has answered of one run."""

    answers: int = 0
    refused: list[str] = field(default_factory=list)
    slowest: float = 0.0
    in_flight: list[int] = field(default_factory=list)


class View:
    def __init__(self, folder: Path, log: Path):
        key = secrets.token_urlsafe(24)
        aworld = Path(sys.executable).parent / "aworld"
        command = [str(aworld), "view", str(folder), "--port", "0", "--no-browser"]
        self._process = start(command, log, {**os.environ, "AWORLD_VIEW_KEY": key})
        try:
            self._address = self._listening_at(log)
            self._cookie = self._login(key)
        except BaseException:
            self.close()
            raise
        self.seen = Seen()
        self._run: str | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_at_it, daemon=True)
        self._thread.start()

    def watch(self, run: str | None) -> Seen:
        """From now on this run; returns what will be seen of it."""
        self.seen, self._run = Seen(), run
        return self.seen

    @property
    def megabytes(self) -> float:
        return megabytes([psutil.Process(self._process.pid)])

    def close(self) -> None:
        if hasattr(self, "_over"):
            self._over.set()
            self._thread.join()
        end(self._process)

    def _listening_at(self, log: Path) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            for line in log.read_text().splitlines():
                if line.startswith("http://"):
                    return urlsplit(line).netloc
            time.sleep(0.1)
        raise RuntimeError(f"the view did not start: {log.read_text()[-500:]}")

    def _login(self, key: str) -> str:
        connection = http.client.HTTPConnection(self._address, timeout=30)
        headers = {"Content-Type": "application/json"}
        connection.request("POST", "/api/login", json.dumps({"key": key}), headers)
        cookie = connection.getresponse().getheader("Set-Cookie")
        connection.close()
        if cookie is None:
            raise RuntimeError("the view does not know its key")
        return cookie.partition(";")[0]

    def _look_at_it(self) -> None:
        while not self._over.wait(1.0):
            run, seen = self._run, self.seen
            if run is None:
                continue
            for what in ("run", "now", "tasks"):
                self._ask(f"/api/{what}?run={quote(run)}", seen)

    def _ask(self, path: str, seen: Seen) -> None:
        began = time.monotonic()
        connection = http.client.HTTPConnection(self._address, timeout=30)
        try:
            connection.request("GET", path, headers={"Cookie": self._cookie})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            seen.refused.append(f"{path}: {error!r}")
            return
        finally:
            connection.close()
        seen.answers += 1
        seen.slowest = max(seen.slowest, time.monotonic() - began)
        if answer.status != 200:
            seen.refused.append(f"{path}: {answer.status} {content[:200].decode(errors='replace')}")
        elif path.startswith("/api/now"):
            count = json.loads(content).get("running_count")
            if count is not None:
                seen.in_flight.append(count)
