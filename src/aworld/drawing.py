"""Small pictures as SVG: bars over time, and a curve. Plain functions of plain numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from aworld.errors import ConfigError

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760, 46, 12, 26, 22
CURVE_HEIGHT = 200
COLOURS = {
    "success": "#3f9f7b",
    "failed": "#d0555b",
    "truncated": "#8b72cf",
    "timeout": "#d4933f",
    "crashed": "#9d3560",
}
GREY, INK, LINE, BLUE = "#98a2b3", "#646f7f", "#9aa4b244", "#2f6fd0"
MOST_TICKS = 5
STEPS = (
    *(digit * 10.0**power for power in range(-6, 0) for digit in (1, 2, 5)),
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400),
)
UNITS = ((1, 0.001, "ms"), (180, 1, "s"), (10_800, 60, "min"))  # up to how many seconds
FONT_SIZE = 11
FONT = f"font-family='system-ui,sans-serif' font-size='{FONT_SIZE}'"


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
        if not file.parent.is_dir():
            raise ConfigError(
                f"there is no folder {str(file.parent)!r}: make it first, or save {file.name!r} "
                "elsewhere"
            )
        try:
            file.write_text(start + self.svg, "utf-8")
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror}") from None


def bars(title: str, found: Sequence[Bar], names: Sequence[tuple[int, str]] = ()) -> Picture:
    """Bars that lie in the same pixel are drawn once, failures last. `names` stand beside the lanes
    that they begin at."""
    lanes = max((bar.lane for bar in found), default=0) + 1
    size = max(2.0, min(14.0, 300 / lanes))
    height = TOP + BOTTOM + lanes * size
    first = min((bar.began for bar in found), default=0.0)
    last = max((bar.ended for bar in found), default=1.0)
    scale = (WIDTH - LEFT - RIGHT) / max(last - first, 1e-6)
    parts, taken = _frame(title, height, last - first), set[tuple[int, int, str]]()
    free = 0.0
    for lane, name in names:
        y = TOP + lane * size + min(size, FONT_SIZE)
        if y >= free:
            words = f"text-anchor='end' fill='{INK}' {FONT}"
            parts.append(f"<text x='{LEFT - 6}' y='{y - 1:.0f}' {words}>{escape(name)}</text>")
            free = y + FONT_SIZE
    for bar in sorted(found, key=lambda bar: bar.status != "success"):
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


def curve(title: str, points: Sequence[tuple[float, float]]) -> Picture:
    height = CURVE_HEIGHT
    parts = _frame(title, height, max((x for x, _ in points), default=0.0))
    if points:
        low, high = min(y for _, y in points), max(y for _, y in points)
        if low == high:
            low, high = (0.0, 1.0) if 0 <= low <= 1 else (low - 0.5, high + 0.5)
        last = points[-1][0] or 1  # the axis begins at 0
        wide, tall = WIDTH - LEFT - RIGHT, height - TOP - BOTTOM
        line = " ".join(
            f"{LEFT + wide * x / last:.1f},{TOP + tall * (1 - (y - low) / ((high - low) or 1)):.1f}"
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
    for moment, words in _ticks(seconds):
        x = LEFT + (WIDTH - LEFT - RIGHT) * (moment / seconds if seconds > 0 else 0)
        anchor = "end" if x > WIDTH - RIGHT - 2 * FONT_SIZE else "middle"
        parts.append(
            f"<line x1='{x:.0f}' x2='{x:.0f}' y1='{TOP - 4}' y2='{height - BOTTOM:.0f}' "
            f"stroke='{LINE}'/><text x='{x:.0f}' y='{height - 6:.0f}' text-anchor='{anchor}' "
            f"fill='{INK}' {FONT}>{words}</text>"
        )
    return parts


def _ticks(seconds: float) -> list[tuple[float, str]]:
    """Moments that are easy to read, from 0 on."""
    least = seconds / MOST_TICKS
    step = next((step for step in STEPS if step >= least * (1 - 1e-9)), None)
    step = step or math.ceil(least / STEPS[-1]) * STEPS[-1]
    found = ((size, name) for most, size, name in UNITS if seconds < most)
    unit, name = next(found, (3600, "h"))
    moments = [step * place for place in range(int(seconds / step + 1e-6) + 1)]
    return [(moment, f"{round(moment / unit, 6):g} {name}") for moment in moments]
