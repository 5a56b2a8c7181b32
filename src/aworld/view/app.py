"""The routes of the view: pages for people, and the data that they show."""

from __future__ import annotations

import hmac
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from aworld.core.failure import first_line
from aworld.errors import AWorldError
from aworld.view import bars, comparison, curves, figures, rollouts, tasks
from aworld.view.control import Control
from aworld.view.encoding import Json
from aworld.view.events import events_of_list, events_of_run
from aworld.view.keys import session_of
from aworld.view.library import Library, NoRunError

STATIC = Path(__file__).parent / "static"
PAGES = ("/", "/run", "/task", "/group", "/training", "/compare")
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
MOST_BYTES = 10_000  # of what a page sends
MOST_CURVES = 12  # runs in one plot
A_YEAR = 365 * 24 * 3600

ERRORS = (AWorldError, HTTPException, Exception)

log = logging.getLogger("aworld")

Asked = dict[str, str]


class Routes:
    def __init__(self, library: Library, *, key: str, cookie: str, closing: threading.Event):
        self._library = library
        self._closing = closing
        self._key = key
        self._cookie = cookie
        self._control = Control()

    # -- who is there --------------------------------------------------------------------------

    async def login(self, request: Request) -> Response:
        body = await _body(request)
        if not hmac.compare_digest(str(body.get("key", "")).encode(), self._key.encode()):
            return Json({"error": "the key is wrong: open the link that was printed"}, 403)
        response = Json({"ok": True})
        response.set_cookie(
            self._cookie,
            session_of(self._key),
            max_age=A_YEAR,
            path="/",
            httponly=True,
            samesite="strict",
        )
        return response

    def hello(self, asked: Asked) -> dict[str, Any]:
        """Whether the key is still the same."""
        return {"ok": True}

    # -- data ----------------------------------------------------------------------------------

    def runs(self, asked: Asked) -> dict[str, Any]:
        library = self._library
        lines = []
        for name in library.names():
            try:
                lines.append(figures.summed_up(library, name))
            except (AWorldError, OSError):  # it was removed meanwhile
                continue
        return {"root": str(library.root), "runs": lines}

    def run(self, asked: Asked) -> dict[str, Any]:
        return figures.whole(self._library, asked["run"])

    def now(self, asked: Asked) -> dict[str, Any]:
        name = asked["run"]
        folder = self._library.folder(name)
        moment = figures.now(self._library, name)
        if self._control.is_cancelling(folder):  # it may not have said so itself yet
            moment |= {"cancelling": True, "left": None}
        return {**moment, "started": self._control.state(folder)}

    def bars(self, asked: Asked) -> bytes:
        since = float(asked.get("since") or 0.0)
        with self._library.open(asked["run"]) as run:
            return bars.bars_of(run, since=since)

    def tasks(self, asked: Asked) -> dict[str, Any]:
        with self._library.open(asked["run"]) as run:
            return tasks.page_of(run, asked)

    def labels(self, asked: Asked) -> dict[str, Any]:
        def make() -> dict[str, Any]:
            with self._library.open(asked["run"]) as run:
                return tasks.labels_of(run)

        return self._library.remembered("labels", asked["run"], make)

    def rollout(self, asked: Asked) -> dict[str, Any]:
        with self._library.open(asked["run"]) as run:
            slot, attempt = rollouts.asked_for(run, asked)
            chosen = {name: value for name, value in asked.items() if name in CHOOSING}
            return {**rollouts.whole(run, slot, attempt), **tasks.beside(run, slot, chosen)}

    def brief(self, asked: Asked) -> dict[str, Any]:
        with self._library.open(asked["run"]) as run:
            slot, _ = rollouts.asked_for(run, asked)
            return {"task": run.task_at(slot // run.samples).id}

    def group(self, asked: Asked) -> dict[str, Any]:
        with self._library.open(asked["run"]) as run:
            return rollouts.group_of(run, rollouts.asked_for(run, asked)[0])

    def copy(self, asked: Asked) -> Any:
        form = rollouts.as_messages if asked.get("as") == "messages" else rollouts.as_json
        with self._library.open(asked["run"]) as run:
            return form(run, *rollouts.asked_for(run, asked))

    def curves(self, asked: Asked) -> dict[str, Any]:
        names = [name for name in asked["run"].split("\n") if name][:MOST_CURVES]
        return {name: curves.curves_of(self._library.folder(name)) for name in names}

    def comparison(self, asked: Asked) -> dict[str, Any]:
        return comparison.side_by_side(self._library, asked["first"], asked["second"])

    # -- what happens --------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        asked = dict(request.query_params)
        parts: AsyncIterator[bytes]
        if asked.get("run"):
            library, name = self._library, asked["run"]
            library.folder(name)
            look, now = partial(self.run, asked), partial(self.now, asked)
            parts = events_of_run(library, name, look, now, self._closing)
        else:
            parts = events_of_list(partial(self.runs, asked), self._closing)
        return StreamingResponse(parts, media_type="text/event-stream")

    async def act(self, request: Request) -> Response:
        body = await _body(request)
        folder = self._library.folder(str(body.get("run", "")))
        return Json(await run_in_threadpool(self._control.act, folder, str(body.get("action"))))


CHOOSING = ("status", "min_reward", "max_reward", "worker", "failure", "tag", "text")


def build_app(library: Library, *, key: str, cookie: str, closing: threading.Event) -> Starlette:
    """`closing` is set when the server is about to end: streams then end by themselves."""
    routes = Routes(library, key=key, cookie=cookie, closing=closing)
    more = ("copy", "curves", "bars", "hello")
    data = ("runs", "run", "now", "tasks", "labels", "rollout", "brief", "group")
    return Starlette(
        routes=[
            *(Route(path, _page) for path in PAGES),
            Route("/static/{name}", _static),
            Route("/favicon.ico", _icon),
            *(Route(f"/api/{name}", _answering(getattr(routes, name))) for name in (*data, *more)),
            Route("/api/compare", _answering(routes.comparison)),
            Route("/api/events", routes.events),
            Route("/api/login", routes.login, methods=["POST"]),
            Route("/api/act", routes.act, methods=["POST"]),
        ],
        exception_handlers=dict.fromkeys(ERRORS, _refuse),
    )


def _answering(answer: Callable[[Asked], Any]) -> Callable[[Request], Any]:
    """In a thread: a long look at one run does not keep others waiting."""

    async def endpoint(request: Request) -> Response:
        try:
            found = await run_in_threadpool(answer, dict(request.query_params))
        except KeyError as missing:
            hint = "which {0}? The address must name it: ?{0}=..."
            raise HTTPException(400, hint.format(missing.args[0])) from None
        if isinstance(found, bytes):
            return Response(found, media_type="application/octet-stream")
        return Json(found)

    return endpoint


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html")


async def _static(request: Request) -> Response:
    path = STATIC / request.path_params["name"]
    if path.parent != STATIC or path.suffix not in KINDS or not path.is_file():
        raise HTTPException(404, "there is no such file")
    return FileResponse(path, media_type=KINDS[path.suffix])


async def _icon(request: Request) -> Response:
    return FileResponse(STATIC / "icon.svg", media_type=KINDS[".svg"])


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):  # an unknown page, a wrong method
        if error.status_code == 404 and not request.url.path.startswith(("/api/", "/static/")):
            return FileResponse(STATIC / "index.html", 404, media_type="text/html")
        return Json({"error": error.detail}, error.status_code)
    if isinstance(error, NoRunError):
        return Json({"error": str(error)}, 404)
    if isinstance(error, AWorldError):
        return Json({"error": str(error), "kind": type(error).__name__}, 422)
    log.error("the view could not answer %s", request.url.path, exc_info=error)
    return Json({"error": f"{type(error).__name__}: {first_line(error)}"}, 500)


async def _body(request: Request) -> dict[str, Any]:
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > MOST_BYTES:
            raise HTTPException(413, f"at most {MOST_BYTES} bytes")
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise HTTPException(400, "the body must be a JSON object")
    return found
