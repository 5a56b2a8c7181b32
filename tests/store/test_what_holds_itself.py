"""An answer or an input that holds itself is recorded like any other, but for that part."""

from __future__ import annotations

from tampering import change

from aworld import RunConfig, Runners, Task, open_run
from aworld.store.repair import examine, repair


def holding_itself(value):
    answer = {"asked": value}
    answer["self"] = answer
    return answer


def test_an_answer_or_input_that_holds_itself_can_be_read_and_resumed(tmp_path):
    tasks = [Task(holding_itself(n), holding_itself, id=f"t{n}") for n in range(2)]
    Runners.sync_run_task(tasks, RunConfig(worker_num=1, run_dir=tmp_path / "run"))
    for _ in range(2):
        with open_run(tmp_path / "run") as run:
            found = {rollout.task.id: rollout.response.answer for rollout in run.rollouts()}
            asked = [task.input for _, task in run.tasks()]
            assert run.damage == []
        assert [found[f"t{n}"]["asked"]["asked"] for n in range(2)] == [0, 1]
        assert found["t1"]["self"] == "<dict that holds itself>"
        assert asked[1] == {"asked": 1, "self": "<dict that holds itself>"}
        change(tmp_path / "run", "update bodies set body = x'00' where slot = 1")
        repair(tmp_path / "run")
        assert len(Runners.resume(tmp_path / "run", tasks)) == 2
    assert examine(tmp_path / "run") == (2, [])
