"""Small pictures as SVG: bars over time, and a curve. Plain functions of plain numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from aworld.errors import ConfigError

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 46, 12, 26, 22
COLOURS = {
    "success": "#3f9f7b",
    "failed": "#d0555b",
    "truncated": "#8b72cf",
    "timeout": "#d4933f",
    "crashed": "#9d3560",
}
GREY, INK, LINE, BLUE = "#98a2b3", "#646f7f", "#9aa4b244", "#2f6fd0"
MEETING_SECONDS = 0.002  # clocks are not exact: one has ended when the next begins
FONT = "font-family='system-ui,sans-serif' font-size='11'"


class Bar(NamedTuple):
    lane: int
    began: float
    ended: float
    status: str


@dataclass(frozen=True)
class Picture:
    """Shows itself in a notebook; `save` writes it to a file."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """As SVG, or inside a page of HTML, by the end of its name."""
        file = Path(path)
        if file.suffix.lower() not in (".svg", ".html"):
            raise ConfigError(f"a picture is saved as .svg or .html, not as {file.name!r}")
        is_page = file.suffix.lower() == ".html"
        start = "<!doctype html>\n<meta charset='utf-8'>\n" if is_page else ""
        file.write_text(start + self.svg, "utf-8")


def at_once(spans: Sequence[tuple[float, float]]) -> tuple[int, float]:
    """How many there were at the same time: the most, and on average."""
    if not spans:
        return 0, 0.0
    starts = sorted(began for began, _ in spans)
    ends = sorted(ended for _, ended in spans)
    most, over = 0, 0
    for begun, start in enumerate(starts, 1):
        while over < begun - 1 and ends[over] <= start + MEETING_SECONDS:
            over += 1
        most = max(most, begun - over)
    lasted = ends[-1] - starts[0]
    return most, (sum(ends) - sum(starts)) / lasted if lasted > 0 else float(most)


def lanes_of(spans: Sequence[tuple[float, float]], most: int | None = None) -> list[int]:
    """Which lane each is in, so that none has two at once: as few lanes as there can be. Clocks are
    not exact: there are never more than `most`, even where two seem to meet."""
    lanes: list[float] = []  # when the last of each ends
    found = [0] * len(spans)
    for place in sorted(range(len(spans)), key=lambda place: spans[place][1]):
        began, ended = spans[place]
        free = [lane for lane, end in enumerate(lanes) if end <= began + MEETING_SECONDS]
        if not free and len(lanes) == most:
            free = [min(range(len(lanes)), key=lambda lane: lanes[lane])]
        elif not free:
            free = [len(lanes)]
            lanes.append(0.0)
        lane = max(free, key=lambda lane: lanes[lane])
        lanes[lane] = ended
        found[place] = lane
    return found


def bars(title: str, found: Sequence[Bar]) -> Picture:
    """Bars that lie in the same pixel are drawn once."""
    lanes = max((bar.lane for bar in found), default=0) + 1
    size = max(2.0, min(14.0, 300 / lanes))
    height = TOP + BOTTOM + lanes * size
    first = min((bar.began for bar in found), default=0.0)
    last = max((bar.ended for bar in found), default=1.0)
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 1e-6)
    parts, taken = _frame(title, height, last - first), set[tuple[int, int, str]]()
    for bar in found:
        x, width = LEFT + (bar.began - first) * scale, (bar.ended - bar.began) * scale
        pixel = (bar.lane, int(x), bar.status)
        if width < 1 and pixel in taken:
            continue
        taken.add(pixel)
        colour = COLOURS.get(bar.status, GREY)
        y = TOP + bar.lane * size
        parts.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width - 0.5, 0.6):.1f}' "
            f"height='{max(size - 1.5, 1):.1f}' fill='{colour}'/>"
        )
    return Picture("".join([*parts, "</svg>"]))


def curve(title: str, points: Sequence[tuple[float, float]], *, height: float = 200) -> Picture:
    parts = _frame(title, height, max((x for x, _ in points), default=0.0))
    if points:
        low, high = min(y for _, y in points), max(y for _, y in points)
        if low == high:
            low, high = low - 0.5, high + 0.5
        first, last = points[0][0], points[-1][0]
        wide, tall = WIDTH - LEFT - RIGHT, height - TOP - BOTTOM
        line = " ".join(
            f"{LEFT + wide * (x - first) / ((last - first) or 1):.1f},"
            f"{TOP + tall * (1 - (y - low) / ((high - low) or 1)):.1f}"
            for x, y in points
        )
        parts.append(f"<polyline points='{line}' fill='none' stroke='{BLUE}' stroke-width='1.6'/>")
        for value, y in ((high, TOP + 4), (low, height - BOTTOM)):
            words = f"text-anchor='end' fill='{INK}' {FONT}"
            parts.append(f"<text x='{LEFT - 6}' y='{y:.0f}' {words}>{value:.3g}</text>")
    return Picture("".join([*parts, "</svg>"]))


def _frame(title: str, height: float, seconds: float) -> list[str]:
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height:.0f}' "
        f"viewBox='0 0 {WIDTH} {height:.0f}' role='img'><title>{escape(title)}</title>"
        f"<text x='0' y='14' fill='{INK}' {FONT}>{escape(title)}</text>"
    ]
    for part in range(5):
        x = LEFT + (WIDTH - LEFT - RIGHT) * part / 4
        anchor = "end" if part == 4 else "middle"
        parts.append(
            f"<line x1='{x:.0f}' x2='{x:.0f}' y1='{TOP - 4}' y2='{height - BOTTOM:.0f}' "
            f"stroke='{LINE}'/><text x='{x:.0f}' y='{height - 6:.0f}' text-anchor='{anchor}' "
            f"fill='{INK}' {FONT}>{seconds * part / 4:.3g} s</text>"
        )
    return parts
