"""A browser's page, and all that went wrong in it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Browser, Page

FRAMES = """
window.frames_ = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.frames_.push(entry.duration);
}).observe({ type: "longtask", buffered: true });
"""


class Watched:
    """`problems` is what the page complained of, and what it should not have done."""

    def __init__(self, browser: Browser, server: Any, *, expected: str = "", **options: Any):
        self.server = server
        self.problems: list[str] = []
        self._expected = re.compile(expected) if expected else None
        self.context = browser.new_context(**options)
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page: Page = self.context.new_page()
        self.page.add_init_script(FRAMES)
        self.page.on("pageerror", lambda error: self.complain(f"error: {error}"))
        self.page.on("console", lambda said: said.type == "error" and self.complain(said.text))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        self.answers: list[bool] = []  # to what the page may ask, in order

    def complain(self, text: str) -> None:
        if self._expected is None or not self._expected.search(text):
            self.problems.append(text)

    def _dialog(self, dialog: Any) -> None:
        if not self.answers:
            self.problems.append(f"a dialog: {dialog.message}")
            dialog.dismiss()
        elif self.answers.pop(0):
            dialog.accept()
        else:
            dialog.dismiss()

    def _request(self, request: Any) -> None:
        own = f"http://127.0.0.1:{getattr(self.server, 'port', 0)}/"
        if not request.url.startswith((own, "data:", "blob:", "file:")):
            self.problems.append(f"asked elsewhere: {request.url}")

    def go(self, path: str, *, with_key: bool = False) -> None:
        url = f"http://127.0.0.1:{self.server.port}{path}"
        self.page.goto(f"{url}#key={self.server.key}" if with_key else url)
        self.page.wait_for_selector(".page, .notice")

    def long_frames(self) -> list[float]:
        """How long the page could not answer, each time it was for more than 50 ms; since last."""
        found = self.page.evaluate("window.frames_")
        self.page.evaluate("window.frames_ = []")
        return found

    def close(self) -> None:
        self.context.close()
