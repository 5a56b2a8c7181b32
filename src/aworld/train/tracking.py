"""Where the figures of training go, step by step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from aworld.core.failure import first_line
from aworld.errors import ConfigError
from aworld.train.journal import METRICS, Journal

log = logging.getLogger("aworld")

Figures = Mapping[str, float]


class Tracker(Protocol):
    """Whoever wants to be told."""

    def log(self, step: int, figures: Figures) -> None: ...
    def close(self) -> None: ...


class JsonLines:
    """metrics.jsonl in the folder of the training: always there."""

    def __init__(self, folder: Path, *, after: int):
        self._journal = Journal(folder / METRICS, after=after)

    def log(self, step: int, figures: Figures) -> None:
        self._journal.write(step, [figures])

    def close(self) -> None:
        self._journal.close()


class Forgiven:
    """A tracker that may fail: training goes on without it, and that is said once."""

    def __init__(self, tracker: Tracker):
        self._tracker = tracker
        self._said = False

    def log(self, step: int, figures: Figures) -> None:
        self._try(lambda: self._tracker.log(step, figures), f"step {step}")

    def close(self) -> None:
        self._try(self._tracker.close, "the end")

    def _try(self, tell: Callable[[], None], what: str) -> None:
        try:
            tell()
        except Exception as error:
            if not self._said:
                self._said = True
                log.warning(
                    "the tracker %s could not be told of %s, %s: training goes on, and all figures "
                    "are in %s",
                    type(self._tracker).__name__,
                    what,
                    first_line(error),
                    METRICS,
                )


class TensorBoard:
    def __init__(self, folder: Path, config: Mapping[str, Any]):
        module = _needed("torch.utils.tensorboard", "tensorboard")
        self._writer = module.SummaryWriter(str(folder / "tensorboard"))

    def log(self, step: int, figures: Figures) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        self._writer.close()


class WandB:
    def __init__(self, folder: Path, config: Mapping[str, Any]):
        wandb = _needed("wandb", "wandb")
        self._run = wandb.init(
            project="aworld", name=folder.name, dir=str(folder), config=dict(config)
        )

    def log(self, step: int, figures: Figures) -> None:
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        self._run.finish()


class MLflow:
    def __init__(self, folder: Path, config: Mapping[str, Any]):
        self._mlflow = _needed("mlflow", "mlflow")
        self._mlflow.start_run(run_name=folder.name)
        self._mlflow.log_params({name: str(value)[:500] for name, value in config.items()})

    def log(self, step: int, figures: Figures) -> None:
        named = {name.replace("@", "_at_"): value for name, value in figures.items()}
        self._mlflow.log_metrics(named, step=step)  # it knows no @

    def close(self) -> None:
        self._mlflow.end_run()


TRACKERS: dict[str, Callable[[Path, Mapping[str, Any]], Tracker]] = {
    "tensorboard": TensorBoard,
    "wandb": WandB,
    "mlflow": MLflow,
}


def open_trackers(names: Iterable[str], folder: Path, config: Mapping[str, Any]) -> list[Tracker]:
    return [TRACKERS[name](folder, config) for name in names]


def _needed(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ConfigError(f"the tracker {package!r} needs: pip install {package}") from None
