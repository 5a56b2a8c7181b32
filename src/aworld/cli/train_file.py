"""The TOML file that says what is trained, on which tasks, and how: read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld.cli.places import RUNS, stem_of
from aworld.cli.settings import read_toml
from aworld.cli.specs import ENVIRONMENT, WEIGHT
from aworld.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from aworld.train.config import TrainConfig

NEEDED = {
    "model": "which model? model = 'byte', a folder, a .gguf file or a name of Hugging Face",
    "tasks": "which tasks? tasks = 'tasks.jsonl', or what else `aworld run` takes",
    "reward": "which reward? reward = 'exact_match', or 'file.py:function'",
}
TEXTS = ("model", "agent", "tasks", "held_out")
SHOWN = ("demonstrations", "worked_examples")  # a file of them, or the tables themselves
OWN = (*NEEDED, *TEXTS, *SHOWN, "threads", "model_options", "fields")  # not of TrainConfig
TABLES = ("model_options", "fields", "settings", "warm_up", "engine")
FILES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".gguf")
TRAIN_TEXTS = ("run_dir", "algorithm", "schedule", "reference", "host")


@dataclass(frozen=True)
class TrainFile:
    """What the file asks for; `config` has what the options of the command have changed."""

    path: Path
    own: Mapping[str, Any]
    config: TrainConfig

    @property
    def run_dir(self) -> Path:
        return Path(self.config.run_dir)

    def get(self, key: str) -> Any:
        return self.own.get(key)

    def table(self, key: str) -> dict[str, Any]:
        return dict(self.own.get(key, {}))

    @property
    def rewards(self) -> list[str]:
        given = self.own["reward"]
        return [given] if isinstance(given, str) else given

    def place(self, text: str) -> str:
        return beside(self.path.parent, text)

    def place_reward(self, spec: str) -> str:
        weighted = WEIGHT.fullmatch(spec)
        return f"{weighted[1]}*{self.place(weighted[2])}" if weighted else self.place(spec)


def read_train_file(path: Path, **options: Any) -> TrainFile:
    """`options` that are not None go before what the file says."""
    from aworld.train.config import TrainConfig

    given = read_toml(path)
    try:
        _check(given, [field.name for field in fields(TrainConfig)])
        given |= {key: value for key, value in options.items() if value is not None}
        given.setdefault("run_dir", str(RUNS / stem_of(path.name)))
        if "reference" in given:
            given["reference"] = beside(path.parent, given["reference"])
        own = {key: given.pop(key) for key in OWN if key in given}
        return TrainFile(path, own, TrainConfig(**given))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def beside(folder: Path, text: str) -> str:
    """Paths in the file are relative to it; what is no path stays as it is: `byte`, `rg:chain_sum`,
    `package.module:name`."""
    kind = ENVIRONMENT if text.startswith(ENVIRONMENT) else ""
    file, mark, name = text.removeprefix(kind).partition(".py:")
    if mark:
        return f"{kind}{folder / Path(file).expanduser()}.py:{name}"
    place, mark, part = text.rpartition("#")  # of a dataset's folder
    for path, rest in ((text, ""), (place, f"{mark}{part}")):
        found = folder / Path(path).expanduser()
        if path and found.exists():
            return f"{found}{rest}"
    if text != "-" and Path(text).exists() and not Path(text).is_absolute():
        raise ConfigError(
            f"there is no {folder / text}: paths are relative to this file, not to the folder that "
            "the command is given in (run_dir alone is)"
        )
    return f"{folder / text}" if text.endswith(FILES) else text


def _check(given: dict[str, Any], of_training: list[str]) -> None:
    known = sorted({*OWN, *of_training})
    for key, value in given.items():
        if key not in known:
            raise ConfigError(unknown_name("setting", key, known))
        if key in TABLES and not isinstance(value, dict):
            raise ConfigError(f"{key} is a table: write [{key}], and its keys below it")
        if key in (*TEXTS, *TRAIN_TEXTS) and not (isinstance(value, str) and value):
            raise ConfigError(f"{key} must be a text, got {value!r:.80}")
        if key in SHOWN and not (isinstance(value, (str, list)) and value):
            raise ConfigError(f"{key} must be a file, or an array of tables, got {value!r:.80}")
        if key in ("reward", "trackers") and not _are_texts(value):
            raise ConfigError(f"{key} must be a name, or a list of them, got {value!r:.80}")
    if isinstance(given.get("trackers"), str):
        given["trackers"] = [given["trackers"]]
    for key, question in NEEDED.items():
        if not given.get(key):
            raise ConfigError(question)


def _are_texts(value: Any) -> bool:
    listed = [value] if isinstance(value, str) else value
    return isinstance(listed, list) and all(isinstance(one, str) and one for one in listed)
