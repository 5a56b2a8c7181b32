"""Bad input gets a clear error that says what to do, before anything is spent."""

from __future__ import annotations

import dataclasses
import math

import pytest

from aworld import (
    ConfigError,
    EngineName,
    LocalRuntime,
    RunConfig,
    Runners,
    RuntimeEngine,
    Task,
)
from aworld.engines import open_engine


def test_an_unknown_key_is_refused_with_the_nearest_known_one():
    with pytest.raises(ConfigError, match=r"'worker_nmu'; did you mean 'worker_num'\?"):
        RunConfig(worker_nmu=2)
    with pytest.raises(ConfigError, match=r"no RunConfig setting named 'zzz' \(known: address, "):
        RunConfig(zzz=1)


def test_an_address_and_an_embedded_cluster_exclude_each_other():
    with pytest.raises(ConfigError, match="exclude each other"):
        RunConfig(engine_name="ray", in_local=True, address="auto")
    assert RunConfig().is_local
    assert not RunConfig(address="auto").is_local
    assert not RunConfig(in_local=False).is_local


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RunConfig().worker_num = 3


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("worker_num", -1),
        ("worker_num", 1.5),
        ("worker_num", True),
        ("worker_num", "2"),
        ("tasks_per_worker", 0),
        ("max_attempts", 0),
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", math.nan),
        ("timeout", math.inf),
        ("timeout", 10**400),
        ("timeout", "1"),
        ("memory_limit_mb", 0),
        ("seed", 1.5),
        ("job_name", " "),
        ("job_name", "a\0b"),
        ("job_name", "a\nb"),
        ("job_name", "x" * 1000),
        ("job_name", "\ud800"),
        ("sequence_dependent", "yes"),
        ("in_local", 1),
        ("address", ""),
        ("address", 3),
        ("engine_options", "x"),
        ("reuse_process", None),
        ("cls", 3),
        ("engine_name", None),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_name(key, value):
    with pytest.raises(ConfigError, match=key):
        RunConfig(**{key: value})


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"no engine named 'locl'; did you mean 'local'\?"):
        Runners.sync_run_task([], RunConfig(engine_name="locl"))
    with pytest.raises(ConfigError, match=r"no engine named 'k8s' \(known: local"):
        Runners.sync_run_task([], RunConfig(engine_name="k8s"))


@pytest.mark.parametrize("cls", [LocalRuntime, "aworld.LocalRuntime", "aworld:LocalRuntime"])
def test_cls_takes_a_class_or_its_dotted_path(cls):
    assert type(open_engine(RunConfig(cls=cls))) is LocalRuntime


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        ("nowhere.Engine", "No module named 'nowhere'"),
        ("aworld.Nothing", "has no 'Nothing'"),
        ("Engine", "no dotted path"),
        (dict, "subclass of aworld.RuntimeEngine"),
        ("aworld.Task", "subclass of aworld.RuntimeEngine"),
    ],
)
def test_a_cls_that_is_no_engine_is_refused(cls, message):
    with pytest.raises(ConfigError, match=message):
        open_engine(RunConfig(cls=cls))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"in_local": False}, "always local"),
        ({"address": "auto"}, "always local"),
        ({"worker_num": 0, "memory_limit_mb": 100}, "memory_limit_mb needs worker processes"),
        ({"reuse_process": True, "memory_limit_mb": 100}, "memory_limit_mb needs"),
    ],
)
def test_the_local_engine_refuses_by_name_what_it_cannot_do(settings, message):
    with pytest.raises(ConfigError, match=message):
        open_engine(RunConfig(**settings))


class SomeEngine(RuntimeEngine):
    def start_worker(self, invitation):
        raise NotImplementedError


@pytest.mark.parametrize("settings", [{"worker_num": 0}, {"reuse_process": True}])
def test_an_engine_that_cannot_run_in_this_process_says_so(settings):
    with pytest.raises(ConfigError, match="SomeEngine cannot run in this process"):
        open_engine(RunConfig(cls=SomeEngine, **settings))


def test_the_engine_names_are_the_seeds():
    assert [name.value for name in EngineName] == ["local", "ray", "spark"]
    assert RunConfig().engine_name is EngineName.LOCAL
    assert RunConfig(engine_name="local") == RunConfig(engine_name=EngineName.LOCAL)


async def agent(value):
    return value


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (None, "must be a Task or an iterable of them, got None"),
        ("text", "must be a Task or an iterable of them, got 'text'"),
        (7, "must be a Task or an iterable of them, got 7"),
        ({"a": Task(input=1, agent=agent)}, "must be a Task or an iterable"),
        (["question"], r"tasks\[0\] is a str: give a Task"),
        ([Task(input=1, agent=agent), None], r"tasks\[1\] is a NoneType"),
        ([Task(input=1, id="lonely")], r"task 'lonely' \(at 0\) has no agent"),
        ([Task(input=1, agent=RunConfig, id="t")], "give an instance of it"),
        ([Task(input=1, agent=3, id="t")], "has a int as its agent"),
        (
            [Task(input=i, agent=agent, id=name) for i, name in enumerate("abca")],
            "two tasks have the id 'a', at 0 and 3",
        ),
    ],
)
def test_tasks_that_cannot_run_are_refused_before_anything_starts(tasks, message):
    with pytest.raises(ConfigError, match=message):
        Runners.stream_tasks(tasks)


@pytest.mark.parametrize("conf", [{"worker_num": 2}, "local", 3])
def test_a_run_conf_that_is_none_is_refused(conf):
    with pytest.raises(ConfigError, match="run_conf must be a RunConfig"):
        Runners.stream_tasks([Task(input=1, agent=agent)], conf)


@pytest.mark.parametrize("conf", [{"worker_num": 2}, {}, "local"])
def test_a_run_is_resumed_by_a_run_conf_only(tmp_path, conf):
    Runners.sync_run_task(
        Task(input=1, agent=agent), RunConfig(worker_num=0, run_dir=tmp_path / "run")
    )
    with pytest.raises(ConfigError, match="run_conf must be a RunConfig"):
        Runners.resume(tmp_path / "run", agent=agent, run_conf=conf)


@pytest.mark.parametrize(("name", "value"), [("timeout", "x"), ("timeout", -1), ("id", 5)])
def test_a_task_that_was_spoilt_later_is_refused(name, value):
    task = Task(input=1, agent=agent)
    setattr(task, name, value)
    with pytest.raises(ConfigError, match=f"{name}"):
        Runners.stream_tasks([task])


def test_an_async_iterable_is_refused_with_a_way_out():
    async def tasks():
        yield Task(input=1, agent=agent)

    with pytest.raises(ConfigError, match="collect it, or use a plain generator"):
        Runners.stream_tasks(tasks())
