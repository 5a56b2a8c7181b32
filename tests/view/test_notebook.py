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
from aworld.drawing import at_once, lanes_of
from aworld.errors import ConfigError, StoreError
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


def test_a_closed_run_says_that_it_is_closed(tmp_path):
    scenes.many_tasks(tmp_path / "run", 3)
    with open_run(tmp_path / "run") as run:
        pass
    assert "this run is closed" in run._repr_html_()
    for picture in (run.timeline, run.reward_curve):
        with pytest.raises(StoreError, match="this run is closed: open it again by open_run"):
            picture()


def test_the_curve_and_the_summary_say_how_many_were_scored(tmp_path):
    scenes.many_tasks(tmp_path / "run", 200)
    with open_run(tmp_path / "run") as run:
        scored = [row.reward for row in run.results() if row.reward is not None]
        shown, curve = run._repr_html_(), run.reward_curve().svg
    assert len(scored) < 200
    assert f"{sum(scored) / len(scored):.3f} over {len(scored)} of 200 (exact_match)" in shown
    assert f"{len(scored)} of 200 results scored" in curve


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
    st.tuples(st.floats(0, 100), st.floats(0.01, 30)).map(
        lambda span: (span[0], span[0] + span[1])
    ),
    max_size=40,
)


@given(SPANS)
def test_as_many_are_at_once_as_overlap(spans):
    most, mean = at_once(spans)
    apart = [(began, ended) for began, ended in spans if ended - began > 0.01]
    if len(apart) == len(spans):
        overlapping = [sum(b <= began < e - 0.002 for b, e in spans) for began, _ in spans]
        assert most == max(overlapping, default=0)
    assert 0 <= mean <= most + 1e-6 or not spans


@given(SPANS)
def test_no_lane_has_two_at_once_and_there_are_as_few_as_can_be(spans):
    lanes = lanes_of(spans)
    for lane in set(lanes):
        own = sorted(span for span, of in zip(spans, lanes, strict=True) if of == lane)
        for (_, ended), (began, _) in pairwise(own):
            assert ended <= began + 0.0021
    at_once = max((sum(b <= began < e for b, e in spans) for began, _ in spans), default=0)
    assert len(set(lanes)) <= max(at_once, 0) or not spans


@pytest.mark.parametrize("most", [1, 2])
def test_there_are_never_more_lanes_than_slots(most):
    assert set(lanes_of([(0.0, 5.0), (1.0, 4.0), (2.0, 3.0)], most)) <= set(range(most))
