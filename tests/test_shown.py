"""Text of strangers, made harmless: what a terminal would obey is gone, what people write stays."""

from __future__ import annotations

import shlex

import pytest

from aworld.core.shown import as_word, harmless, shortened


@pytest.mark.parametrize(
    "nasty",
    [
        "\x1b[31m",  # colours
        "\x1b]8;;http://evil\x1b\\",  # links
        "\x9b2J",  # the same in one character
        "\x07\x08\x7f\x00",
        "\u202e\u2066\u2069\u200e\u200f",  # turns the direction of what follows
        "\u2028\u2029",
        "\ufeff\u200b\U000e0041",  # cannot be seen
        "\ud800",  # cannot even be printed
    ],
)
def test_what_a_terminal_would_obey_is_gone(nasty):
    for lines in (False, True):
        shown = harmless(f"a{nasty}b", lines=lines)
        assert shown.replace("?", "").isprintable()
        assert (shown[0], shown[-1]) == ("a", "b")
        shown.encode()


def test_what_people_write_stays():
    for text in (
        "naïve",
        "中文\u3000空格",
        "a\u00a0b",
        "👩\u200d🔬",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "[bold]x[/]",
    ):
        assert harmless(text) == text


def test_line_ends_stay_only_where_they_are_wanted():
    assert harmless("a\r\nb\tc\n", lines=True) == "a\nb\tc\n"
    assert harmless("a\nb\tc") == "a?b?c"
    assert harmless("over\rwritten", lines=True) == "over?written"


def test_long_text_is_cut():
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abc..."


@pytest.mark.parametrize("path", ["runs/a", "my runs/a", "it's mine", "-a", "$HOME;ls"])
def test_a_path_in_a_command_is_one_word_and_no_option(path):
    (word,) = shlex.split(as_word(path))
    assert word in (path, f"./{path}")
    assert not word.startswith("-")
