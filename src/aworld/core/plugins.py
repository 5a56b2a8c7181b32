"""Finds a class or function by its dotted path or its file, importing its module only then."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from aworld.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def load_dotted(path: str) -> Any:
    """`pkg.module.Name` or `pkg.module:Name`."""
    module_name, _, name = path.replace(":", ".").rpartition(".")
    if not module_name:
        raise ConfigError(f"{path!r} is no dotted path: write 'package.module.Name'")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{path!r} cannot be loaded: {error}") from error
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigError(f"{path!r} cannot be loaded: {module_name} has no {name!r}") from None


def load_object(spec: str) -> Any:
    """`path/to/file.py:name`, or what `load_dotted` takes.

    What a file defines travels to the workers by value: they need not have the file.
    """
    from pathlib import Path

    place, _, name = spec.rpartition(":")
    if spec.endswith(".py"):
        raise ConfigError(f"{spec!r} is a whole file: write '{spec}:name'")
    if not place.endswith(".py"):
        beside = f"{place.replace('.', '/')}.py"
        try:
            return load_dotted(spec)
        except ConfigError as error:
            if isinstance(error.__cause__, ModuleNotFoundError) and Path(beside).is_file():
                raise ConfigError(f"{error}; for the file write '{beside}:{name}'") from error
            raise
    module = _loaded(Path(place).resolve(), place)
    if not hasattr(module, name):
        known = [known for known in vars(module) if not known.startswith("_")]
        raise ConfigError(unknown_name(f"object in {place}", name, known))
    return getattr(module, name)


def _loaded(path: Path, place: str) -> ModuleType:
    """The module of a file: each file is run once."""
    import sys
    from hashlib import blake2b
    from importlib.util import module_from_spec, spec_from_file_location

    import cloudpickle

    # no name that could be imported: the file may be called like somebody's package
    name = f"{path.stem}_{blake2b(str(path).encode(), digest_size=4).hexdigest()}"
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise ConfigError(f"there is no file {place!r}")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # as Python does for a script: it may import others
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise ConfigError(f"{place!r} cannot be loaded: {error!r}{_hint(error)}") from error
        raise
    cloudpickle.register_pickle_by_value(module)
    return module


def _hint(error: Exception) -> str:
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "; a file alone is in no package: write 'package.module:name'"
    return ""
