"""A real run that goes on, to be looked at."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

AGENT = """
import asyncio
from pathlib import Path

async def slow(question):
    await asyncio.sleep(20 if Path("slow").exists() else 0.25)
    if "7" in question and not Path("mended").exists():
        raise ValueError("no sevens")
    return question
"""


class Going:
    """A real run, started from the shell."""

    def __init__(self, folder: Path, count: int, *, workers: int = 2, per_worker: int = 2):
        (folder / "agents.py").write_text(AGENT)
        rows = [{"id": f"t{n}", "question": f"q{n}", "answer": f"q{n}"} for n in range(count)]
        (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        words = ["run", "tasks.jsonl", "--agent", "agents.py:slow", "--reward", "exact_match"]
        words += ["--workers", str(workers), "--per-worker", str(per_worker), "-q"]
        self.run = folder / "runs" / "live"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "aworld", *words, "--out", "runs/live"],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
