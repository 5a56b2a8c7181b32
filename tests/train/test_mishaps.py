"""A training that something has spoiled can be gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from schooling import Answering, Told, go, low_bytes

from aworld import RunConfig, open_run
from aworld.errors import ConfigError, StoreError, TrainingError
from aworld.train.checkpoints import checkpoints, last_sound
from aworld.train.journal import read_journal

STEPS = {"steps": 4, "checkpoint_every": 2, "keep_checkpoints": 2}


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:10])


def test_a_step_in_which_every_agent_failed_is_run_again(tmp_path):
    down = tmp_path / "down"

    class Shaky(Answering):
        async def async_policy(self, observation, info=None, **more):
            if down.exists():
                raise ConnectionError("the database is away")
            return await super().async_policy(observation, info, **more)

    def stop(step, figures):
        if step == 2:
            down.touch()

    run = tmp_path / "run"
    with pytest.raises(TrainingError, match=r"none of the 16 rollouts .*the database is away"):
        go(run, agent=Shaky, trackers=[Told(stop)], **STEPS)
    down.unlink()
    result = go(run, agent=Shaky, resume=True, **STEPS)
    assert result.steps == 4
    with open_run(run) as opened:
        assert opened.counts() == {"success": 4 * 4 * 4}


def test_weights_that_a_step_has_spoiled_do_not_replace_the_good_ones(tmp_path):
    with pytest.raises(TrainingError, match="not finite 5 times in a row") as error:
        go(tmp_path, steps=9, checkpoint_every=1, keep_checkpoints=2, learning_rate=1e30)
    good = checkpoints(tmp_path)[-1]
    assert str(good) in str(error.value)
    assert good.name == "step-000000"
    result = go(tmp_path, steps=3, learning_rate=1e-4, resume=True)
    assert result.steps == 3
    assert all(torch.isfinite(weight).all() for weight in result.policy.parameters())


def test_harm_to_any_file_of_a_checkpoint_is_noticed(tmp_path):
    go(tmp_path, steps=2, checkpoint_every=2)
    first, last = checkpoints(tmp_path)
    assert last_sound(tmp_path) == (last, [])
    files = [path for path in last.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        whole = path.read_bytes()
        for harm in (flip, cut, Path.unlink):
            harm(path)
            assert last_sound(tmp_path) == (first, [last]), path
            path.write_bytes(whole)


def test_a_damaged_checkpoint_is_put_aside_for_the_one_before_it(tmp_path, caplog):
    go(tmp_path, **STEPS)
    last = checkpoints(tmp_path)[-1]
    flip(last / "trainer.pt")
    told = Told()
    result = go(tmp_path, trackers=[told], resume=True, **(STEPS | {"steps": 5}))
    assert result.steps == 5
    assert [step for step, figures in told.lines if "loss" in figures] == [3, 4, 5]
    assert "step-000004 is damaged" in caplog.text
    assert (last.parent / "damaged-step-000004").is_dir()
    lines = [line["step"] for line in read_journal(tmp_path / "metrics.jsonl") if "loss" in line]
    assert lines == [1, 2, 3, 4, 5]


def test_where_no_checkpoint_is_sound_that_is_said(tmp_path):
    go(tmp_path, **STEPS)
    for place in checkpoints(tmp_path):
        cut(place / "trainer.pt")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"no checkpoint in .* is sound: start anew"):
            go(tmp_path, resume=True, **STEPS)


def test_a_disk_that_is_full_ends_it_in_a_line_and_it_goes_on_later(tmp_path, monkeypatch):
    whole = torch.save

    def save(what, path):
        if what["trainer"]["steps"] == 2:
            raise RuntimeError("[enforce fail at inline_container.cc] . unexpected pos 64 vs 0")
        whole(what, path)

    monkeypatch.setattr(torch, "save", save)
    with pytest.raises(TrainingError, match=r"a checkpoint cannot be written: .*unexpected pos"):
        go(tmp_path, steps=3, checkpoint_every=1)
    monkeypatch.undo()
    assert go(tmp_path, steps=3, checkpoint_every=1, resume=True).steps == 3


def test_a_training_that_has_learned_all_there_is_ends_well(tmp_path, caplog):
    result = go(tmp_path, lambda task, trajectory: 1.0, steps=9, patience=3)
    assert result.steps == 3
    assert result.checkpoint.name == "step-000003"
    assert "every task was solved 3 steps in a row" in caplog.text


def test_a_last_step_that_was_solved_is_not_all_there_is_to_learn(tmp_path):
    seen = []

    def solved_at_last(task, trajectory):
        seen.append(task)
        return float(len(seen) > 16)

    conf = {"steps": 9, "patience": 3, "tasks_per_step": 2, "samples": 4}
    with pytest.raises(TrainingError, match="3 steps in a row taught nothing"):
        go(tmp_path, solved_at_last, engine=RunConfig(worker_num=0), **conf)


def test_steps_that_taught_nothing_are_counted_anew_when_it_goes_on(tmp_path):
    def never(task, trajectory):
        return 0.0

    for _ in range(2):
        with pytest.raises(TrainingError, match="2 steps in a row taught nothing"):
            go(tmp_path, never, steps=9, patience=2, checkpoint_every=1, resume=True)
    assert go(tmp_path, low_bytes, steps=5, patience=2, resume=True).steps == 5


def test_rewards_that_cannot_be_squared_train_nobody(tmp_path):
    def huge(task, trajectory):
        return low_bytes(task, trajectory) * 1e300

    with pytest.raises(TrainingError, match="its reward is not a finite number below 1e15"):
        go(tmp_path, huge, steps=2, patience=1)


def test_a_folder_with_other_things_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ConfigError, match=r"holds other things \('thesis.tex'\)"):
        go(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ConfigError, match=r"run_dir=.*cannot be used"):
        go(tmp_path / "thesis.tex")
