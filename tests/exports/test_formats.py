"""Each format says what its readers want to know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded import response, says, step, user, write_run

from aworld.core.task import Task
from aworld.exports import export
from aworld.store.reader import open_run


@pytest.fixture
def written(run, tmp_path, load):
    """What a format holds, by the `datasets` library, and what it left out."""

    def write(to, name=None, **options):
        chosen = None if name is None else tmp_path / name
        path = chosen or tmp_path / f"{to}.{'jsonl' if to in ('messages', 'openai') else 'parquet'}"
        exported = export(run, to, path, overwrite=True, **options)
        return list(load(exported.path)), exported.left_out

    return write


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


EARLIER = (
    "earlier conversations of the same agent: its context was rewritten, or it was called again"
)


def test_messages_hold_every_rollout(run, tmp_path):
    exported = export(run, "messages", tmp_path / "m.jsonl")
    found = {(line["task_id"], line["sample"]): line for line in lines(exported.path)}
    assert exported.rows == len(found) == 18
    assert exported.left_out == {EARLIER: 4}
    first = found["sum", 0]
    roles = [message["role"] for message in first["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    assert first["messages"][2]["tool_calls"][0]["function"]["name"] == "add"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["add", "shout"]
    told = {key: first[key] for key in ("status", "reward", "answer", "ground_truth", "given")}
    assert told == {
        "status": "success",
        "reward": 1.0,
        "answer": "3",
        "ground_truth": 3,
        "given": 2,
    }
    assert first["metadata"] == {"level": 1, "tags": ["easy"]}
    assert first["usage"] == {"model_calls": 2, "cost": 0.25}


def test_a_rollout_without_a_model_call_is_what_was_asked_and_answered(run, tmp_path):
    path = export(run, "messages", tmp_path / "m.jsonl").path
    found = {(line["task_id"], line["sample"]): line for line in lines(path)}
    assert found["function", 1]["messages"] == [user('{"n": 2}'), says('{"n": 5}')]
    failed = found["sum", 3]
    assert failed["messages"] == [user("What is 1 + 2?")]
    assert failed["status"] == "failed"
    assert failed["reward"] is None
    assert failed["error"] == {"kind": "ModelError", "message": "no answer"}


def test_the_main_agent_speaks_unless_another_is_asked_for(run, tmp_path):
    path = export(run, "messages", tmp_path / "m.jsonl", where="task = 'team'").path
    line = lines(path)[0]
    assert (line["agent"], line["messages"][-1]["content"]) == ("lead", "ONE! and TWO!")
    helper = export(run, "messages", tmp_path / "h.jsonl", agent="lead/helper")
    assert {line["agent"] for line in lines(helper.path)} == {"lead/helper"}
    assert helper.rows == 4
    assert helper.left_out == {
        EARLIER: 4,
        "rollouts in which that agent made no model call": 14,
    }


def test_later_scores_are_told_with_their_reasons(tmp_path):
    from aworld.rewards.base import Scored
    from aworld.store.scores import add_scoring
    from aworld.store.writer import RunWriter

    write_run(tmp_path / "run", (Task("q", id="t"), [response("a", reward=0.0)])).close()
    writer = RunWriter.open(tmp_path / "run")
    try:
        with writer._transaction() as connection:
            scored = Scored(0.5, {"style": 0.5}, None, "not bad")
            add_scoring(connection, "judge", "", [(0, scored)])
    finally:
        writer.close()
    with open_run(tmp_path / "run") as run:
        (line,) = lines(export(run, "messages").path)
    assert line["reward"] == 0.5
    assert line["scores"] == {"judge": {"value": 0.5, "parts": {"style": 0.5}, "reason": "not bad"}}


def test_the_table_of_rollouts_has_the_same_types_whatever_is_in_it(run, written, tmp_path):
    import pyarrow.parquet as pq

    rows, _ = written("parquet")
    assert len(rows) == 18
    first = rows[0]
    assert (first["answer"], first["ground_truth"], first["reward"]) == ("3", "3", 1.0)
    assert json.loads(first["messages"])[1] == user("What is 1 + 2?")
    assert json.loads(first["metadata"]) == {"level": 1, "tags": ["easy"]}
    assert (first["model_calls"], first["cost"], rows[1]["cost"]) == (2, 0.25, 0.0)
    assert rows[3]["error"] == "ModelError: no answer"
    whole = pq.read_schema(tmp_path / "parquet.parquet")
    nothing = export(run, "parquet", tmp_path / "none.parquet", where="status = 'crashed'")
    assert nothing.rows == 0
    assert pq.read_schema(nothing.path) == whole


def test_openai_gets_nothing_that_it_refuses(run, tmp_path):
    exported = export(run, "openai", tmp_path / "o.jsonl", where="task in ('sum', 'team')")
    assert exported.left_out == {"rollouts without a model call": 1}
    for line in lines(exported.path):
        assert line.keys() <= {"messages", "tools"}
        assert line["messages"][-1]["role"] == "assistant"
        open_calls: set[str] = set()
        for message in line["messages"]:
            assert message.keys() <= {"role", "content", "tool_calls", "tool_call_id"}
            if message["role"] == "tool":
                open_calls.remove(message["tool_call_id"])
            else:
                assert not open_calls
            for call in message.get("tool_calls", ()):
                assert call.keys() == {"id", "type", "function"}
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
                open_calls.add(call["id"])


def test_openai_does_not_learn_the_examples_of_the_prompt(tmp_path):
    prompt = [user("1 + 1?"), says("2"), user("1 + 2?")]
    reply = says("3", refusal=None, annotations=[], reasoning_content="hm")
    with write_run(tmp_path / "run", (Task("q"), [response("3", [step(prompt, reply)])])) as run:
        (line,) = lines(export(run, "openai").path)
    assert line == {"messages": [prompt[0], says("2", weight=0), prompt[2], says("3")]}


def test_verl_gets_one_row_per_task(written):
    import datasets

    rows, left_out = written("verl", data_source="sums", split="test")
    assert left_out == {"tasks without a ground truth": 1}
    assert [row["extra_info"]["task_id"] for row in rows] == ["sum", "team", "tokens", "rewritten"]
    assert [row["extra_info"]["index"] for row in rows] == [0, 1, 2, 3]
    assert rows[0] == {
        "data_source": "sums",
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 1 + 2?"},
        ],
        "ability": "agent",
        "reward_model": {"style": "rule", "ground_truth": "3"},
        "extra_info": {
            "split": "test",
            "index": 0,
            "task_id": "sum",
            "metadata": '{"level":1,"tags":["easy"]}',
        },
    }
    assert rows[3]["data_source"] == "tales"
    assert rows[3]["reward_model"]["ground_truth"] == "[1]"
    assert rows[3]["prompt"] == [user("long story")]
    assert datasets.Dataset.from_list(rows).features["prompt"] is not None


def test_verl_leaves_out_prompts_that_are_not_text_alone(tmp_path):
    picture = [{"role": "user", "content": [{"type": "image_url"}]}]
    group = (Task(picture, ground_truth="a cat"), [response("a cat")])
    with write_run(tmp_path / "run", group) as run:
        exported = export(run, "verl")
    assert exported.rows == 0
    assert list(exported.left_out.values()) == [1]


def test_tokens_are_those_that_were_sampled(written):
    rows, left_out = written("tokens")
    assert left_out == {
        "rollouts without token ids: have the model's server return them": 9,
        "rollouts without a model call": 6,
    }
    shown = [
        (row["sample"], row["prompt_ids"], row["completion_ids"], row["loss_mask"]) for row in rows
    ]
    assert shown == [
        (0, [1, 2], [3, 4, 5, 6], [1, 1, 0, 1]),
        (1, [1, 2], [3, 4], [1, 1]),
        (1, [1, 2, 9], [6], [1]),
        (2, [1, 2], [7], [1]),
    ]
    assert rows[0]["logprobs"] == [-3.0, -4.0, 0.0, -6.0]
    assert [(row["sequence"], row["sequences"]) for row in rows] == [(0, 1), (0, 2), (1, 2), (0, 1)]
    assert [row["reward"] for row in rows] == [0.75, 0.25, 0.25, None]
    assert rows == written("tokens", "t.jsonl")[0]


def test_a_rollout_under_two_policies_is_dated_by_the_older_one(tmp_path):
    steps = [
        step([user("?")], says("!"), prompt_ids=[1], completion_ids=[2], policy_version="7"),
        step([user("?")], says("!"), prompt_ids=[1, 2], completion_ids=[3], policy_version="8"),
        step([user("?")], says("!")),
    ]
    with write_run(tmp_path / "run", (Task("q"), [response("a", steps, reward=1.0)])) as run:
        exported = export(run, "tokens", tmp_path / "t.jsonl")
    (line,) = lines(exported.path)
    assert line["policy_version"] == "7"
    assert [turn["policy_version"] for turn in line["turns"]] == ["7", "8"]
    assert exported.left_out == {
        "model calls with no token ids: the model's server does not give them": 1
    }
