"""Where tasks run. A new engine is one file and one line here."""

from __future__ import annotations

from aworld.config import EngineName, RunConfig
from aworld.core.plugins import load_dotted
from aworld.engines.base import RuntimeEngine
from aworld.errors import ConfigError, unknown_name

ENGINES = {
    "local": "aworld.engines.local_runtime.LocalRuntime",
}


def open_engine(conf: RunConfig) -> RuntimeEngine:
    """The engine that `conf` asks for. It starts nothing until it is entered with `with`."""
    if conf.cls is None and conf.engine_name not in ENGINES:
        if conf.engine_name in list(EngineName):
            raise ConfigError(f"the {conf.engine_name!s} engine is not in this version yet")
        raise ConfigError(unknown_name("engine", str(conf.engine_name), ENGINES))
    wanted = conf.cls or ENGINES[conf.engine_name]
    engine_class = load_dotted(wanted) if isinstance(wanted, str) else wanted
    if not (isinstance(engine_class, type) and issubclass(engine_class, RuntimeEngine)):
        raise ConfigError(f"cls must be a subclass of aworld.RuntimeEngine, got {engine_class!r}")
    return engine_class(conf)
