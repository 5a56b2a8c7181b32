"""Draws what was measured as SVG that reads well on light and on dark pages."""

from __future__ import annotations

import math
from html import escape

from standings import MEMORY, SECONDS, Row, figure, names, sizes

WIDTH, LEFT, RIGHT, TOP, PANEL = 720, 56, 170, 30, 220
GREY = "#888888"
OURS = "#3b7dd8"
PEERS = ("#e07b39", "#3f9f7b", "#b0699e", "#a8892c", "#d0555b", "#7f7fd6")
LABEL_HEIGHT = 14.0


def text(x: float, y: float, said: str, colour: str = GREY, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">'
        f"{escape(said)}</text>"
    )


def line(x: float, y: float, length: float) -> str:
    return f'<path d="M{x} {y:.1f}h{length}" stroke="{GREY}" stroke-opacity=".3"/>'


def svg(height: float, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )


def groups_of(rows: list[Row]) -> dict[str, list[str]]:
    """Contenders by group, in their order."""
    found: dict[str, list[str]] = {}
    for row in rows:
        known = found.setdefault(row["group"], [])
        if row["contender"] not in known:
            known.append(row["contender"])
    return found


def coloured(rows: list[Row], members: list[str]) -> dict[str, str]:
    ours = {row["contender"] for row in rows if row["ours"]}
    peers = [name for name in members if name not in ours]
    shades = {name: PEERS[place % len(PEERS)] for place, name in enumerate(peers)}
    return {name: shades.get(name, OURS) for name in members}


def spread(wanted: list[float], least: float, lowest: float) -> list[float]:
    """The nearest places, in order, that are `least` apart and not below `lowest`."""
    places: list[float] = []
    for place in sorted(wanted):
        places.append(max(place, places[-1] + least) if places else place)
    over = places[-1] - lowest if places else 0.0
    if over > 0:
        places[-1] = lowest
        for place in range(len(places) - 2, -1, -1):
            places[place] = min(places[place], places[place + 1] - least)
    return places


def curves(rows: list[Row]) -> str:
    """Seconds by number of tasks: one panel for each group, both axes logarithmic."""
    parts = []
    for place, (group, members) in enumerate(groups_of(rows).items()):
        parts += panel(rows, group, members, place * (PANEL + TOP))
    return svg(len(groups_of(rows)) * (PANEL + TOP), parts)


def panel(rows: list[Row], group: str, members: list[str], top: float) -> list[str]:
    counts = sizes(rows)
    points = {
        name: [
            (tasks, value)
            for tasks in counts
            if (value := figure(rows, SECONDS, name, tasks)) is not None
        ]
        for name in members
    }
    values = [value for found in points.values() for _, value in found] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    upper, tall, wide = top + TOP, PANEL - 46, WIDTH - LEFT - RIGHT

    def x_of(tasks: int) -> float:
        return LEFT + wide * counts.index(tasks) / max(len(counts) - 1, 1)

    def y_of(value: float) -> float:
        return upper + tall * (high - math.log10(value)) / (high - low)

    parts = [text(0, top + 16, f"{group}: seconds, start to end")]
    for power in range(low, high + 1):
        y = y_of(10.0**power)
        parts += [line(LEFT, y, wide), text(LEFT - 8, y + 4, f"{10.0**power:g} s", anchor="end")]
    for tasks in counts:
        parts.append(text(x_of(tasks), upper + tall + 18, f"{tasks}", anchor="middle"))
    colours = coloured(rows, members)
    for name, found in points.items():
        at = " ".join(f"{x_of(tasks):.1f},{y_of(value):.1f}" for tasks, value in found)
        thick = 3 if colours[name] == OURS else 1.5
        parts.append(
            f'<polyline points="{at}" fill="none" stroke="{colours[name]}" stroke-width="{thick}"/>'
        )
        parts += [
            f'<circle cx="{x_of(tasks):.1f}" cy="{y_of(value):.1f}" r="{thick}" '
            f'fill="{colours[name]}"/>'
            for tasks, value in found
        ]
    last = sorted((y_of(found[-1][1]), name) for name, found in points.items() if found)
    heights = spread([y for y, _ in last], LABEL_HEIGHT, upper + tall)
    for y, (_, name) in zip(heights, last, strict=True):
        parts.append(text(LEFT + wide + 10, y + 4, name, colours[name]))
    return parts


def bars(rows: list[Row]) -> str:
    """The peak of memory with the most tasks, for each contender."""
    tasks = max(sizes(rows), default=0)
    found = {name: figure(rows, MEMORY, name, tasks) for name in names(rows)}
    most = max((value for value in found.values() if value), default=1.0)
    left = 160
    parts = [text(0, 16, f"peak of memory, {tasks} tasks: all processes together, in MB")]
    y = 22.0
    for members in groups_of(rows).values():
        colours = coloured(rows, members)
        for name in members:
            y += 20
            value = found[name]
            parts.append(text(left - 8, y, name, colours[name], "end"))
            length = (WIDTH - left - 70) * (value or 0.0) / most
            parts.append(
                f'<rect x="{left}" y="{y - 11:.1f}" width="{length:.1f}" height="14" '
                f'fill="{colours[name]}"/>'
            )
            told = "did not finish" if value is None else f"{value:,.0f}"
            parts.append(text(left + length + 6, y, told))
        y += 10
    return svg(y + 6, parts)
