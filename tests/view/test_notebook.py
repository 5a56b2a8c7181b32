"""A run shows itself in a notebook: a summary with a link, a timeline, a reward curve."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
import scenes
from hypothesis import given
from hypothesis import strategies as st

from aworld import open_run
from aworld.errors import ConfigError, StoreError
from aworld.spans import at_once, lanes_of
from aworld.store import schema
from aworld.view.server import ViewServer


def test_a_run_sums_itself_up_and_says_how_to_see_it(tmp_path):
    scenes.many_tasks(tmp_path / "some", 200)
    with open_run(tmp_path / "some") as run:
        shown = run._repr_html_()
        assert f"aworld view {tmp_path / 'some'}" in shown
        assert "200/200" in shown
        with ViewServer(tmp_path, port=0) as server:
            linked = run._repr_html_()
            assert f"href='http://127.0.0.1:{server.port}/run?run=some'" in linked
            assert server.key not in linked
        assert "href=" not in run._repr_html_()
    assert "<script" not in shown


def test_pictures_are_sound_svg_that_can_be_saved(tmp_path):
    scenes.many_tasks(tmp_path / "some", 200)
    with open_run(tmp_path / "some") as run:
        timeline, curve = run.timeline(), run.reward_curve()
    for picture in (timeline, curve):
        picture.save(tmp_path / "picture.svg")
        assert ElementTree.parse(tmp_path / "picture.svg").getroot().tag.endswith("svg")
        assert picture._repr_svg_() == picture.svg
    assert timeline.svg.count("<rect") == 200
    assert "200 tasks on 4 workers" in timeline.svg
    assert "exact_match" in curve.svg


def test_a_picture_is_saved_as_what_its_name_says(tmp_path):
    scenes.many_tasks(tmp_path / "run", 1)
    with open_run(tmp_path / "run") as run:
        timeline = run.timeline()
    assert "1 task on 1 worker, up to 1 at once" in timeline.svg
    with pytest.raises(ConfigError, match=r"as \.svg or \.html, not as 'x\.png'"):
        timeline.save(tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()
    timeline.save(tmp_path / "x.html")
    assert (tmp_path / "x.html").read_text().startswith("<!doctype html>")


def test_a_picture_is_not_saved_where_there_is_no_folder(tmp_path):
    scenes.many_tasks(tmp_path / "run", 1)
    with open_run(tmp_path / "run") as run:
        timeline = run.timeline()
    with pytest.raises(ConfigError, match=r"there is no folder '.*plots': make it first"):
        timeline.save(tmp_path / "plots" / "x.svg")
    (tmp_path / "x.svg").mkdir()
    with pytest.raises(ConfigError, match=r"x\.svg cannot be written: Is a directory"):
        timeline.save(tmp_path / "x.svg")


def _texts(picture):
    return re.findall(r">([^<>]+)</text>", picture.svg)[1:]  # without the title


@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [
        (0.0334, ["0 ms", "10 ms", "20 ms", "30 ms"]),
        (0.9, ["0 ms", "200 ms", "400 ms", "600 ms", "800 ms"]),
        (7.3, ["0 s", "2 s", "4 s", "6 s"]),
        (100.0, ["0 s", "30 s", "60 s", "90 s"]),
        (1_000.0, ["0 min", "5 min", "10 min", "15 min"]),
        (20_000.0, ["0 h", "2 h", "4 h"]),
        (900_000.0, ["0 h", "72 h", "144 h", "216 h"]),
    ],
)
def test_ticks_are_round_and_workers_have_names(tmp_path, seconds, ticks):
    scenes.at_times(tmp_path / "run", [(n, 0.0, seconds, "success") for n in range(3)])
    with open_run(tmp_path / "run") as run:
        texts = _texts(run.timeline())
    assert texts[: len(ticks)] == ticks
    assert texts[len(ticks) :] == ["w0", "w1", "w2"]


def test_a_reward_that_never_changes_is_drawn_between_0_and_1(tmp_path):
    scenes.at_times(tmp_path / "run", [(0, n, 1.0, "success") for n in range(10)])
    with open_run(tmp_path / "run") as run:
        curve = run.reward_curve()
    assert _texts(curve)[-2:] == ["1", "0"]
    (line,) = re.findall(r"points='([^']+)'", curve.svg)
    assert {place.split(",")[1] for place in line.split()} == {"26.0"}  # at the top


def test_a_closed_run_says_that_it_is_closed(tmp_path):
    scenes.many_tasks(tmp_path / "run", 3)
    with open_run(tmp_path / "run") as run:
        pass
    assert "this run is closed" in run._repr_html_()
    for picture in (run.timeline, run.reward_curve):
        with pytest.raises(StoreError, match="this run is closed: open it again by open_run"):
            picture()


def test_the_curve_and_the_summary_count_what_failed_as_the_command_line_does(tmp_path):
    scenes.many_tasks(tmp_path / "run", 200)
    with open_run(tmp_path / "run") as run:
        rewards = [row.reward for row in run.results()]
        shown, curve = run._repr_html_(), run.reward_curve().svg
    assert None in rewards
    assert f"{sum(reward or 0.0 for reward in rewards) / 200:.3f} (exact_match)" in shown
    assert "over 200 of 200 results" in curve


def test_an_empty_run_has_pictures_too(tmp_path):
    scenes.many_tasks(tmp_path / "none", 0)
    with open_run(tmp_path / "none") as run:
        for text in (run.timeline().svg, run.reward_curve().svg, run._repr_html_()):
            assert text


def test_hostile_names_are_text_in_a_notebook(tmp_path):
    folder = tmp_path / "<script>alert(1)<"
    scenes.odd_texts(folder, ["</title><script>alert(1)</script>"])
    with open_run(folder) as run:
        shown = run._repr_html_() + run.timeline().svg + run.reward_curve().svg
    assert "<script" not in shown
    assert not re.search(r"<img|javascript:", shown)


SPANS = st.lists(
    st.tuples(st.floats(0, 100), st.sampled_from([0.0, 0.0005, 0.001, 0.01, 0.3, 1.0, 7.0])).map(
        lambda span: (span[0], span[0] + span[1])
    ),
    max_size=40,
)


@given(SPANS)
def test_as_many_are_at_once_as_overlap(spans):
    most, mean = at_once(spans)
    surely = [sum(b <= began < e - 0.0003 for b, e in spans) for began, _ in spans]
    possibly = [sum(b <= began <= e for b, e in spans) for began, _ in spans]
    assert max(surely, default=0) <= most <= max(possibly, default=0)
    assert 0 <= mean <= most + 1e-6 or not spans


@given(SPANS)
def test_no_lane_has_two_at_once_and_there_are_as_few_as_can_be(spans):
    placed = lanes_of(spans)
    for lane in {lane for lane, *_ in placed}:
        own = sorted((began, ended) for of, began, ended in placed if of == lane)
        for (_, ended), (began, _) in pairwise(own):
            assert ended <= began
    for (began, ended), (_, start, end) in zip(spans, placed, strict=True):
        assert abs(start - began) + abs(end - ended) <= 0.0005
    lasting = [(began, ended) for began, ended in spans if ended > began]
    assert len({lane for lane, *_ in lanes_of(lasting)}) == at_once(lasting)[0]


def test_short_tasks_that_overlapped_have_lanes_of_their_own(tmp_path):
    """Two at once, of a millisecond each; every other one failed."""
    times = [(0, 0.0004 * n, 0.0007, "failed" if n % 2 else "success") for n in range(0, 20)]
    scenes.at_times(tmp_path / "run", times)
    with open_run(tmp_path / "run") as run:
        drawn = run.timeline().svg
    assert "up to 2 at once" in drawn
    bars = [
        (float(y), float(x), float(x) + float(width), colour)
        for x, y, width, colour in re.findall(
            r"<rect x='([\d.]+)' y='([\d.]+)' width='([\d.]+)' [^>]*fill='(#\w+)'", drawn
        )
    ]
    assert len(bars) == 20
    for (lane, _, end, _), (next_lane, start, _, _) in pairwise(sorted(bars)):
        assert lane != next_lane or end <= start
    colours = [colour for *_, colour in bars]
    assert colours == sorted(colours)  # green before red: failures are painted last


def test_a_beginning_that_was_noticed_late_makes_no_more_at_once(tmp_path):
    """The second began 0.2 s before that was heard of: it had ended when it was recorded."""
    folder = scenes.at_times(
        tmp_path / "run", [(0, n * 0.3, 0.3, "success") for n in range(6)], slots=1
    )
    connection = schema.open_to_write(folder)
    connection.execute("update circumstances set began = began + 0.2 where slot % 2 = 1")
    connection.execute("update circumstances set crc = 0")
    connection.close()
    with open_run(folder) as run:
        assert "up to 1 at once" in run.timeline().svg


@pytest.mark.parametrize("most", [1, 2])
def test_clocks_that_differ_make_no_more_lanes_than_slots(most):
    spans = [(n * 0.3 - 0.02 * (n % 2), n * 0.3 + 0.3) for n in range(8) for _ in range(most)]
    placed = lanes_of(spans, most)
    assert {lane for lane, *_ in placed} == set(range(most))
    assert len({lane for lane, *_ in lanes_of([(0.0, 5.0), (1.0, 4.0), (2.0, 3.0)], most)}) == 3
