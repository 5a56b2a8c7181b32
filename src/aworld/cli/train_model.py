"""Opens the model that is to be trained, as the TOML file of the training describes it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aworld.cli.train_file import TrainFile
from aworld.config import check_count
from aworld.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from aworld.policies.base import Policy

DTYPES = ("bfloat16", "float16", "float32")


def opened(file: TrainFile) -> Policy:
    from aworld.policies import open_policy

    model, options = file.place(file.get("model")), file.table("model_options")
    if model == "byte":
        options = _with_sizes(options)
    if "dtype" in options:
        options["dtype"] = _dtype(options["dtype"])
    try:
        return open_policy(model, **options)
    except ConfigError as error:
        raise ConfigError(f"{file.path}: {error}") from None


def use_threads(count: int | None) -> None:
    """Of torch. A small model is fastest with one, where the workers use the other cores."""
    if count is not None:
        import torch

        check_count("threads", count, least=1)
        torch.set_num_threads(count)


def _with_sizes(options: dict[str, Any]) -> dict[str, Any]:
    """width, layers and so on make the config of a new byte model."""
    from aworld.policies.byte_model import ByteConfig

    known = {field.name for field in fields(ByteConfig)}
    for name in options.keys() - {"name"}:
        if name not in known | {"seed"}:
            raise ConfigError(unknown_name("model_options of the byte model", name, known))
        check_count(f"model_options.{name}", options[name], least=0 if name == "seed" else 1)
    sizes = {name: options.pop(name) for name in known & options.keys()}
    return {"config": ByteConfig(**sizes), **options}


def _dtype(name: Any) -> Any:
    import torch

    if name not in DTYPES:
        raise ConfigError(unknown_name("dtype", str(name), DTYPES))
    return getattr(torch, name)
