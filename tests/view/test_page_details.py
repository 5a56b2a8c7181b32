"""What is easily overlooked on a page: short tasks, short runs, wrong addresses, small screens."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
import scenes
from playwright.sync_api import expect

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture
def words(serve, talked, look):
    """A page of a view of conversations."""
    server = serve(talked)
    return lambda path="/", **options: look(server, path, **options)


LANES = """async () => {
    const { Lanes, readBars } = await import("/static/lanes.js");
    const reply = await fetch("/api/bars?run=short");
    const lanes = new Lanes(2);
    lanes.add(readBars(await reply.arrayBuffer()));
    return lanes.rows().map((row) => row.bars.map(({ slot, x, to }) => [slot, x, to]));
}"""

PAINTED = """() => new Promise((done) => {
    const canvas = document.querySelector("canvas[role=img]"), ctx = canvas.getContext("2d");
    const painted = [], fill = ctx.fillRect;
    ctx.fillRect = function (x, y, width, height) {
        painted.push([ctx.fillStyle, x, y, x + width, y + height]);
        fill.call(ctx, x, y, width, height);
    };
    dispatchEvent(new Event("themechange"));
    requestAnimationFrame(() => requestAnimationFrame(() => done(painted)));
})"""


def test_no_two_bars_of_a_lane_overlap_and_failures_are_painted_last(serve, look, tmp_path):
    """Of a millisecond, two at once, every third failed; then failures between long ones. They come
    hours after the first."""
    times = [(0, 0.0, 0.001, "success")]
    times += [(0, 9_000 + 0.0006 * n, 0.001, "success" if n % 3 else "failed") for n in range(60)]
    for n in range(30):
        times += [(0, 9_001 + n, 0.001, "failed"), (0, 9_001.001 + n, 0.9, "success")]
    scenes.at_times(tmp_path / "short", times)
    watched = look(serve(tmp_path), "/run?run=short")
    page = watched.page
    expect(page.get_by_label("Timeline", exact=True)).to_contain_text("up to 2 at once")
    lanes = page.evaluate(LANES)
    assert sorted(slot for lane in lanes for slot, *_ in lane) == list(range(len(times)))
    assert len(lanes) == 2
    for lane in lanes:
        for (_, _, end), (_, start, _) in pairwise(lane):
            assert end <= start
        assert all(to - x > 0.0005 for _, x, to in lane)
    red = page.evaluate("getComputedStyle(document.body).getPropertyValue('--s-failed').trim()")
    painted = page.evaluate(PAINTED)
    failed = [n for n, (colour, *_) in enumerate(painted) if colour == red]
    assert failed
    for n in failed:
        _, left, top, right, bottom = painted[n]
        over = [  # what is painted later, and in part over it
            colour
            for colour, x0, y0, x1, y1 in painted[n + 1 :]
            if x0 < right and left < x1 and y0 < bottom and top < y1
        ]
        assert set(over) <= {red}


def test_the_ticks_of_an_axis_never_look_the_same(words):
    page = words().page
    ticks = page.evaluate(
        """async () => {
        const { ticks, levels } = await import("/static/format.js");
        return [ticks([0.05, 0.1, 0.15, 0.2]), ticks([60, 62.5, 65]), ticks([3600, 5400, 7200]),
            levels([0, 0.25, 0.5, 0.75, 1]), levels([100, 100.5, 101])]; }"""
    )
    assert all(len(set(row)) == len(row) for row in ticks), ticks
    assert ticks[3] == ["0", "0.25", "0.5", "0.75", "1"]


WRITTEN = """async (length) => {
    const { Chart } = await import("/static/charts.js");
    const words = [], canvas = CanvasRenderingContext2D.prototype, write = canvas.fillText;
    canvas.fillText = function (text, ...place) {
        words.push(text);
        write.call(this, text, ...place);
    };
    const chart = new Chart("pace", { time: true, height: 130 });
    chart.box.style.setProperty("width", "330px");
    document.body.append(chart.element);
    const xs = Array.from({ length: 10 }, (_, n) => ((n + 0.5) * length) / 10);
    chart.show([{ label: "pace", line: "line-1", xs, ys: xs.map((_, n) => n), area: true }]);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    canvas.fillText = write;
    return words.filter((word) => / m?s$/.test(word));
}"""


@pytest.mark.parametrize("length", [0.0005, 0.003, 0.03, 0.1, 0.3, 0.9])
def test_charts_of_less_than_a_second_have_ticks_in_milliseconds(words, length):
    written = words().page.evaluate(WRITTEN, length)
    assert len(written) == len(set(written)) >= 2
    assert all(re.fullmatch(r"[\d.]+ ms", word) for word in written), written


def test_an_address_without_a_run_or_with_an_unknown_task_leads_on(words):
    watched = words("/run", expected="400|422")
    page = watched.page
    expect(page.get_by_role("heading", name="Which run?")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    watched.go(f"/task?run=words&task={'x' * 300}")
    expect(page.get_by_role("heading", name="No such task")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    notice = page.get_by_role("alert")
    assert notice.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.get_by_role("link", name="Back to the run").click()
    expect(page.get_by_label("Figures")).to_contain_text("24 of 24")


def test_on_a_phone_the_figures_of_a_task_have_names(words):
    page = words("/run?run=words", **PHONE).page
    cells = page.locator(".tasks tbody tr").first.locator("td.num")
    names = "all => all.map(one => getComputedStyle(one, '::before').content)"
    expect(cells).to_have_count(4)
    assert cells.evaluate_all(names) == ['"Reward"', '"Time"', '"Tokens"', '"Worker"']
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_messages_of_an_agent_without_a_model_are_not_copied(serve, look, tmp_path):
    scenes.functions(tmp_path / "first", ["a"])
    page = look(serve(tmp_path), "/task?run=first&slot=0").page
    button = page.get_by_role("button", name="Messages")
    expect(button).to_be_disabled()
    assert "asked no model" in button.get_attribute("title")
    page.keyboard.press("m")
    expect(page.locator("#toast")).to_have_text(re.compile("there are no messages"))


def test_a_call_of_a_tool_is_drawn_with_its_arguments(words):
    page = words("/task?run=words&task=word-2&sample=1").page
    call = page.locator(".call").first
    expect(call).to_have_text("calculatorexpression210 + 13")
    after = "one => getComputedStyle(one, '::after').content"
    assert call.locator(".function").evaluate(after) == "none"
