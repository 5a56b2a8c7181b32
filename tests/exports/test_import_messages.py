"""A file of messages becomes a run, whoever wrote it, and the same file again."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import says, user

from aworld.errors import ConfigError, StoreError
from aworld.exports import export, import_messages
from aworld.rewards import tool_used
from aworld.store.reader import open_run

TRAINED = "task in ('sum', 'team')"


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def rollouts(folder: Path) -> list[Any]:
    with open_run(folder) as run:
        return list(run.rollouts())


def again(path: Path, folder: Path) -> list[dict[str, Any]]:
    import_messages(path, folder)
    with open_run(folder) as run:
        return lines(export(run, "messages").path)


def test_what_was_exported_comes_back_and_goes_out_as_it_was(run, tmp_path):
    first = export(run, "messages", tmp_path / "first.jsonl").path
    assert again(first, tmp_path / "again") == lines(first)
    with open_run(tmp_path / "again") as copy:
        assert (copy.samples, copy.status) == (4, "unfinished")  # one task has two samples only
        for to in ("trl-sft", "trl-dpo", "trl-kto", "openai"):
            ours = export(run, to, tmp_path / f"ours-{to}.jsonl", where=TRAINED)
            theirs = export(copy, to, tmp_path / f"theirs-{to}.jsonl", where=TRAINED)
            assert theirs.left_out == ours.left_out
            assert theirs.path.read_bytes() == ours.path.read_bytes()


texts = st.text(max_size=5) | st.sampled_from(["\ud800", "\u2028", "", "é"])
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
calls = st.lists(
    st.fixed_dictionaries(
        {"function": st.fixed_dictionaries({"name": texts, "arguments": texts})},
        optional={"id": texts | st.none(), "type": st.just("function")},
    ),
    max_size=2,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={
        "content": st.none() | texts | st.lists(plain, max_size=1),
        "tool_calls": calls | st.none(),
        "tool_call_id": texts,
        "extra": plain,
    },
)
numbers = st.floats(0, 1e6, allow_nan=False)
rows = st.fixed_dictionaries(
    {"messages": st.lists(messages, min_size=1, max_size=6)},
    optional={
        "task_id": st.sampled_from(["a", "b", "ü"]),
        "status": st.sampled_from(["success", "failed", "truncated", "timeout"]),
        "reward": st.none() | numbers,
        "ground_truth": plain,
        "input": plain,
        "answer": plain,
        "metadata": st.dictionaries(texts, plain, max_size=2),
        "tools": st.lists(st.dictionaries(texts, plain, max_size=2), max_size=2),
        "agent": st.sampled_from(["", "solver", "team/solver"]),
        "error": st.fixed_dictionaries({"kind": texts, "message": texts}),
        "seconds": numbers,
        "attempts": st.integers(1, 9),
        "usage": st.fixed_dictionaries(
            {}, optional={"cost": numbers, "model_calls": st.integers(0, 9)}
        ),
    },
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(rows, min_size=1, max_size=4))
def test_a_second_import_changes_nothing_any_more(given_rows):
    with tempfile.TemporaryDirectory() as folder:
        source = write(Path(folder) / "m.jsonl", *given_rows)
        first = again(source, Path(folder) / "one")
        second = again(Path(folder) / "one/exports/messages.jsonl", Path(folder) / "two")
    assert second == first
    assert len(first) == len(given_rows)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.lists(st.lists(messages, min_size=1, max_size=6), min_size=1, max_size=3))
def test_messages_come_out_as_they_went_in_up_to_the_last_reply(conversations):
    rows = []
    for spoken in conversations:
        replies = [n for n, message in enumerate(spoken) if message["role"] == "assistant"]
        rows.append({"messages": spoken[: replies[-1] + 1] if replies else spoken})
    with tempfile.TemporaryDirectory() as folder:
        found = again(write(Path(folder) / "m.jsonl", *rows), Path(folder) / "run")
    sent = json.loads(json.dumps(rows).encode("ascii").decode())
    shown = [{"messages": row["messages"]} for row in found]
    assert shown == json.loads(_valid(json.dumps(sent, ensure_ascii=False)))


def _valid(text: str) -> str:
    """Lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode()


def test_bare_lines_are_tasks_named_after_their_numbers(tmp_path):
    source = write(
        tmp_path / "m.jsonl",
        {"messages": [user("1 + 1?"), says("2")]},
        {"messages": [{"role": "system", "content": "Be brief."}, user("hi"), says("ho")]},
    )
    imported = import_messages(source, tmp_path / "run", reward="mine", agent="somebody")
    assert (imported.tasks, imported.samples, imported.rollouts) == (2, 1, 2)
    first, second = rollouts(tmp_path / "run")
    assert (first.task.id, first.task.input, first.response.answer) == ("line-1", "1 + 1?", "2")
    assert (second.task.id, second.task.input[0]["role"]) == ("line-2", "system")
    assert first.response.trajectory.agent_id == "somebody"
    with open_run(tmp_path / "run") as run:
        assert (run.status, run.meta["reward"]) == ("complete", "mine")
        assert run.config["import"]["path"] == str(source.absolute())


def test_lines_with_the_same_task_are_its_samples(tmp_path):
    source = write(
        tmp_path / "m.jsonl",
        {"task_id": "t", "messages": [user("q"), says("a")], "reward": 1},
        {"task_id": "u", "messages": [user("q"), says("b")]},
        {"task_id": "t", "messages": [user("q"), says("c")], "sample": 2},
        {"task_id": "t", "messages": [user("q"), says("d")], "status": "truncated"},
    )
    imported = import_messages(source, tmp_path / "run")
    assert (imported.tasks, imported.samples) == (2, 3)
    found = [
        (one.response.id, one.response.answer, one.reward) for one in rollouts(imported.folder)
    ]
    assert found == [("t#0", "a", 1.0), ("t#1", None, None), ("t#2", "c", None), ("u#0", "b", None)]


def test_sharegpt_is_understood(tmp_path):
    spoken = [
        {"from": "human", "value": "1 + 1?"},
        {"from": "function_call", "value": '{"name": "add", "arguments": {"a": 1, "b": 1}}'},
        {"from": "observation", "value": "2"},
        {"from": "gpt", "value": "It is 2."},
    ]
    source = write(
        tmp_path / "m.jsonl",
        {"conversations": spoken, "system": "Be brief.", "tools": '[{"type": "function"}]'},
    )
    (line,) = again(source, tmp_path / "run")
    roles = [message["role"] for message in line["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    call = line["messages"][2]["tool_calls"][0]
    assert call["function"] == {"name": "add", "arguments": '{"a": 1, "b": 1}'}
    assert line["messages"][3]["tool_call_id"] == call["id"]
    assert line["tools"] == [{"type": "function"}]
    (rollout,) = rollouts(tmp_path / "run")
    assert tool_used("add")(rollout.task, rollout.response.trajectory) == 1.0


def test_what_came_after_the_last_reply_is_kept_as_observed(tmp_path):
    source = write(tmp_path / "m.jsonl", {"messages": [user("q"), says("a"), user("thanks")]})
    (line,) = again(source, tmp_path / "run")
    assert line["messages"] == [user("q"), says("a")]
    (rollout,) = rollouts(tmp_path / "run")
    assert rollout.response.trajectory.steps[-1]["observation"] == [user("thanks")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops", "not JSON"),
        ("[1]", "a line is an object"),
        (b"\xff{}", "1: not UTF-8"),
        ("{}", "no 'messages'"),
        ('{"messages": []}', "is empty"),
        ('{"messages": [{"content": "x"}]}', "message 0 has no role"),
        ('{"messages": [{"role": "user", "content": 3}]}', "no text"),
        ('{"messages": [{"role": "assistant", "tool_calls": [1]}]}', "tool_calls without"),
        ('{"conversations": [{"from": "alien", "value": "x"}]}', "'alien'"),
        ('{"conversations": [{"from": "function_call", "value": "x"}]}', "name and arguments"),
        ('{"messages": [{"role": "user"}], "status": "succes"}', "did you mean 'success'"),
        ('{"messages": [{"role": "user"}], "reward": "high"}', "'reward' must be"),
        ('{"messages": [{"role": "user"}], "reward": NaN}', "'reward' must be"),
        ('{"messages": [{"role": "user"}], "seconds": -1}', "'seconds' must be"),
        ('{"messages": [{"role": "user"}], "attempts": 0.5}', "'attempts' must be"),
        ('{"messages": [{"role": "user"}], "sample": -1}', "'sample' must be"),
        ('{"messages": [{"role": "user"}], "given": 2}', "'given' must"),
        ('{"messages": [{"role": "user"}], "task_id": "\\ud800"}', "no valid text"),
        ('{"messages": [{"role": "user"}], "task_id": []}', "'task_id' must be"),
        ('{"messages": [{"role": "user"}], "metadata": [1]}', "'metadata' must be"),
        ('{"messages": [{"role": "user"}], "tools": "x"}', "'tools' must be"),
        (
            '{"messages": [{"role": "user"}], "task_id": "first", "sample": 0}',
            "is there already, at line 1",
        ),
    ],
)
def test_a_line_that_is_wrong_is_named_before_anything_is_written(tmp_path, line, message):
    path = tmp_path / "m.jsonl"
    good = b'{"task_id": "first", "sample": 0, "messages": [{"role": "user"}]}\n\n'
    path.write_bytes(good + (line if isinstance(line, bytes) else line.encode()))
    with pytest.raises(ConfigError, match=rf"m\.jsonl:3:.*{message}"):
        import_messages(path, tmp_path / "run")
    assert os.listdir(tmp_path) == ["m.jsonl"]


def test_files_and_folders_that_do_not_fit_are_said(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        import_messages(tmp_path / "none.jsonl", tmp_path / "run")
    empty = write(tmp_path / "empty.jsonl")
    with pytest.raises(ConfigError, match="holds no conversation"):
        import_messages(empty, tmp_path / "run")
    source = write(tmp_path / "m.jsonl", {"messages": [user("q"), says("a")]})
    with pytest.raises(ConfigError, match="agent must be a name"):
        import_messages(source, tmp_path / "run", agent="")
    import_messages(source, tmp_path / "run")
    with pytest.raises(StoreError, match="holds a run already"):
        import_messages(source, tmp_path / "run")


def test_rewards_of_the_file_are_scores_whoever_gave_them(tmp_path):
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    path = write(tmp_path / "m.jsonl", {"messages": said, "reward": 0.5}, {"messages": said})
    for name, called in ((None, "imported"), ("judge", "judge")):
        folder = import_messages(path, tmp_path / called, reward=name).folder
        with open_run(folder) as run:
            assert run.scoring.name == called
            assert [row.reward for row in run.results()] == [0.5, None]
    bare = write(tmp_path / "bare.jsonl", {"messages": said})
    with open_run(import_messages(bare, tmp_path / "bare").folder) as run:
        assert run.scoring.name == ""
