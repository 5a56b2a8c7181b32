"""What ran when: how many at once, in which lanes, and when nothing did. Plain functions."""

from __future__ import annotations

from collections.abc import Sequence

MEETING_SECONDS = 0.0002  # clocks are not exact: one has ended when the next begins
MEETING_SHARE = 0.1  # of a short one that it may seem to overlap another by
CLOCK_SECONDS = 0.05  # that two clocks can differ by
BREAK_SECONDS = 5.0  # without anything that runs: nobody ran the run
MOST_BREAKS = 20  # where there are more, that is how its tasks come

Span = tuple[float, float]  # beginning and end


def breaks_in(spans: Sequence[Span]) -> list[Span]:
    """When nothing ran for long: between its end and the moment in which the run was resumed."""
    starts, ends = sorted(began for began, _ in spans), sorted(ended for _, ended in spans)
    # as many have ended as had begun: nothing runs until the next begins
    pairs = zip(ends, starts[1:], strict=False)
    found = [(ended, began) for ended, began in pairs if began - ended > BREAK_SECONDS]
    return found if len(found) <= MOST_BREAKS else []


def without_breaks(breaks: Sequence[Span], moment: float) -> float:
    """The same moment, as if there had been no breaks before it."""
    return moment - sum(min(end, moment) - start for start, end in breaks if start < moment)


def at_once(spans: Sequence[Span], breaks: Sequence[Span] = ()) -> tuple[int, float]:
    """How many there were at the same time: the most, and on average, breaks left out."""
    if not spans:
        return 0, 0.0
    starts = sorted(began + _slack(began, ended) for began, ended in spans)
    ends = sorted(ended - _slack(began, ended) for began, ended in spans)
    most, over = 0, 0
    for begun, start in enumerate(starts, 1):
        while over < begun - 1 and ends[over] <= start:
            over += 1
        most = max(most, begun - over)
    first, last = min(began for began, _ in spans), max(ended for _, ended in spans)
    lasted = without_breaks(breaks, last) - first
    busy = sum(ended - began for began, ended in spans)
    return most, min(busy / lasted, most) if lasted > 0 else float(most)


def lanes_of(spans: Sequence[Span], most: int | None = None) -> list[tuple[int, float, float]]:
    """Lane, beginning and end of each as it is drawn. No lane has two at once, and there are as few
    as can be: where two only seem to meet, the later begins when the earlier ends. `most` is how
    many there can be but for clocks that differ."""
    lanes: list[tuple[float, float]] = []  # of the last in each: when it ends, and all but ends
    found = [(0, 0.0, 0.0)] * len(spans)
    slacks = [_slack(began, ended) for began, ended in spans]
    for place in sorted(range(len(spans)), key=lambda place: spans[place][1] - slacks[place]):
        (began, ended), slack = spans[place], slacks[place]
        free = [lane for lane, (_, over) in enumerate(lanes) if over <= began + slack]
        if free:
            lane = max(free, key=lambda lane: lanes[lane])
        elif most is None or len(lanes) < most or not _may_be_clocks(lanes, began, ended):
            lane = len(lanes)
            lanes.append((began, began))
        else:
            lane = min(range(len(lanes)), key=lambda lane: lanes[lane])
        began = max(began, lanes[lane][0])
        ended = max(began, ended)
        lanes[lane] = (ended, ended - slack)
        found[place] = (lane, began, ended)
    return found


def _slack(began: float, ended: float) -> float:
    """By how much a beginning or an end may be wrong."""
    return min(MEETING_SECONDS, MEETING_SHARE * (ended - began)) / 2


def _may_be_clocks(lanes: Sequence[tuple[float, float]], began: float, ended: float) -> bool:
    return min(lanes)[0] - began <= min(CLOCK_SECONDS, (ended - began) / 2)
