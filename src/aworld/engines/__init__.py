"""Where tasks run. A new engine is one file and one line here, or an entry point elsewhere."""

from __future__ import annotations

from aworld.config import RunConfig
from aworld.core.plugins import load_dotted
from aworld.engines.base import RuntimeEngine
from aworld.errors import ConfigError, unknown_name

ENGINES = {
    "local": "aworld.engines.local_runtime.LocalRuntime",
    "ray": "aworld.engines.ray_runtime.RayRuntime",
    "spark": "aworld.engines.spark_runtime.SparkRuntime",
}
ENTRY_POINTS = "aworld.engines"


def open_engine(conf: RunConfig) -> RuntimeEngine:
    """The engine that `conf` asks for. It starts nothing until it is entered with `with`."""
    wanted = conf.cls or ENGINES.get(conf.engine_name) or _from_other_packages(conf.engine_name)
    engine_class = load_dotted(wanted) if isinstance(wanted, str) else wanted
    if not (isinstance(engine_class, type) and issubclass(engine_class, RuntimeEngine)):
        raise ConfigError(f"cls must be a subclass of aworld.RuntimeEngine, got {engine_class!r}")
    return engine_class(conf)


def _from_other_packages(name: str) -> str:
    from importlib.metadata import entry_points  # seldom needed, and slow to import

    found = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    if name not in found:
        raise ConfigError(unknown_name("engine", str(name), [*ENGINES, *found]))
    return found[name]
