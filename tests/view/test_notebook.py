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
from aworld.drawing import lanes_of
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
