"""`evaluate` and `compare_runs`, on real runs of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tampering import change

from aworld import ConfigError, EchoAgent, RunConfig, Task
from aworld.evaluation import Judged, assess, compare_runs, evaluate, judged_of, judged_of_run
from aworld.rewards import exact_match, failures_as, numeric_match, weighted
from aworld.store import open_run

HERE = RunConfig(worker_num=0)


async def answer(question):
    if question == "refuse":
        raise ValueError("no")
    return question


async def half(task, trajectory):
    return 0.5


async def touchy(task, trajectory):
    if trajectory.final_result == "b":
        raise RuntimeError("the reward broke")
    return 1.0


def must_not_run(question):
    raise AssertionError("something was spent")


def questions(**metadata) -> list[Task]:
    return [
        Task("a", id="right", ground_truth="a", metadata={"level": 1, **metadata}),
        Task("b", id="wrong", ground_truth="a", metadata={"level": 2}),
        Task("refuse", id="failed", ground_truth="a", metadata={"level": 2}),
    ]


# -- evaluate ------------------------------------------------------------------------------------


def test_an_agent_is_evaluated_on_the_local_engine():
    tasks = questions(tags="easy, short")
    conf = RunConfig(worker_num=1)
    found = evaluate(tasks, answer, "exact_match", samples=4, run_conf=conf)
    assert (found.tasks, found.samples, found.failures, found.unscored) == (3, 12, 4, 0)
    assert found.reward is not None
    assert found.reward.mean == pytest.approx(1 / 3)
    assert {k: one.mean for k, one in found.pass_at.items()} == pytest.approx(
        {1: 1 / 3, 2: 1 / 3, 4: 1 / 3}
    )
    assert found.statuses == {"success": 8, "failed": 4}
    assert list(found.by_tag) == ["easy", "short"]
    assert {level: figures.pass_at[4].mean for level, figures in found.by_level.items()} == {
        "1": 1.0,
        "2": 0.0,
    }
    assert sorted(found.responses) == sorted(
        f"{task.id}#{sample}" for task in tasks for sample in range(4)
    )
    assert assess(judged_of(found.responses, tasks)) == found
    assert all(task.agent is None for task in tasks)


def test_the_config_can_say_it_all_and_arguments_go_before_it():
    conf = RunConfig(worker_num=0, samples=2, reward="exact_match")
    assert evaluate(questions(), answer, run_conf=conf).samples == 6
    other = evaluate(questions(), answer, half, samples=1, run_conf=conf, passes_at=0.5)
    assert other.samples == 3
    assert other.pass_at[1].mean == 1.0


def test_tasks_keep_their_own_agents_unless_one_is_given():
    tasks = [Task(1, EchoAgent(), id="mine", ground_truth=1)]
    assert evaluate(tasks, None, exact_match, run_conf=HERE).pass_at[1].mean == 1.0
    assert evaluate(tasks[0], lambda _: 2, exact_match, run_conf=HERE).pass_at[1].mean == 0.0


def test_a_file_of_tasks_will_do(tmp_path: Path):
    file = tmp_path / "tasks.jsonl"
    rows = [{"question": "a", "answer": "a", "level": 1}, {"question": "b", "answer": "c"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source in (file, str(file)):
        found = evaluate(source, answer, "exact_match", run_conf=HERE)
        assert found.pass_at[1].mean == 0.5
        assert list(found.by_level) == ["1"]


def test_a_reward_that_raises_leaves_its_sample_out():
    found = evaluate(questions()[:2], answer, touchy, run_conf=HERE)
    assert (found.unscored, found.failures) == (1, 0)
    assert found.reward is not None
    assert (found.reward.mean, found.reward.count) == (1.0, 1)


def test_a_recorded_run_has_the_figures_of_the_one_that_was_seen(tmp_path: Path):
    conf = RunConfig(worker_num=0, run_dir=tmp_path / "run")
    seen = evaluate(questions(tags=["x"]), answer, "exact_match", samples=2, run_conf=conf)
    with open_run(tmp_path / "run") as run:
        assert assess(judged_of_run(run)) == seen


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((questions(), must_not_run), {}, "evaluate needs a reward"),
        ((questions(), must_not_run, 7), {}, "reward must be a function or a name"),
        ((questions(), must_not_run, "exact"), {}, "did you mean 'exact_match'"),
        ((questions(), must_not_run, half), {"samples": 0}, "samples must be"),
        ((questions(), must_not_run, half), {"samples": 2, "ks": [1, 3]}, "set samples=3"),
        ((questions(), must_not_run, half), {"passes_at": "1"}, "passes_at"),
        ((questions(), must_not_run, half), {"confidence": 95}, "confidence"),
        ((questions(), must_not_run, half), {"run_conf": {}}, "run_conf must be a RunConfig"),
        ((questions(), None, half), {}, "agent"),
        (([], must_not_run, half), {}, "there are no tasks"),
        ((["a"], must_not_run, half), {}, r"tasks\[0\] is a str"),
        ((7, must_not_run, half), {}, "tasks must be"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_anything_is_spent(arguments, options, said):
    with pytest.raises(ConfigError, match=said):
        evaluate(*arguments, **{"run_conf": HERE, **options})


@pytest.mark.parametrize(
    "reward",
    [
        "exact_match",
        numeric_match(any_of=True),
        failures_as(0, exact_match),
        weighted(right=exact_match, brief=half),
        weighted(right=exact_match, near=numeric_match, on_missing="skip"),
    ],
)
def test_a_reward_that_needs_ground_truth_is_refused_where_no_task_has_any(reward):
    with pytest.raises(ConfigError, match="no task has one: set Task"):
        evaluate([Task("a"), Task("b")], must_not_run, reward, run_conf=HERE)


def test_a_reward_that_can_do_without_ground_truth_is_not_refused():
    reward = weighted(right=exact_match, brief=half, on_missing="skip")
    found = evaluate([Task("a")], answer, reward, run_conf=HERE, passes_at=0.5)
    assert found.pass_at[1].mean == 1.0


# -- recorded runs -------------------------------------------------------------------------------


def recorded(folder: Path, tasks: list[Task], reward="exact_match", samples=1) -> Path:
    conf = RunConfig(worker_num=0, run_dir=folder)
    evaluate(tasks, answer, reward, samples=samples, run_conf=conf)
    return folder


def test_figures_of_a_recorded_run_need_no_trajectory(tmp_path: Path):
    folder = recorded(tmp_path / "run", questions())
    change(folder, "update bodies set body = x'00'")
    with open_run(folder) as run:
        assert sorted(judged_of_run(run)) == [
            Judged("failed", 0, None, "failed", (), "2"),
            Judged("right", 0, 1.0, "success", (), "1"),
            Judged("wrong", 0, 0.0, "success", (), "2"),
        ]
        assert not run.damage


def test_a_result_counts_even_if_its_task_is_damaged(tmp_path: Path):
    folder = recorded(tmp_path / "run", questions())
    change(folder, "update tasks set body = x'00' where id = 'right'")
    with open_run(folder) as run:
        judged = {row.task_id: row for row in judged_of_run(run)}
        assert judged["right"] == Judged("right", 0, 1.0, "success")
        assert [damage.slot for damage in run.damage] == [0]


def test_a_run_that_nothing_has_scored_has_no_figures(tmp_path: Path):
    from aworld import Runners

    tasks = [Task("refuse", answer, id="a")]
    Runners.sync_run_task(tasks, RunConfig(worker_num=0, run_dir=tmp_path / "run"))
    with open_run(tmp_path / "run") as run, pytest.raises(ConfigError, match="`aworld rescore`"):
        list(judged_of_run(run))


def test_two_runs_are_compared_task_by_task(tmp_path: Path):
    first = [Task(said, id=str(n), ground_truth="a") for n, said in enumerate("aabbb")]
    second = [Task(task.input, id=task.id, ground_truth="a") for task in first]
    folders = recorded(tmp_path / "one", first), recorded(tmp_path / "two", second, half)
    with open_run(folders[0]) as one, open_run(folders[1]) as two:
        found = compare_runs(one, two)
        back = compare_runs(two, one)
    assert found.names == ("one", "two")
    assert (found.scores.better, found.scores.worse, found.scores.same) == (3, 2, 0)
    assert found.means == (0.4, 0.5)
    assert found.scores.difference.mean == pytest.approx(0.1)
    assert back.scores.difference.mean == pytest.approx(-0.1)
    assert {change.task_id: change.difference for change in found.changes} == {
        "0": -0.5,
        "1": -0.5,
        "2": 0.5,
        "3": 0.5,
        "4": 0.5,
    }
    shown = str(found)
    assert "3 better, 2 worse, 0 the same: it may be chance" in shown
    assert "rewards of different names, exact_match and half" in shown
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_no_task_is_better_only_because_it_was_run_more_often(tmp_path: Path):
    def tenth(task, trajectory):
        return 0.1

    tasks = [Task("a", id="x"), Task("b", id="y")]
    folders = recorded(tmp_path / "one", tasks, tenth), recorded(tmp_path / "two", tasks, tenth, 3)
    with open_run(folders[0]) as one, open_run(folders[1]) as two:
        assert compare_runs(one, two).scores.same == 2


def test_a_task_that_has_changed_is_named_and_left_out(tmp_path: Path):
    first = [
        Task("a", id=name, ground_truth="a") for name in ("kept", "changed", "dropped", "kept too")
    ]
    second = [
        Task("a", id="kept", ground_truth="a"),
        Task("a", id="changed", ground_truth="another"),
        Task("a", id="new", ground_truth="a"),
        Task("a", id="kept too", ground_truth="a"),
    ]
    folders = recorded(tmp_path / "one", first), recorded(tmp_path / "two", second, samples=3)
    with open_run(folders[0]) as one, open_run(folders[1]) as two:
        found = compare_runs(one, two)
    assert found.changed == ("changed",)
    assert (found.scores.only_first, found.scores.only_second) == (("dropped",), ("new",))
    assert found.scores.difference.count == found.scores.same == 2
    shown = str(found)
    assert "1 not the same task in both, left out: changed" in shown
    assert "1 only in the first: dropped" in shown
    assert "no difference" in shown


def test_a_clear_difference_is_called_one_and_the_largest_changes_are_shown(tmp_path: Path):
    def graded(task, trajectory):
        return 1 + int(task.id) / 100

    tasks = [Task("b", id=str(n), ground_truth="a") for n in range(30)]
    folders = recorded(tmp_path / "one", tasks), recorded(tmp_path / "two", tasks, graded)
    with open_run(folders[0]) as one, open_run(folders[1]) as two:
        found = compare_runs(one, two)
        back = compare_runs(two, one)
    assert [change.task_id for change in found.changes[:3]] == ["29", "28", "27"]
    assert "the second is better" in str(found)
    assert "the first is better" in str(back)
    assert "the largest of 30 changes" in str(found)
    assert "+1.290" in str(found)
    assert "+1.100" not in str(found)


def test_runs_that_share_no_task_are_refused_and_told_why(tmp_path: Path):
    folders = [
        recorded(tmp_path / name, [Task(name, id=task, ground_truth="a")])
        for name, task in (("one", "x"), ("two", "x"), ("three", "y"))
    ]
    with open_run(folders[0]) as one, open_run(folders[1]) as two, open_run(folders[2]) as three:
        with pytest.raises(ConfigError, match="all tasks that the two runs share have changed"):
            compare_runs(one, two)
        with pytest.raises(ConfigError, match="no scored task in common"):
            compare_runs(one, three)
        with pytest.raises(ConfigError, match="confidence"):
            compare_runs(one, one, confidence=2)
        alone = compare_runs(one, one)
    assert alone.scores.same == 1


def test_many_tasks_are_compared_by_the_same_rules(tmp_path: Path, monkeypatch):
    tasks = [Task("ab"[n % 2], id=str(n), ground_truth="a") for n in range(40)]
    folders = recorded(tmp_path / "one", tasks), recorded(tmp_path / "two", tasks, half)
    with open_run(folders[0]) as one, open_run(folders[1]) as two:
        slow = compare_runs(one, two)
        monkeypatch.setattr("aworld.statistics.MOST_RESAMPLED", 10)
        quick = compare_runs(one, two)
    assert quick.changes == slow.changes
    assert quick.scores.better == slow.scores.better
    assert quick.scores.difference.mean == pytest.approx(slow.scores.difference.mean)
    assert quick.scores.difference.low == pytest.approx(slow.scores.difference.low, abs=0.05)
    assert quick.scores.difference.high == pytest.approx(slow.scores.difference.high, abs=0.05)
