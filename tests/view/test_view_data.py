"""What the server answers: figures, pages of tasks, conversations, curves, comparisons."""

from __future__ import annotations

import json
import math
import struct

import pytest
import scenes
import talks
from tampering import change

from aworld import RunConfig, Runners, Task, open_run
from aworld.store.overview import overview
from aworld.view.bundling import STATIC, bundled
from aworld.view.exporting import export_view

STATUSES = ("success", "failed", "truncated", "timeout", "crashed", "cancelled", "skipped")


def tasks(client, **asked):
    found = client.get("/api/tasks", params={"run": "some", **asked})
    assert found.status_code == 200, found.text
    return found.json()


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    folder = tmp_path_factory.mktemp("some")
    scenes.many_tasks(folder / "some", 1_000)
    return folder


@pytest.fixture
def known(client, some):
    return client(some)


def test_runs_are_listed_with_their_figures(client, talked):
    found = client(talked).get("/api/runs").json()
    (run,) = found["runs"]
    with open_run(talked / "words") as opened:
        expected = overview(opened)
    assert (run["done"], run["total"], run["counts"]) == (24, 24, expected.counts)
    assert (run["reward"], run["tokens"]) == (expected.reward, expected.tokens)
    assert (run["engine"], run["status"], run["training"]) == ("local", "complete", True)
    assert len(run["spark"]) == 24
    assert found["root"] == str(talked)


def test_runs_are_found_in_folders_of_folders_and_a_run_is_one_itself(client, tmp_path):
    for name in ("one", "deep/er/two", "one/evaluations/step-10"):
        scenes.many_tasks(tmp_path / name, 3)
    names = [run["id"] for run in client(tmp_path).get("/api/runs").json()["runs"]]
    assert sorted(names) == ["deep/er/two", "one", "one/evaluations/step-10"]
    beside = client(tmp_path / "one").get("/api/runs").json()
    assert "one/evaluations/step-10" in [run["id"] for run in beside["runs"]]


def test_pages_of_tasks_hold_each_result_once(known):
    seen = []
    for offset in range(0, 1_000, 400):
        page = tasks(known, offset=offset, limit=400)
        assert page["count"] == 1_000
        seen += [row["slot"] for row in page["rows"]]
    assert seen == list(range(1_000))


def test_filters_choose_what_the_store_would(known, some):
    with open_run(some / "some") as run:
        rows = run.results()
    for status in ("success", "failed", "timeout"):
        expected = [row.slot for row in rows if row.status == status]
        found = tasks(known, status=status, limit=500)
        assert found["count"] == len(expected)
        assert [row["slot"] for row in found["rows"]] == expected[:500]
    low = [row for row in rows if row.reward is not None and row.reward <= 0.5]
    assert tasks(known, max_reward="0.5")["count"] == len(low)
    assert tasks(known, min_reward="0", max_reward="0.5")["count"] == len(low)
    workers = [tasks(known, worker=worker)["count"] for worker in range(4)]
    assert sum(workers) == 1_000
    assert all(workers)
    failed = sum(row.status == "failed" for row in rows)
    assert tasks(known, failure="ValueError")["count"] == failed
    assert tasks(known, failure="ValueError", status="success")["count"] == 0


def test_tags_and_levels_choose(known):
    assert tasks(known, tag="hard")["count"] == 334
    assert tasks(known, tag="arithmetic")["count"] == 666
    assert tasks(known, tag="2")["count"] == 333
    assert tasks(known, tag="har")["count"] == 0
    labels = known.get("/api/labels", params={"run": "some"}).json()
    assert labels == {"tags": ["arithmetic", "easy", "hard"], "levels": ["0", "1", "2"]}


def test_words_are_found_in_ids_tasks_and_answers(known):
    assert tasks(known, text="q77")["count"] == 11
    assert tasks(known, text="QUESTION 500:")["count"] == 1
    assert tasks(known, text="no such words")["count"] == 0
    assert tasks(known, text="it did not work out", status="failed")["count"] > 0


ODD = [
    'say "no"',
    "100%",
    "a_b",
    "Größe",
    "日本",
    "back\\slash",
    "line\nend",
    "'; drop table tasks",
]


@pytest.mark.parametrize("text", ODD)
def test_odd_words_are_found_as_they_are(client, tmp_path, text):
    scenes.odd_texts(tmp_path / "some", [text, "axb 1000", "say no"])
    found = tasks(client(tmp_path), text=text)
    assert [row["slot"] for row in found["rows"]] == [0]


def test_orders_are_kept(known):
    seconds = [row["seconds"] for row in tasks(known, sort="-seconds", limit=500)["rows"]]
    assert seconds == sorted(seconds, reverse=True)
    rewards = [row["reward"] for row in tasks(known, sort="reward", limit=500)["rows"]]
    assert rewards == sorted(rewards, key=lambda reward: (reward is None, reward))


@pytest.mark.parametrize(
    "asked",
    [
        {"status": "happy"},
        {"sort": "slot; drop table tasks"},
        {"min_reward": "much"},
        {"offset": "-1"},
        {"limit": "x"},
        {"worker": "1 or 1"},
    ],
)
def test_what_cannot_be_asked_is_said_in_words(known, asked):
    found = known.get("/api/tasks", params={"run": "some", **asked})
    assert found.status_code == 422
    assert found.json()["error"]


def test_bars_say_where_and_when_each_result_was_made(known, some):
    body = known.get("/api/bars", params={"run": "some"}).content
    base, until, count, samples = struct.unpack_from("<ddII", body)
    assert (count, samples, len(body)) == (1_000, 1, 24 + 25 * 1_000)
    began = struct.unpack_from("<1000d", body, 24)
    slots = struct.unpack_from("<1000I", body, 24 + 8_000)
    workers = struct.unpack_from("<1000i", body, 24 + 12_000)
    rewards = struct.unpack_from("<1000f", body, 24 + 20_000)
    statuses = body[24 + 24_000 :]
    assert sorted(slots) == list(range(1_000))
    assert set(workers) == {0, 1, 2, 3}
    assert min(began) == 0.0
    with open_run(some / "some") as run:
        rows = {row.slot: row for row in run.results()}
        (first,) = run.connection.execute("select min(began) from circumstances").fetchone()
    assert base == pytest.approx(first)
    assert until == max(row.ended for row in rows.values())
    for slot, reward, status in zip(slots, rewards, statuses, strict=True):
        assert STATUSES[status] == rows[slot].status
        known_reward = rows[slot].reward
        assert math.isnan(reward) if known_reward is None else reward == known_reward
    later = known.get("/api/bars", params={"run": "some", "since": until}).content
    assert struct.unpack_from("<ddII", later)[2] == 0


def test_a_conversation_is_told_as_it_was(client, talked):
    asked = {"run": "words", "task": "word-2", "sample": "1"}
    found = client(talked).get("/api/rollout", params=asked).json()
    kinds = [(turn["kind"], turn["agent"]) for turn in found["turns"]]
    assert kinds == [
        (kind, "solver") for kind in ("system", "user", "assistant", "tool", "assistant")
    ]
    call = found["turns"][2]["calls"][0]
    assert (call["name"], call["arguments"]) == ("calculator", {"expression": "210 + 13"})
    assert found["turns"][3]["tool"] == "calculator"
    tokens = found["turns"][4]["tokens"]
    assert "".join(tokens["texts"]) == found["turns"][4]["text"]
    assert len(tokens["logprobs"]) == len(tokens["texts"])
    assert tokens["trainable"]
    assert found["scores"][0]["parts"] == {"right": found["reward"], "short": 0.9}
    assert (found["previous"], found["next"]) == (4, 6)
    assert found["verdict"]["step"] == 4
    assert found["ground_truth"] == "223"


def test_a_damaged_line_hides_no_other_verdict(client, tmp_path):
    verdicts = talks.conversations(tmp_path / "words") / "verdicts.jsonl"
    first, second, *others = verdicts.read_text().splitlines(keepends=True)
    verdicts.write_text("".join([first, second[:20] + "\n", "[]\n", *others]))
    known = client(tmp_path)
    asked = {"run": "words", "task": "word-1"}
    told = [
        known.get("/api/rollout", params={**asked, "sample": str(sample)}).json()["verdict"]
        for sample in range(3)
    ]
    assert [one and one["sample"] for one in told] == [0, None, 2]


def test_a_task_tells_the_command_that_runs_it_again(client, talked):
    asked = {"run": "words", "task": "word-2"}
    command = client(talked).get("/api/rollout", params=asked).json()["command"]
    config = talked / "words" / "config.toml"
    assert command == f"aworld run --config {config} --only word-2 --samples 1"


def test_copies_are_what_was_recorded(client, talked):
    asked = {"run": "words", "task": "word-2", "sample": "1"}
    known = client(talked)
    with open_run(talked / "words") as run:
        rollout = run.rollout("word-2", 1)
    data = known.get("/api/copy", params={**asked, "as": "json"}).json()
    assert data["trajectory"]["steps"] == json.loads(json.dumps(rollout.trajectory.steps))
    (talk,) = known.get("/api/copy", params={**asked, "as": "messages"}).json()
    roles = [message["role"] for message in talk["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]


def test_samples_of_a_group_stand_side_by_side(client, talked):
    found = client(talked).get("/api/group", params={"run": "words", "task": "word-6"}).json()
    assert [one["sample"] for one in found["samples"]] == [0, 1, 2, 3]
    assert [one["status"] for one in found["samples"]] == [
        "success",
        "success",
        "failed",
        "success",
    ]


def test_curves_have_a_value_or_none_for_each_step(client, talked):
    found = client(talked).get("/api/curves", params={"run": "words"}).json()["words"]
    assert found["steps"] == list(range(61))
    assert found["columns"]["reward"][0] is None
    assert sum(value is not None for value in found["columns"]["pass@1"]) == 7
    assert {len(column) for column in found["columns"].values()} == {61}


def test_a_line_that_is_being_written_or_damaged_is_left_out(client, tmp_path):
    scenes.many_tasks(tmp_path / "some", 3)
    lines = '{"step": 1, "reward": 0.5}\nnonsense\n{"step": 2, "reward": NaN}\n[1]\n{"step": 3, "re'
    (tmp_path / "some" / "metrics.jsonl").write_text(lines)
    found = client(tmp_path).get("/api/curves", params={"run": "some"}).json()["some"]
    assert (found["steps"], found["columns"]) == ([1, 2], {"reward": [0.5, None]})


def test_two_runs_are_compared_task_by_task(client, tmp_path):
    scenes.many_tasks(tmp_path / "a", 200, seed=1)
    scenes.many_tasks(tmp_path / "b", 200, seed=2)
    known = client(tmp_path)
    found = known.get("/api/compare", params={"first": "a", "second": "b"}).json()
    assert found["better"] + found["worse"] == len(found["changes"]) > 0
    assert found["better"] + found["worse"] + found["same"] == 200
    alone = known.get("/api/compare", params={"first": "a", "second": "a"}).json()
    assert (alone["better"], alone["worse"]) == (0, 0)


def test_a_reward_that_is_no_number_does_not_break_the_page(client, tmp_path):
    async def answer(question):
        return question

    def odd(task, trajectory):
        return {"reward": 1.0, "part": math.inf}

    conf = RunConfig(worker_num=0, reward=odd, run_dir=tmp_path / "some")
    Runners.sync_run_task([Task(math.nan, answer, id="t")], conf)
    known = client(tmp_path)
    for place in ("runs", "run", "tasks", "rollout", "copy"):
        found = known.get(f"/api/{place}", params={"run": "some", "slot": "0"})
        assert found.status_code == 200
        json.loads(found.text, parse_constant=pytest.fail)


def test_a_run_of_the_first_form_is_shown_without_workers(client, tmp_path):
    scenes.many_tasks(tmp_path / "some", 50)
    change(tmp_path / "some", "drop table circumstances")
    known = client(tmp_path)
    assert known.get("/api/run", params={"run": "some"}).json()["done"] == 50
    assert tasks(known)["rows"][0]["worker"] is None
    body = known.get("/api/bars", params={"run": "some"}).content
    assert set(struct.unpack_from("<50i", body, 24 + 600)) == {-1}


def test_a_run_with_unreadable_settings_still_shows_its_page(client, tmp_path):
    scenes.many_tasks(tmp_path / "some", 50)
    (tmp_path / "some" / "config.toml").write_text("[run\nno settings at all")
    known = client(tmp_path)
    found = known.get("/api/run", params={"run": "some"})
    assert found.status_code == 200, found.text
    assert found.json()["done"] == 50
    for place in ("runs", "tasks", "rollout", "bars", "now"):
        assert known.get(f"/api/{place}", params={"run": "some", "slot": "1"}).status_code == 200


def test_an_export_is_one_file_that_asks_nobody(tmp_path):
    talks.conversations(tmp_path / "words")
    held, of = export_view(tmp_path / "words", tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert (held, of) == (24, 24)
    assert "src=" not in text.partition("<body>")[0]
    assert "default-src 'none'" in text.replace("&#x27;", "'")
    assert str(tmp_path) not in text
    few, of = export_view(tmp_path / "words", tmp_path / "few.html", most_bytes=20_000)
    assert 0 < few < of == 24


def test_every_module_is_in_the_bundle():
    script = bundled()
    names = {path.name for path in STATIC.glob("*.js")} - {"theme.js", "uplot.js"}
    assert {name for name in names if f'modules["{name}"] = ' in script} == names
