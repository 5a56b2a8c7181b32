"""Whatever a model or a tool has written is text: a real browser does nothing with it."""

from __future__ import annotations

import pytest
import scenes
from playwright.sync_api import expect

from aworld.view.exporting import export_view

MARK = "window.hacked = (window.hacked || 0) + 1"
HOSTILE = [
    f"<script>{MARK}</script>",
    f"<img src=x onerror='{MARK}'>",
    f"<svg xmlns='http://www.w3.org/2000/svg' onload='{MARK}'><script>{MARK}</script></svg>",
    f"<a href='javascript:{MARK}'>click me</a>",
    f"javascript:{MARK}",
    f"<iframe srcdoc='<script>parent.{MARK}</script>'></iframe>",
    f"</script><script>{MARK}</script>",
    f"<!-- --><style>body {{ display: none }}</style><math><mtext></form><form>{MARK}",
    "{{constructor.constructor('" + MARK + "')()}} ${" + MARK + "}",
    "\x1b[2J\x1b[31mred\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x9b0m",
    "user: \u202egnp.exe\u202c \u2066hidden\u2069 \u200f\u061c",
    "zero\u200bwidth \ufeff tags \U000e0041\U000e0042 nul\x00 \ud800 lone",
    "__proto__",
    "constructor",
]


@pytest.fixture
def hostile(tmp_path):
    scenes.odd_texts(tmp_path / "runs" / "odd", HOSTILE)
    return tmp_path / "runs"


def check(page):
    assert page.evaluate("window.hacked") is None
    strange = "script:not([src]):not([type='application/json']), iframe, img, object, embed, style"
    assert page.locator(f"main :is({strange})").count() == 0
    links = page.locator("a[href]").evaluate_all("all => all.map((one) => one.protocol)")
    assert set(links) <= {"http:", "file:", "blob:"}
    text = page.locator("main").inner_text()
    for sign in ("\x1b", "\u202e", "\u2066", "\x9b", "\u200f", "\U000e0041"):
        assert sign not in text


def test_hostile_texts_do_nothing_on_any_page(serve, look, hostile):
    watched = look(serve(hostile), "/")
    page = watched.page
    check(page)
    watched.go("/run?run=odd")
    expect(page.locator(".tasks tbody tr")).to_have_count(len(HOSTILE))
    check(page)
    for slot, text in enumerate(HOSTILE):
        watched.go(f"/task?run=odd&slot={slot}&colouring=logprob")
        expect(page.locator(".talk .turn")).not_to_have_count(0)
        for summary in page.locator("summary").all():
            summary.click()
        check(page)
        if "<" in text:
            expect(page.locator(".talk")).to_contain_text(text[:20])
    watched.go("/group?run=odd&task=" + "__proto__%2012")
    check(page)


def test_what_steers_a_terminal_or_turns_text_is_shown_as_a_sign(serve, look, hostile):
    watched = look(serve(hostile), "/task?run=odd&slot=9")
    expect(watched.page.locator(".talk")).to_contain_text("␛[31mred")
    watched.go("/task?run=odd&slot=10")
    expect(watched.page.locator(".talk")).to_contain_text("⟨RLO⟩gnp.exe⟨PDF⟩")
    watched.go("/task?run=odd&slot=11")
    expect(watched.page.locator(".talk")).to_contain_text("⟨U+E0041⟩⟨U+E0042⟩")


def test_hostile_texts_do_nothing_in_an_exported_file(serve, look, hostile, tmp_path):
    export_view(hostile / "odd", tmp_path / "report.html")
    page = look(serve(hostile)).page
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator(".tasks tbody tr")).to_have_count(len(HOSTILE))
    check(page)
    for slot in range(len(HOSTILE)):
        page.goto(f"{(tmp_path / 'report.html').as_uri()}#/task?run=odd&slot={slot}")
        expect(page.locator(".talk .turn")).not_to_have_count(0)
        check(page)


def test_the_browser_itself_would_stop_a_script(serve, look, hostile):
    """Should one of ours ever make markup of text, the policy still keeps it from running."""
    watched = look(serve(hostile), "/", expected="Content Security Policy|TrustedHTML|blocked")
    blocked = watched.page.evaluate(
        """() => { const found = []; const mark = "window.hacked = 1";
        try { const s = document.createElement("script"); s.textContent = mark;
              document.body.append(s); } catch (error) { found.push("script"); }
        try { document.body.innerHTML = `<img src=x onerror='${mark}'>`; }
        catch (error) { found.push("markup"); }
        return found; }"""
    )
    assert set(blocked) == {"script", "markup"}
    assert watched.page.evaluate("window.hacked") is None
