"""Opens a policy by a name, a folder or a file."""

from __future__ import annotations

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError
from aworld.policies.base import Policy

UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def open_policy(model: str | os.PathLike[str], **options: Any) -> Policy:
    """`byte`, `smollm2`, a folder that a policy or transformers saved, a .gguf file, or a name that
    transformers knows. The options are those of the kind of policy that it is.
    """
    name = os.fspath(model)
    try:
        return _opened(name, options)
    except ConfigError as error:  # transformers says things in many lines
        raise ConfigError(" ".join(str(error).split())) from None
    except TypeError as error:
        unexpected = UNEXPECTED.search(str(error))
        if unexpected is None or unexpected[1] not in options:
            raise
        named = "the byte model" if name == "byte" else f"the model {name!r}"
        raise ConfigError(f"{named} has no {unexpected[1]}: leave it out") from None


def _opened(name: str, options: dict[str, Any]) -> Policy:
    if name == "byte":
        from aworld.policies.byte_model import BytePolicy

        return BytePolicy(**options)
    if (Path(name) / "config.json").exists() and _kind(Path(name)) == "aworld-byte":
        from aworld.policies.byte_model import BytePolicy

        return BytePolicy.load(name, **options)
    if find_spec("transformers") is None:
        raise ConfigError("models of Hugging Face need: pip install 'aworld[train]'")
    from aworld.policies.hf_model import HFPolicy

    if name == "smollm2" or name.endswith(".gguf"):
        from aworld.models.embedded_server import smollm2_path
        from aworld.policies.gguf import converted

        folder = converted(smollm2_path() if name == "smollm2" else name)
        return HFPolicy.load(folder, **{"name": Path(name).stem, **options})
    return HFPolicy.load(name, **options)


def _kind(folder: Path) -> Any:
    try:
        return json.loads((folder / "config.json").read_text()).get("model_type")
    except (ValueError, AttributeError):
        raise ConfigError(f"{folder / 'config.json'} is no JSON object") from None
