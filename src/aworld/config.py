"""What a run is asked to be: frozen, checked when it is made, unknown keys refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from aworld.errors import ConfigError, unknown_name


class EngineName(StrEnum):
    """Where tasks run."""

    LOCAL = "local"
    RAY = "ray"
    SPARK = "spark"


class KnownKeysOnly:
    """Refuses an unknown keyword argument by naming the nearest known one."""

    def __new__(cls, /, *args: Any, **kwargs: Any):
        known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        for key in kwargs:
            if key not in known:
                raise ConfigError(unknown_name(f"{cls.__name__} setting", key, known))
        return super().__new__(cls)


@dataclass(frozen=True)
class RunConfig(KnownKeysOnly):
    """How a list of tasks is run.

    engine_name         where tasks run: EngineName.LOCAL (processes of this machine), RAY, SPARK
    worker_num          how many workers; None: one for each CPU; 0: run in this process, to debug
    tasks_per_worker    how many tasks a worker keeps in flight at once
    sequence_dependent  run the tasks one after another; each sees the answer of the one before
    in_local            for Ray and Spark: True for an embedded cluster on this machine, False for
                        that of the environment; None: embedded, unless there is an address
    address             of a cluster: 'auto', 'host:port', 'ray://...' (Ray), a master URL (Spark)
    engine_options      passed on to Ray's tasks and ray.init, or to Spark's configuration
    reuse_process       run in this process, to debug: breakpoints work, nothing can be killed
    cls                 an engine of your own: a RuntimeEngine class or its dotted path
    job_name            how the run is called in process lists and logs
    timeout             seconds a task may run, from when it starts; Task.timeout goes before it
    max_attempts        how often a task may take down a worker that it had to itself
    memory_limit_mb     a worker that grows past this is ended, as if it had crashed
    max_tokens          stop the run, cleanly, when all its model calls have used so many tokens
    max_cost            the same for what they cost; the models must have prices
    seed                makes sampling repeatable: each task and attempt derives its own from it
    samples             how often each task is run, as a group; each sample has its own seed
    reward              scores every trajectory where it was made: a function or a name
    run_dir             a new folder that the run is recorded in, to be resumed from and read
    """

    engine_name: EngineName | str = EngineName.LOCAL
    worker_num: int | None = None
    tasks_per_worker: int = 16
    sequence_dependent: bool = False
    in_local: bool | None = None
    address: str | None = None
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    reuse_process: bool = False
    cls: type[Any] | str | None = None
    job_name: str = "aworld"
    timeout: float | None = None
    max_attempts: int = 3
    memory_limit_mb: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    seed: int | None = None
    samples: int = 1
    reward: Any = None
    run_dir: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        self._check_place()
        self._check_work()
        self._check_limits()
        self._check_record()

    def _check_place(self) -> None:
        """Where the tasks run."""
        if not isinstance(self.engine_name, str) or not self.engine_name:
            raise ConfigError(f"engine_name must be an EngineName, got {self.engine_name!r}")
        if self.cls is not None and not isinstance(self.cls, (type, str)):
            raise ConfigError(f"cls must be a class or its dotted path, got {self.cls!r}")
        if self.in_local is not None and not isinstance(self.in_local, bool):
            raise ConfigError(f"in_local must be True, False or None, got {self.in_local!r}")
        if self.address is not None and (not isinstance(self.address, str) or not self.address):
            raise ConfigError(f"address must be a str or None, got {self.address!r}")
        if self.in_local and self.address:
            raise ConfigError("in_local=True and an address exclude each other: leave one out")
        if not isinstance(self.engine_options, Mapping):
            raise ConfigError(f"engine_options must be a dict, got {self.engine_options!r}")
        check_switch("reuse_process", self.reuse_process)

    def _check_work(self) -> None:
        """What is run, and how much of it at once."""
        if self.worker_num is not None:
            check_count("worker_num", self.worker_num, least=0)
        check_count("tasks_per_worker", self.tasks_per_worker, least=1)
        check_switch("sequence_dependent", self.sequence_dependent)
        if self.seed is not None and not is_int(self.seed):
            raise ConfigError(f"seed must be an int or None, got {self.seed!r}")
        check_count("samples", self.samples, least=1)
        if self.samples > 1 and self.sequence_dependent:
            raise ConfigError("sequence_dependent tasks cannot have samples: leave one out")

    def _check_limits(self) -> None:
        """What a task, a worker and the whole run may take."""
        check_seconds("timeout", self.timeout, or_none=True)
        check_count("max_attempts", self.max_attempts, least=1)
        if self.memory_limit_mb is not None:
            check_count("memory_limit_mb", self.memory_limit_mb, least=1)
        if self.max_tokens is not None:
            check_count("max_tokens", self.max_tokens, least=1)
        if self.max_cost is not None and not is_positive(self.max_cost):
            raise ConfigError(f"max_cost must be a positive number or None, got {self.max_cost!r}")

    def _check_record(self) -> None:
        """What the run is called, scored by and kept in."""
        if not isinstance(self.job_name, str) or not self.job_name.strip():
            raise ConfigError(f"job_name must be a name, got {self.job_name!r}")
        check_text("job_name", self.job_name)
        if len(self.job_name) > 200 or not self.job_name.isprintable():
            raise ConfigError(f"job_name must be one short line, got {self.job_name!r:.80}")
        if self.reward is not None and not (callable(self.reward) or isinstance(self.reward, str)):
            raise ConfigError(f"reward must be a function or a name, got {self.reward!r:.80}")
        if self.run_dir is not None and not isinstance(self.run_dir, (str, os.PathLike)):
            raise ConfigError(f"run_dir must be the path of a folder, got {self.run_dir!r:.80}")
        if self.run_dir is not None and not os.fspath(self.run_dir):
            raise ConfigError("run_dir is empty: give the path of a folder, or leave it out")

    @property
    def is_local(self) -> bool:
        """Whether the run stays on this machine."""
        return self.address is None if self.in_local is None else self.in_local


@dataclass(frozen=True)
class AgentConfig(KnownKeysOnly):
    """Which model an agent asks. What is left out comes from the environment.

    llm_provider     'openai' (any server of that protocol) or 'embedded' (no server, no key)
    llm_model_name   or LLM_MODEL_NAME
    llm_base_url     or LLM_BASE_URL
    llm_api_key      or LLM_API_KEY; it is never shown
    llm_temperature  how freely the model samples
    llm_max_tokens   the longest reply
    llm_settings     passed on to the model as they are: timeout, retries, prices, cache, top_p, ...
    """

    llm_provider: str | None = None
    llm_model_name: str | None = None
    llm_base_url: str | None = None
    llm_api_key: str | None = field(default=None, repr=False)
    llm_temperature: float | None = None
    llm_max_tokens: int | None = None
    llm_settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("llm_provider", "llm_model_name", "llm_base_url", "llm_api_key"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ConfigError(f"{name} must be a str or None, got a {type(value).__name__}")
        if self.llm_temperature is not None and not is_number(self.llm_temperature):
            raise ConfigError(f"llm_temperature must be a number, got {self.llm_temperature!r}")
        if self.llm_max_tokens is not None:
            check_count("llm_max_tokens", self.llm_max_tokens, least=1)
        if not isinstance(self.llm_settings, Mapping):
            raise ConfigError(f"llm_settings must be a dict, got {self.llm_settings!r:.80}")


def checked_run_conf(given: object) -> RunConfig:
    if given is None:
        return RunConfig()
    if not isinstance(given, RunConfig):
        raise ConfigError(f"run_conf must be a RunConfig, got {given!r:.80}")
    return given


def is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_positive(value: object) -> bool:
    return is_number(value) and 0 < value < 1e9  # type: ignore[operator]


def check_count(name: str, value: object, *, least: int) -> None:
    if not is_int(value) or value < least:  # type: ignore[operator]
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, got {value!r}")


def check_text(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{name} is no valid text: {value!a:.80}") from None


def check_seconds(name: str, value: object, *, or_none: bool = False) -> None:
    if or_none and value is None:
        return
    if not is_positive(value):
        wanted = "a positive number of seconds" + (" or None" if or_none else "")
        raise ConfigError(f"{name} must be {wanted}, got {value!r}")
