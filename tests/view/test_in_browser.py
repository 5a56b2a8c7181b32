"""The pages in a real Chromium: on finished runs, with keys and mouse, in the dark, on a phone."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time

import pytest
import scenes
import talks
from going import Going
from playwright.sync_api import expect
from waiting import until

from aworld.store.live import read_live
from aworld.view.exporting import export_view

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture
def words(serve, talked, look):
    """A page of a view of conversations."""
    server = serve(talked)
    return lambda path="/", **options: look(server, path, **options)


def test_the_key_leaves_the_address_and_a_page_without_it_is_locked(words):
    watched = words(expected="401")
    assert "#" not in watched.page.url
    expect(watched.page.get_by_role("link", name="words")).to_be_visible()
    watched.context.clear_cookies()
    watched.go("/run?run=words")
    expect(watched.page.get_by_role("alert")).to_contain_text("aworld view")


def test_runs_can_be_searched_sorted_and_opened(serve, look, tmp_path):
    for number, name in enumerate(("alpha", "beta", "gamma")):
        scenes.many_tasks(tmp_path / name, 20 + 10 * number)
    page = look(serve(tmp_path)).page
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("BET")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("beta")
    page.get_by_label("Search runs").fill("")
    page.get_by_role("button", name="Tasks").click()
    expect(rows.first).to_contain_text("gamma")
    page.get_by_role("button", name="Tasks").click()
    expect(rows.first).to_contain_text("alpha")
    page.get_by_role("link", name="alpha").click()
    expect(page.get_by_role("heading", name="alpha")).to_be_visible()
    page.go_back()
    expect(rows.first).to_contain_text("alpha")


def test_a_run_shows_its_figures_timeline_failures_and_tasks(words):
    page = words("/run?run=words").page
    expect(page.get_by_label("Figures")).to_contain_text("24 of 24")
    canvas = page.locator("canvas[role=img]").first
    expect(canvas).to_have_attribute("aria-label", _starting("Timeline of 24 tasks"))
    expect(page.get_by_label("Failures by kind")).to_contain_text("ValueError")
    expect(page.locator(".tasks tbody tr")).to_have_count(24)
    page.get_by_role("button", name="ValueError").click()
    expect(page.locator(".tasks tbody tr")).to_have_count(1)
    assert "failure=ValueError" in page.url
    page.reload()
    expect(page.locator(".tasks tbody tr")).to_have_count(1)
    page.get_by_role("button", name="clear").click()
    expect(page.locator(".tasks tbody tr")).to_have_count(24)


def _starting(text):
    return re.compile(f"^{re.escape(text)}")


def test_a_conversation_can_be_walked_through_with_the_keyboard(words):
    page = words("/task?run=words&task=word-2&sample=1").page
    turns = page.locator(".talk .turn")
    expect(turns).to_have_count(5)
    expect(turns.nth(2)).to_contain_text("calculator")
    expect(turns.nth(2)).to_contain_text("210 + 13")
    expect(page.get_by_role("complementary")).to_contain_text("numeric_match")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", level=1)).to_have_text("word-2#2")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("heading", level=1)).to_have_text("word-2#1")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next task")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("g")
    expect(page.get_by_role("listitem")).to_have_count(4)


def test_a_rollout_is_copied_as_json_as_messages_and_as_a_command(words):
    page = words("/task?run=words&task=word-2&sample=1").page
    page.get_by_role("button", name="JSON").click()
    expect(page.locator("#toast")).to_contain_text("copied")
    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["task"]["id"] == "word-2"
    page.get_by_role("button", name="Messages").click()
    expect(page.locator("#toast")).to_contain_text("messages copied")
    talk = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert talk[0]["messages"][0]["role"] == "system"
    page.get_by_role("button", name="Command").click()
    expect(page.locator("#toast")).to_contain_text("command copied")
    assert "--only word-2" in page.evaluate("navigator.clipboard.readText()")


def test_tokens_are_coloured_by_how_likely_they_were_and_by_what_was_trained(words):
    page = words("/task?run=words&task=word-2&sample=1").page
    choose = page.get_by_label("Colour tokens")
    choose.select_option("logprob")
    tokens = page.locator(".tokens span")
    expect(tokens).to_have_count(9)
    assert page.locator(".tokens").inner_text() == "The calculator gives 223.\nANSWER: 223"
    assert len(set(tokens.evaluate_all("all => all.map(one => one.className)"))) > 3
    assert "p = " in tokens.first.get_attribute("title")
    choose.select_option("trained")
    expect(page.locator(".tokens .m\\+")).to_have_count(9)
    assert "colouring=trained" in page.url


def test_sub_agents_stand_side_by_side_under_their_names(words):
    page = words("/task?run=words&task=word-6").page
    columns = page.locator(".aside .agent")
    expect(columns).to_have_count(2)
    first, second = columns.nth(0).bounding_box(), columns.nth(1).bounding_box()
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    expect(columns.nth(0)).to_contain_text("planner")
    expect(columns.nth(1)).to_contain_text("checker")


def test_an_error_is_shown_with_its_traceback(words):
    page = words("/task?run=words&task=word-6&sample=2").page
    expect(page.get_by_role("alert")).to_contain_text("ValueError: the team could not agree")
    trace = page.locator("details", has_text="Traceback")
    expect(trace.locator("summary")).to_contain_text("agents.py:40 in vote")
    expect(trace.locator("pre")).to_be_hidden()
    trace.locator("summary").click()
    expect(trace.locator("pre")).to_contain_text("agents.py")


def test_curves_of_several_trainings_are_plotted_and_downloaded(serve, look, tmp_path):
    for name, seed in (("one", 1), ("two", 2)):
        scenes.many_tasks(tmp_path / name, 5)
        scenes.training(tmp_path / name, seed=seed)
    page = look(serve(tmp_path), "/training?run=one").page
    reward = page.locator("figure", has_text="of the rollouts")
    expect(reward.locator("canvas")).to_be_visible()
    page.get_by_role("checkbox", name="two").check()
    expect(reward.locator(".values .key")).to_have_count(2)
    for kind, start in (("CSV", b"step,"), ("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        reward.hover()
        with page.expect_download() as download:
            reward.get_by_role("button", name=kind).click()
        found = download.value.path().read_bytes()
        assert found.startswith(start)
        assert download.value.suggested_filename == f"reward.{kind.lower()}"
    for title in ("Evaluation", "KL", "Entropy", "Length", "Time shares"):
        expect(page.locator("figcaption .name", has_text=title).first).to_be_visible()


def test_two_runs_are_compared(serve, look, tmp_path):
    scenes.many_tasks(tmp_path / "a", 100, seed=1)
    scenes.many_tasks(tmp_path / "b", 100, seed=2)
    page = look(serve(tmp_path), "/").page
    page.get_by_label("choose a").check()
    page.get_by_label("choose b").check()
    page.get_by_role("button", name="Compare two").click()
    expect(page.get_by_text("Got better")).to_be_visible()
    page.locator(".changes a.name").first.click()
    expect(page.get_by_text("Reward").first).to_be_visible()


def test_light_and_dark_can_be_chosen_and_stay(words):
    page = words("/", color_scheme="light").page
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark != light


def test_after_cancel_the_page_says_so_and_offers_to_stop_now(serve, look, tmp_path):
    (tmp_path / "slow").touch()
    run = Going(tmp_path, 40)
    try:
        until(lambda: run.run.exists())
        watched = look(serve(tmp_path / "runs"), "/run?run=live", expected="404")
        page = watched.page
        until(lambda: (live := read_live(run.run)) and live.count == 4)
        expect(page.get_by_label("Timeline", exact=True)).to_contain_text("4 running")
        expect(page.get_by_label("Timeline", exact=True)).not_to_contain_text("nothing has ended")
        watched.answers = [True]
        page.get_by_role("button", name="Cancel").click()
        pill = page.locator(".title .pill")
        expect(pill).to_have_text("cancelling, 4 still running", timeout=10_000)
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        page.reload()
        expect(pill).to_have_text("cancelling, 4 still running", timeout=10_000)
        assert run.process.poll() is None
        watched.answers = [True]
        page.get_by_role("button", name="Stop now").click()
        run.process.wait(15)  # the tasks take 20 seconds
        expect(pill).to_have_text("unfinished", timeout=10_000)
    finally:
        run.end()


def test_a_run_that_is_deleted_leaves_no_figures_behind(serve, look, tmp_path):
    scenes.many_tasks(tmp_path / "first", 20)
    page = look(serve(tmp_path), "/run?run=first", expected="404").page
    expect(page.get_by_label("Figures")).to_contain_text("20 of 20")
    shutil.rmtree(tmp_path / "first")
    words = "there is no run first here (deleted or mistyped)"
    expect(page.get_by_role("alert")).to_contain_text(words, timeout=10_000)
    expect(page.get_by_label("Figures")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text(words)
    scenes.many_tasks(tmp_path / "first", 30)
    expect(page.get_by_label("Figures")).to_contain_text("30 of 30", timeout=10_000)


def test_a_page_gone_to_while_the_server_was_away_comes_by_itself(serve, look, tmp_path):
    scenes.many_tasks(tmp_path / "first", 20)
    server = serve(tmp_path)
    watched = look(server, "/run?run=first", expected="ERR_")
    page = watched.page
    again = page.get_by_role("button", name="Run failed again")
    expect(again).to_be_enabled()
    server.stop()
    expect(page.locator("#connection")).to_have_text("reconnecting…", timeout=10_000)
    expect(again).to_be_disabled()
    page.locator(".tasks a.name").first.click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    expect(page.locator("#connection")).to_have_text("reconnecting…")
    serve(tmp_path, port=server.port)
    expect(page.get_by_role("complementary")).to_be_visible(timeout=15_000)
    expect(page.locator("#connection")).to_have_text("")


def test_a_command_for_the_clipboard_steers_no_terminal(serve, look, tmp_path):
    name = "it's\n\x1b[31mred\u202e\\"
    scenes.functions(tmp_path / "first", [name])
    page = look(serve(tmp_path), "/task?run=first&slot=0").page
    page.get_by_role("button", name="Command").click()
    expect(page.locator("#toast")).to_contain_text("copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.isprintable()
    assert shlex.split(copied.partition(" --only ")[0])[:2] == ["aworld", "run"]
    printed = f"printf %s {copied.partition(' --only ')[2]}"
    said = subprocess.run(["bash", "-c", printed], capture_output=True, env={"LC_ALL": "C.UTF-8"})
    assert said.stdout.decode() == name


def test_what_a_function_answers_or_raises_is_shown_once(serve, look, tmp_path):
    scenes.functions(tmp_path / "good", ["a"])
    scenes.functions(tmp_path / "bad", ["a"], status="failed")
    scenes.functions(tmp_path / "cut", ["a"], status="truncated")
    watched = look(serve(tmp_path), "/task?run=good&slot=0")
    who = watched.page.locator(".who")
    expect(who).to_have_text(["Input", "Answer"])
    watched.go("/task?run=bad&slot=0")
    expect(who).to_have_text(["Input", "Error"])
    expect(watched.page.locator("summary")).to_contain_text("agents.py:12 in parse")
    watched.go("/task?run=cut&slot=0")
    expect(who).to_have_text(["Input", "Truncated"])
    expect(watched.page.get_by_role("alert")).to_have_count(0)


def test_long_names_take_one_line_and_the_timeline_counts_as_its_axis_does(serve, look, tmp_path):
    scenes.functions(tmp_path / ("name-" * 30), ["id-" * 80 + str(n) for n in range(12)])
    scenes.functions(tmp_path / "20261115-203015-tasks", ["a"], status="failed")
    page = look(serve(tmp_path)).page
    heights = page.locator("a.name").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert len(set(heights)) == 1
    assert page.locator("a.name", has_text="name-").get_attribute("title") == "name-" * 30
    expect(page.locator(".pill.s-neutral")).to_have_text("complete")  # nothing of it succeeded
    page.get_by_role("link", name="name-").click()
    expect(page.get_by_label("Timeline", exact=True)).to_contain_text("up to 5 at once")
    links = page.locator(".tasks a.name")
    expect(links).to_have_count(12)
    assert max(links.evaluate_all("all => all.map(one => one.offsetHeight)")) < 30
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


PAGES = {  # what is there last
    "/": "tbody tr",
    "/run?run=words": ".tasks tbody tr",
    "/task?run=words&task=word-6": ".talk .turn",
    "/group?run=words&task=word-2": ".group .turn",
    "/training?run=words": ".curves canvas",
    "/compare?first=words&second=words": ".facts .fact",
}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_a_phone_and_has_names_for_all_that_can_be_used(words, path):
    page = words(path, **PHONE).page
    page.wait_for_selector(PAGES[path])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, select, canvas[tabindex]")]
        .filter((one) => one.checkVisibility() && !(one.getAttribute("aria-label") || one.title
            || one.textContent.trim() || (one.labels && one.labels.length)))
        .map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert nameless == []


def test_the_export_opens_without_a_server(chromium, look, serve, talked, tmp_path):
    scenes.training(talks.conversations(tmp_path / "words"))
    export_view(tmp_path / "words", tmp_path / "report.html")
    watched = look(serve(talked))
    page = watched.page
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator(".tasks tbody tr")).to_have_count(24)
    page.get_by_label("Search in tasks and answers").fill("train")
    expect(page.locator(".tasks tbody tr")).to_have_count(4)
    page.get_by_role("link", name="word-2#1").click()
    expect(page.locator(".talk .turn")).to_have_count(5)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("heading", level=1)).to_have_text("word-2#2")
    expect(page.get_by_role("button", name="Command")).to_be_visible()
    expect(page.get_by_role("button", name="JSON")).to_have_count(0)
    page.keyboard.press("u")
    page.get_by_role("link", name="Training").click()
    expect(page.locator(".curves canvas").first).to_be_visible()
    page.locator("#crumbs").get_by_role("link", name="words").click()
    expect(page.locator(".tasks tbody tr").first).to_be_visible()


def test_a_run_of_100_000_tasks_is_painted_soon_and_stays_smooth(serve, look, large, capsys):
    watched = look(serve(large), "/")
    page = watched.page
    watched.go("/run?run=many")
    started = time.perf_counter()
    watched.go("/run?run=many")
    ready = time.perf_counter() - started
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    canvas = page.locator("canvas[role=img]").first
    expect(canvas).to_have_attribute("aria-label", _starting("Timeline of 100,000"), timeout=20_000)
    drawn = time.perf_counter() - started
    watched.long_frames()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.6)
    canvas.focus()
    times = []
    for turn in range(40):
        times.append(_frame(page))
        page.mouse.wheel(0, -240 if turn < 20 else 240)
    for turn in range(20):
        times.append(_frame(page))
        page.keyboard.press("ArrowRight" if turn % 2 else "ArrowLeft")
    zooming = watched.long_frames()
    canvas.blur()
    for _ in range(20):
        page.mouse.wheel(0, 300)
        times.append(_frame(page))
    scrolling = watched.long_frames()
    times.sort()
    with capsys.disabled():
        print(
            f"\n100,000 tasks: first paint {paint:.0f} ms, page {1000 * ready:.0f} ms, timeline "
            f"{1000 * drawn:.0f} ms; frames: median {times[len(times) // 2]:.0f} ms, 95% "
            f"{times[int(len(times) * 0.95)]:.0f} ms; longer than 50 ms: {len(zooming)} of 60 "
            f"while zooming {[round(one) for one in zooming]}, {len(scrolling)} of 20 scrolling"
        )
    assert paint < 1_000
    assert ready < 5
    assert times[len(times) // 2] < 60
    assert max([0, *zooming, *scrolling]) < 400
    expect(page.locator(".tasks tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Last page").click()
    expect(page.get_by_role("link", name="q99999")).to_be_visible()


def _frame(page):
    """How long until the next picture, in milliseconds."""
    return page.evaluate(
        """() => new Promise((done) => {
        const start = performance.now(), end = () => done(performance.now() - start);
        requestAnimationFrame(() => requestAnimationFrame(end)); })"""
    )
