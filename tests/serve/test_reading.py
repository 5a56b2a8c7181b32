"""What is read out of a model's text: calls, stop strings, characters that come in pieces."""

from __future__ import annotations

import json
import random

import pytest

from aworld.policies.byte_chat import decode, encode_reply
from aworld.serve.calls import read_calls
from aworld.serve.text import GrowingText, cut_at, held_back

TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {"properties": dict.fromkeys(of)}},
    }
    for name, of in {"add": ["a", "b"], "now": [], "say": ["text"]}.items()
]


def calls_in(text, format):
    said, calls = read_calls(text, TOOLS, format)
    return said, [(call.name, json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        ("@add(12,5)", "", [("add", {"a": 12, "b": 5})]),
        ("@add(12, 5)", "", [("add", {"a": 12, "b": 5})]),
        ("@now()", "", [("now", {})]),
        ('Hm.\n@say("a, (b)\\n é")', "Hm.", [("say", {"text": "a, (b)\n é"})]),
        ("@add(1,2)\n@add(3,4)", "", [("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})]),
        ("@add(1)", "", [("add", {"a": 1})]),
        ("@other(1)", "", [("other", {"argument0": 1})]),
        ("@add(1,2,3)", "@add(1,2,3)", []),
        ("@add(1,", "@add(1,", []),
        ("@add(x,y)", "@add(x,y)", []),
        ("a@add(1,2)", "a@add(1,2)", []),
        ("@add(1,2) and so on", "@add(1,2) and so on", []),
        ("", "", []),
    ],
)
def test_calls_of_the_byte_model_are_lines_of_their_own(text, said, calls):
    assert calls_in(text, "byte") == (said, calls)


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        (
            '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
            "",
            [("add", {"a": 1, "b": 2})],
        ),
        (
            'So.\n<tool_call>{"arguments": {}, "name": "now"}</tool_call>\n'
            '<tool_call>{"name": "say", "arguments": {"text": "<b>"}}</tool_call>',
            "So.",
            [("now", {}), ("say", {"text": "<b>"})],
        ),
        ("<tool_call>{broken</tool_call>", "<tool_call>{broken</tool_call>", []),
        ('<tool_call>{"name": "add"}</tool_call>', '<tool_call>{"name": "add"}</tool_call>', []),
        ('<tool_call>{"name": "add", "arg', '<tool_call>{"name": "add", "arg', []),
        ("no call at all", "no call at all", []),
    ],
)
def test_calls_in_the_way_of_hermes(text, said, calls):
    assert calls_in(text, "hermes") == (said, calls)


def test_the_arguments_of_a_call_are_kept_letter_for_letter():
    odd = '{"a":1,   "b" : 2.50}'
    text = f'<tool_call>\n{{"name": "add", "arguments": {odd}}}\n</tool_call>'
    assert read_calls(text, TOOLS, "hermes")[1][0].arguments == odd


def test_a_call_of_the_byte_model_is_written_again_as_it_was():
    for text in ("@add(12,5)", "Hm.\n@add(1,2)\n@now()", '@say("é \\"x\\"")', "@add(1.5,null)"):
        said, calls = read_calls(text, TOOLS, "byte")
        functions = [{"name": call.name, "arguments": call.arguments} for call in calls]
        message = {"content": said, "tool_calls": [{"function": f} for f in functions]}
        assert decode(encode_reply(message, TOOLS)) == text


def test_growing_text_never_shows_half_a_character_and_ends_up_complete():
    chosen = random.Random(0)
    for _ in range(50):
        text = "".join(chosen.choice("abé漢🙂 \n") for _ in range(40))
        ids = list(text.encode())
        growing = GrowingText(decode)
        for end in range(1, len(ids) + 1):
            assert text.startswith(growing.read(ids[:end]))
        assert growing.text == text


def test_text_is_cut_at_the_first_stop_string():
    assert cut_at("one two three", ["three", "two"]) == "one "
    assert cut_at("one two three", ["four"]) is None
    assert cut_at("one", []) is None


def test_what_may_become_a_marker_is_held_back():
    assert held_back("abc<tool", ["<tool_call>"]) == 5
    assert held_back("abc<", ["<tool_call>"]) == 1
    assert held_back("abc", ["<tool_call>"]) == 0
    assert held_back("xaba", ["abac", "ba!"]) == 3
