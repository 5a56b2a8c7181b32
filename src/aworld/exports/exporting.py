"""Writes a recorded run as a file that another tool loads."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError, unknown_name
from aworld.exports import messages, openai_chat, rollouts, tokens, trl_dpo, trl_kto, trl_sft, verl
from aworld.exports.files import FORMS, Columns, Row, check_form, whole_file
from aworld.store.reader import Run, open_run


@dataclass(frozen=True)
class Format:
    rows: Callable[..., Iterator[Row]]  # its keyword arguments are the format's options
    file: str  # how it is called if no path is given
    forms: tuple[str, ...]
    columns: Callable[[], Columns] = dict  # for Parquet


BOTH = ("parquet", "jsonl")

FORMATS = {
    "messages": Format(messages.rows, "messages.jsonl", ("jsonl",)),
    "parquet": Format(rollouts.rows, "rollouts.parquet", ("parquet",), rollouts.columns),
    "trl-sft": Format(trl_sft.rows, "trl-sft.parquet", BOTH, trl_sft.columns),
    "trl-dpo": Format(trl_dpo.rows, "trl-dpo.parquet", BOTH, trl_dpo.columns),
    "trl-kto": Format(trl_kto.rows, "trl-kto.parquet", BOTH, trl_kto.columns),
    "verl": Format(verl.rows, "verl.parquet", ("parquet",), verl.columns),
    "openai": Format(openai_chat.rows, "openai.jsonl", ("jsonl",)),
    "tokens": Format(tokens.rows, "tokens.parquet", BOTH, tokens.columns),
}
ALIASES = {"messages.jsonl": "messages"}

DAMAGED = "damaged records of the run"


@dataclass(frozen=True)
class Exported:
    """What was written. `left_out` says what is not in the file, why, and how many there are."""

    path: Path
    rows: int
    left_out: dict[str, int]


def export(
    run: Run | str | os.PathLike[str],
    to: str,
    path: str | os.PathLike[str] | None = None,
    *,
    where: str | None = None,
    overwrite: bool = False,
    **options: Any,
) -> Exported:
    """Writes the rollouts of a run, or those that fit a condition, in the form of another tool.

    run        one that is open, or its folder
    to         messages, parquet, trl-sft, trl-dpo, trl-kto, verl, openai or tokens
    path       of the file; .jsonl or .parquet says which it is to be, where there is a choice;
               else it is in the run's folder, under exports/
    where      a condition in SQL: "reward > 0.5 and status = 'success'"
    overwrite  replaces a file that is there
    options    of the format: agent (all), pairs (trl-dpo), threshold (trl-kto), data_source,
               ability and split (verl)
    """
    if not isinstance(run, Run):
        with open_run(run) as opened:
            return export(opened, to, path, where=where, overwrite=overwrite, **options)
    chosen = _chosen(to)
    _check_options(to, chosen, options)
    target = run.folder / "exports" / chosen.file if path is None else Path(path)
    form = _form(to, chosen, target)
    check_form(form)
    left_out: Counter[str] = Counter()
    count = 0
    with (
        whole_file(target, overwrite=overwrite) as file,
        FORMS[form](file, chosen.columns() if form == "parquet" else {}) as write,
    ):
        for row in chosen.rows(run.rollouts(where), left_out, **options):
            write(row)
            count += 1
    left_out[DAMAGED] = len(run.damage)  # whether they would have fitted is not known
    return Exported(target, count, {why: number for why, number in left_out.items() if number})


def _chosen(to: str) -> Format:
    chosen = FORMATS.get(ALIASES.get(to, to))
    if chosen is None:
        raise ConfigError(unknown_name("export format", str(to), FORMATS))
    return chosen


def _check_options(to: str, chosen: Format, options: dict[str, Any]) -> None:
    known = [
        name
        for name, parameter in inspect.signature(chosen.rows).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    for name in options:
        if name not in known:
            raise ConfigError(unknown_name(f"option of {to}", name, known))


def _form(to: str, chosen: Format, path: Path) -> str:
    form = path.suffix.removeprefix(".").lower()
    if form not in chosen.forms:
        forms = " or ".join(f".{form}" for form in chosen.forms)
        raise ConfigError(
            f"{to} is written as {forms}: give a path that ends so, not {str(path)!r}"
        )
    return form
