"""Brings new weights to a server elsewhere: written as safetensors, then loaded by its endpoint.

The server must see the same folder: on this machine, or on a disk that both have.
"""

from __future__ import annotations

import json
import os
import shutil
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from aworld.core.secret import Secret
from aworld.errors import ModelError
from aworld.policies.base import Policy


class WeightSync(ABC):
    """Call `send` after an update; it returns when the server answers with the new weights.

    url     of the server, without /v1
    folder  where the weights are written, each version in a folder of its own; the last one is kept
    """

    def __init__(
        self,
        url: str,
        folder: str | os.PathLike[str],
        *,
        key: str | Secret | None = None,
        timeout: float = 300.0,
    ):
        self.url = url.rstrip("/").removesuffix("/v1")
        self.folder = Path(folder)
        self.key = Secret.of(key)
        self.timeout = timeout
        self._written: Path | None = None

    def send(self, policy: Policy) -> Path:
        """The folder that was loaded. If the server refuses it, what it had before is kept."""
        folder = self.folder / f"version-{policy.version}"
        policy.save(folder)
        self.load(folder.resolve(), policy)
        if self._written is not None and self._written != folder:
            shutil.rmtree(self._written, ignore_errors=True)
        self._written = folder
        return folder

    @abstractmethod
    def load(self, folder: Path, policy: Policy) -> None:
        """Has the server load it, or raises a ModelError."""

    def call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """What the server answers, as JSON where it is."""
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        data = json.dumps(body or {}).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            said = error.read(500).decode(errors="replace")
            hint = f": {self.hint}" if error.code == 404 else ""
            raise ModelError(f"{self.url}{path} answered {error.code}: {said}{hint}") from None
        except OSError as error:
            raise ModelError(f"{self.url}{path} cannot be reached: {error}") from None
        try:
            return json.loads(text)
        except ValueError:
            return text.decode(errors="replace")

    hint = ""


class VLLMSync(WeightSync):
    """All weights, to vLLM started with VLLM_SERVER_DEV_MODE=1."""

    hint = "start vLLM with VLLM_SERVER_DEV_MODE=1"

    def load(self, folder: Path, policy: Policy) -> None:
        where = {"weights_path": str(folder)}
        self.call("/collective_rpc", {"method": "reload_weights", "kwargs": where})
        self.call("/reset_prefix_cache")  # what was read with the old weights


class VLLMLoraSync(WeightSync):
    """An adapter, to vLLM started with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True.

    It is asked for by `name`, as if it were a model of its own.
    """

    hint = "start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"

    def __init__(self, *args: Any, name: str, **options: Any):
        super().__init__(*args, **options)
        self.name = name

    def load(self, folder: Path, policy: Policy) -> None:
        body = {"lora_name": self.name, "lora_path": str(folder), "load_inplace": True}
        self.call("/v1/load_lora_adapter", body)


class SGLangSync(WeightSync):
    """All weights, to SGLang."""

    def load(self, folder: Path, policy: Policy) -> None:
        body = {"model_path": str(folder), "weight_version": str(policy.version)}
        said = self.call("/update_weights_from_disk", body)
        if isinstance(said, dict) and said.get("success") is False:
            raise ModelError(f"SGLang did not load {folder}: {said.get('message')}")
