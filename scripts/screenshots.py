"""Makes the pictures of the view in docs/screenshots: `make screenshots`.

One run is really going on while its picture is taken; the others are written by the store's writer.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "view"))

import scenes  # noqa: E402
import talks  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from aworld.view.server import ViewServer  # noqa: E402

OUT = ROOT / "docs" / "screenshots"
DESKTOP, PHONE = (1280, 800), (390, 800)
AGENTS = """
import asyncio, random

async def search(question):
    await asyncio.sleep(random.lognormvariate(0.2, 0.7))
    number = int(question.split()[-1])
    if number % 17 == 5:
        raise ConnectionError("the search engine hung up")
    if number % 29 == 3:
        await asyncio.sleep(60)
    return f"found {number}"
"""

# name, path, size, light or dark, what is done before
PICTURES: list[tuple[str, str, tuple[int, int], str, str]] = [
    ("runs", "/", DESKTOP, "light", ""),
    ("run", "/run?run=search-live", (1280, 940), "light", ""),
    ("run-dark", "/run?run=arithmetic-20k", (1280, 660), "dark", ""),
    ("conversation", "/task?run=words&task=word-2&sample=1", DESKTOP, "light", "logprob"),
    ("sub-agents", "/task?run=words&task=word-6", (1280, 700), "dark", ""),
    ("group", "/group?run=words&task=word-4", (1280, 760), "light", ""),
    ("training", "/training?run=words%0Agrpo-small", (1280, 720), "light", ""),
    ("compare", "/compare?first=arithmetic-v1&second=arithmetic-v2", (1280, 700), "light", ""),
    ("phone-run", "/run?run=arithmetic-20k", PHONE, "light", ""),
    ("phone-conversation", "/task?run=words&task=word-2&sample=1", PHONE, "dark", ""),
]


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "runs"
        _make_runs(folder)
        live = _start(folder)
        try:
            _wait_for_results(folder / "search-live", live)
            with ViewServer(folder, port=0) as server, sync_playwright() as playwright:
                program = shutil.which("chromium") or shutil.which("google-chrome")
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                for picture in PICTURES:
                    _take(browser, server, *picture)
                browser.close()
        finally:
            live.kill()
            live.wait()


def _make_runs(folder: Path) -> None:
    scenes.many_tasks(folder / "arithmetic-20k", 20_000)
    scenes.many_tasks(folder / "arithmetic-v1", 400, seed=3)
    scenes.many_tasks(folder / "arithmetic-v2", 400, seed=4)
    talks.conversations(folder / "words")
    scenes.training(folder / "words", seed=9)
    talks.conversations(folder / "grpo-small", team=False)
    scenes.training(folder / "grpo-small", seed=12)


def _start(folder: Path) -> subprocess.Popen[Any]:
    (folder / "agents.py").write_text(AGENTS)
    tasks = [{"id": f"search-{n}", "question": f"Find page {n}"} for n in range(400)]
    (folder / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    words = ["run", "tasks.jsonl", "--agent", "agents.py:search", "--workers", "2"]
    words += ["--per-worker", "10", "--timeout", "6", "--out", "search-live", "-q"]
    command = [sys.executable, "-m", "aworld", *words]
    return subprocess.Popen(command, cwd=folder, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})


def _wait_for_results(run: Path, live: subprocess.Popen[Any]) -> None:
    from aworld import open_run

    while True:
        time.sleep(0.5)
        if live.poll() is not None:
            sys.exit(f"the live run has ended too soon, with exit code {live.returncode}")
        if (run / "run.db").exists():
            with open_run(run) as opened:
                if sum(opened.counts().values()) >= 150:
                    return


def _take(
    browser: Browser,
    server: ViewServer,
    name: str,
    path: str,
    size: tuple[int, int],
    scheme: Any,
    colouring: str,
) -> None:
    shape: Any = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=shape, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.port}{path}#key={server.key}")
    page.wait_for_selector(".page")
    if colouring:
        page.get_by_label("Colour tokens").select_option(colouring)
    page.wait_for_timeout(1_500)
    file = OUT / f"{name}.png"
    page.screenshot(path=file)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB")
    context.close()


if __name__ == "__main__":
    main()
