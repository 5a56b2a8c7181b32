"""Draws the curve of a training: reward by step, and success on held-out tasks.

    python benchmarks/curve.py docs/results/calculator.jsonl [--title TEXT]

Reads lines of JSON with `step`, `reward`, `pass@1` and `start_pass@1`, such as a training's
metrics.jsonl, and writes an SVG beside them that reads well on light and dark pages.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

WIDTH, HEIGHT, LEFT, TOP = 640, 300, 48, 36
INNER_WIDTH, INNER_HEIGHT = WIDTH - LEFT - 16, HEIGHT - TOP - 40
GREY, BLUE, ORANGE = "#888888", "#3b7dd8", "#e07b39"
Points = list[tuple[float, float]]


def drawn(title: str, rewards: Points, exams: Points, start: float | None) -> str:
    last = max((step for step, _ in [*rewards, *exams]), default=1) or 1

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return LEFT + INNER_WIDTH * point[0] / last, TOP + INNER_HEIGHT * (1 - point[1])

    def text(x: float, y: float, said: str, colour: str = GREY, anchor: str = "start") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{said}</text>'

    parts = [text(LEFT, 20, title)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        _, y = place((0, share))
        parts.append(
            f'<path d="M{LEFT} {y:.1f}h{INNER_WIDTH}" stroke="{GREY}" stroke-opacity=".3"/>'
        )
        parts.append(text(LEFT - 8, y + 4, f"{share:.0%}", anchor="end"))
    for step in range(0, int(last) + 1, max(1, int(last) // 5)):
        parts.append(text(place((step, 0))[0], HEIGHT - 20, str(step), anchor="middle"))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, rewards))
    parts.append(f'<polyline points="{line}" fill="none" stroke="{BLUE}" stroke-width="2"/>')
    for x, y in map(place, exams):
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{ORANGE}"/>')
    if start is not None:
        x, y = place((0, start))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="none" stroke="{ORANGE}"/>')
    right = LEFT + INNER_WIDTH
    parts.append(text(right, HEIGHT - 64, "reward while it learns", BLUE, "end"))
    parts.append(
        text(right, HEIGHT - 46, "success on held-out questions; ring: at first", ORANGE, "end")
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--title", default="")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.lines.read_text().splitlines()]

    def points(name: str) -> Points:
        return [(line["step"], line[name]) for line in lines if name in line]

    start = next((value for _, value in points("start_pass@1")), None)
    picture = drawn(options.title, points("reward"), points("pass@1"), start)
    options.lines.with_suffix(".svg").write_text(picture)


if __name__ == "__main__":
    main()
