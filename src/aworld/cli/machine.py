"""What this machine has of all that aworld can use."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from aworld import __version__
from aworld.errors import AWorldError

SECONDS = 5.0  # for a program to say its version
OLDEST_JAVA = 17


class Check(NamedTuple):
    name: str
    state: str  # ok, missing (it may not be needed) or broken
    found: str
    advice: str = ""


def checks() -> Iterator[Check]:
    from aworld.cli.endpoint import endpoint

    looks: tuple[Callable[[], Check], ...] = (python, hardware, gpu, store, sandbox)
    yield from (look() for look in looks)
    yield endpoint()
    yield embedded_model()
    yield java()


def python() -> Check:
    found = f"{platform.python_version()}, aworld {__version__}, {platform.platform()}"
    return Check("python", "ok", found)


def hardware() -> Check:
    from aworld.engines.base import cpu_count

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Check("machine", "ok", f"{cpu_count()} CPUs, {memory:.1f} GiB memory")


def gpu() -> Check:
    if shutil.which("nvidia-smi") is None:
        return Check("gpu", "missing", "no nvidia-smi", "only training and serving want one")
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]
    said = _output(query)
    if not said:
        return Check("gpu", "broken", "nvidia-smi finds none", "see what nvidia-smi says")
    return Check("gpu", "ok", "; ".join(said.splitlines()))


def store() -> Check:
    """Whether runs can be recorded in this folder."""
    name, found = "sqlite", sqlite3.sqlite_version
    try:
        with tempfile.TemporaryDirectory(dir=".", prefix=".aworld-doctor-") as folder:
            connection = sqlite3.connect(Path(folder) / "try.db")
            try:
                mode = connection.execute("pragma journal_mode = wal").fetchone()[0]
                connection.execute("create table t (x)")
            finally:
                connection.close()
    except (OSError, sqlite3.Error) as error:
        return Check(name, "broken", f"{found}, no run can be kept in this folder", str(error))
    if mode != "wal":
        advice = "keep runs on a disk of this machine, not on a network share"
        return Check(name, "broken", f"{found}, no WAL in this folder", advice)
    return Check(name, "ok", f"{found}, WAL works in this folder")


def sandbox() -> Check:
    """Runs a program in it."""
    from aworld.tools.sandbox import Limits, Program

    try:
        ended = Program(["/bin/sh"], "echo fine", Limits(seconds=SECONDS), unsandboxed=False).run()
    except AWorldError as error:
        return Check("sandbox", "missing", "no code of models can run", str(error))
    if ended.code == 0 and ended.output.strip() == b"fine":
        return Check("sandbox", "ok", "code of models runs in it")
    said = ended.output.decode("utf-8", "replace").strip()
    return Check("sandbox", "broken", "a program did not end in it as it should", said)


def embedded_model() -> Check:
    from aworld.models.embedded_server import NEEDS, smollm2_path

    try:
        weights = Path(smollm2_path()).name
    except AWorldError:
        return Check("embedded model", "missing", "not installed", NEEDS)
    if find_spec("xllamacpp") is None:
        return Check("embedded model", "missing", "not installed", NEEDS)
    return Check("embedded model", "ok", weights)


def java() -> Check:
    advice = "for Spark: apt-get install openjdk-17-jre-headless"
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java") if home is None else str(Path(home) / "bin" / "java")
    said = "" if program is None else _output([program, "-version"])
    found = re.search(r'version "(\d+)(?:\.(\d+))?[^"]*"', said)
    if found is None:
        return Check("java", "missing", "for the engine Spark", advice)
    major = int(found[2] or 0) if found[1] == "1" else int(found[1])  # 1.8 is 8
    state = "ok" if major >= OLDEST_JAVA else "broken"
    return Check("java", state, said.splitlines()[0], "" if state == "ok" else advice)


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else ""
