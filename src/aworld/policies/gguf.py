"""Turns a GGUF file into a folder of safetensors, once: the former takes long to read."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from aworld.errors import ConfigError
from aworld.policies.chat_templates import HERMES
from aworld.policies.quiet import no_progress_bars

TURN_END = "<|im_end|>"


def converted(file: str | os.PathLike[str]) -> Path:
    """The folder, made on first use; another file of the same name gets another one."""
    file = Path(file).resolve()
    if not file.is_file():
        raise ConfigError(f"there is no model file {str(file)!r}")
    stat = file.stat()
    print_of = hashlib.blake2b(f"{file} {stat.st_size} {stat.st_mtime_ns}".encode(), digest_size=6)
    folder = _cache_folder() / f"{file.stem}-{print_of.hexdigest()}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # in full or not at all, even when two do it at once
        with tempfile.TemporaryDirectory(dir=folder.parent) as half:
            _convert(file, Path(half) / "whole")
            try:
                os.rename(Path(half) / "whole", folder)
            except OSError:
                if not folder.exists():
                    raise
    return folder


def _convert(file: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        import gguf  # noqa: F401
    except ImportError:
        raise ConfigError("GGUF files need: pip install gguf") from None
    tokenizer: Any = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    if TURN_END in tokenizer.get_vocab():  # some files name the token that begins a turn
        tokenizer.eos_token = TURN_END
    if "tools" not in (tokenizer.chat_template or ""):
        tokenizer.chat_template = HERMES
    read: Any = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    )
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the numbers are plain ones now
    config.eos_token_id = tokenizer.eos_token_id
    # a new one: what was quantized once is not to be saved
    model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict(read.state_dict())
    with no_progress_bars():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "aworld" / "models"
