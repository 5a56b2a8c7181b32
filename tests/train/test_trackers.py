"""Each tracker tells its library in that library's own words. The libraries are stand-ins here."""

from __future__ import annotations

import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

from aworld.errors import ConfigError
from aworld.train.tracking import open_trackers

MLFLOW_ALLOWS = re.compile(r"[\w\-. :/]+")
FIGURES = {"loss": 0.5, "pass@1": 0.25}


@pytest.fixture
def stand_in(monkeypatch):
    """A library of this name; what it is told is in the list."""
    told = []

    def make(name, **parts):
        module = ModuleType(name)
        module.__dict__.update(parts)
        monkeypatch.setitem(sys.modules, name, module)
        return told

    return make


def follow(name, folder):
    (tracker,) = open_trackers([name], folder, {"steps": 3, "engine": {"worker_num": 2}})
    tracker.log(1, FIGURES)
    tracker.close()


def test_tensorboard_is_told_each_figure_and_closed(stand_in, tmp_path):
    told = stand_in("torch.utils.tensorboard")

    def writer(folder):
        told.append(folder)
        return SimpleNamespace(
            add_scalar=lambda *said: told.append(said), close=lambda: told.append("closed")
        )

    stand_in("torch.utils.tensorboard", SummaryWriter=writer)
    follow("tensorboard", tmp_path)
    assert told == [
        str(tmp_path / "tensorboard"),
        ("loss", 0.5, 1),
        ("pass@1", 0.25, 1),
        "closed",
    ]


def test_wandb_is_told_the_settings_and_each_step(stand_in, tmp_path):
    told = stand_in("wandb")

    def init(**said):
        told.append((said["name"], said["config"]["steps"]))
        return SimpleNamespace(
            log=lambda figures, step: told.append((step, figures)),
            finish=lambda: told.append("finished"),
        )

    stand_in("wandb", init=init)
    follow("wandb", tmp_path)
    assert told == [(tmp_path.name, 3), (1, FIGURES), "finished"]


def test_mlflow_is_told_names_that_it_allows(stand_in, tmp_path):
    told = stand_in("mlflow")

    def log_metrics(figures, step):
        assert all(MLFLOW_ALLOWS.fullmatch(name) for name in figures)
        told.append((step, figures))

    stand_in(
        "mlflow",
        start_run=lambda run_name: told.append(run_name),
        log_params=lambda params: told.append(params["engine"]),
        log_metrics=log_metrics,
        end_run=lambda: told.append("ended"),
    )
    follow("mlflow", tmp_path)
    figures = {"loss": 0.5, "pass_at_1": 0.25}
    assert told == [tmp_path.name, "{'worker_num': 2}", (1, figures), "ended"]


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_tracker_whose_library_is_missing_says_how_to_install_it(name, tmp_path, monkeypatch):
    module = "torch.utils.tensorboard" if name == "tensorboard" else name
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=f"pip install {name}"):
        open_trackers([name], tmp_path, {})
