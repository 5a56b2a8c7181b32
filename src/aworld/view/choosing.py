"""Which results a page is about: by status, reward, worker, tag and words. All on the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aworld.core.failure import STATUSES
from aworld.errors import ConfigError
from aworld.store.reader import Run
from aworld.view.figures import rows_of

SORTS = {
    "slot": "slot",
    "reward": "reward is null, reward",
    "seconds": "seconds",
    "tokens": "tokens",
    "cost": "cost",
    "ended": "ended",
    "attempts": "attempts",
    "worker": "worker",
}
METADATA = (
    "case when json_valid(cast(t.body as text)) then "
    "json_extract(cast(t.body as text), '$.metadata.{}') end"
)
LEVEL, TAGS = METADATA.format("level"), METADATA.format("tags")


@dataclass
class Choice:
    """Conditions in SQL, with the values apart from them: they come from outside."""

    conditions: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    order: str = "slot"

    def add(self, condition: str, **values: Any) -> None:
        self.conditions.append(f"({condition})")
        self.values |= values

    def query(self, run: Run, columns: str) -> str:
        where = " and ".join(self.conditions) or "true"
        return f"""
        select {columns} from ({rows_of(run)}) r
        left join tasks t on t.position = r.slot / {int(run.samples)}
        where {where}
        """


def chosen(asked: Mapping[str, str]) -> Choice:
    """By the words of a URL."""
    choice = Choice()
    statuses = [one for one in asked.get("status", "").split(",") if one]
    if statuses:
        for status in statuses:
            if status not in STATUSES:
                raise ConfigError(f"there is no status {status!r}: {', '.join(STATUSES)}")
        names = {f"status{place}": one for place, one in enumerate(statuses)}
        choice.add(f"r.status in ({', '.join(f':{name}' for name in names)})", **names)
    for name, sign in (("min_reward", ">="), ("max_reward", "<=")):
        if asked.get(name):
            choice.add(f"r.reward {sign} :{name}", **{name: _number(name, asked[name])})
    if asked.get("worker"):
        choice.add("r.worker = :worker", worker=int(_number("worker", asked["worker"])))
    if asked.get("failure"):
        choice.add("r.failure = :failure", failure=asked["failure"])
    if asked.get("tag"):
        _add_tag(choice, asked["tag"])
    if asked.get("text"):
        _add_words(choice, asked["text"])
    sort = asked.get("sort", "slot")
    if sort.lstrip("-") not in SORTS:
        raise ConfigError(f"there is no order {sort!r}: {', '.join(SORTS)}")
    column = SORTS[sort.lstrip("-")]
    choice.order = f"{column} desc, slot" if sort.startswith("-") else f"{column}, slot"
    return choice


def _add_tag(choice: Choice, tag: str) -> None:
    """A level, one of a list of tags, or one of several with commas between them."""
    in_list = f"exists (select 1 from json_each({TAGS}) where cast(value as text) = :tag)"
    in_text = f"',' || replace({TAGS}, ', ', ',') || ',' like :in_text escape '!'"
    is_list = f"{TAGS} like '[%'"
    choice.add(
        f"cast({LEVEL} as text) = :tag or ({is_list} and {in_list}) "
        f"or (not {is_list} and {in_text})",
        tag=tag,
        in_text=f"%,{_literal(tag)},%",
    )


def _add_words(choice: Choice, text: str) -> None:
    """In the task's id, in the task, and in what was said and answered."""
    body = "(select cast(b.body as text) from bodies b where b.slot = r.slot)"
    places = ("t.id", "cast(t.body as text)", body)
    forms = dict.fromkeys((text, _in_json(text), json.dumps(text)[1:-1]))
    tests, values = [], {}
    for number, form in enumerate(forms):
        tests += [f"{place} like :text{number} escape '!'" for place in places]
        values[f"text{number}"] = f"%{_literal(form)}%"
    choice.add(" or ".join(tests), **values)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _literal(text: str) -> str:
    for sign in "!%_":
        text = text.replace(sign, f"!{sign}")
    return text


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{name} must be a number, got {text!r:.40}") from None
