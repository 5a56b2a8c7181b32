"""New weights reach servers elsewhere: the calls and the files are what they expect."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from aworld.errors import ModelError
from aworld.serve import SGLangSync, VLLMLoraSync, VLLMSync


class StandIn:
    """Loads what it is told to, as vLLM and SGLang would, and remembers how it was called."""

    def __init__(self, key="k"):
        self.calls = []
        self.loaded = None
        self.refuses = None
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stand_in.calls.append((self.path, body))
                status, said = stand_in.answer(self.path, body)
                if self.headers["Authorization"] != f"Bearer {key}":
                    status, said = 401, {"error": "who are you?"}
                data = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path, body):
        if self.refuses:
            return self.refuses
        where = body.get("kwargs", {}).get("weights_path")
        where = where or body.get("model_path") or body.get("lora_path")
        if where is not None:
            self.loaded = load_file(Path(where) / "model.safetensors")
        return 200, {"success": True, "message": "done"}

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *exc_info):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def elsewhere():
    with StandIn() as server:
        yield server


def moved(policy):
    with policy.updating(), torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.5)


def same(loaded, policy):
    state = policy.state_dict()
    assert loaded.keys() == state.keys()
    return all(torch.equal(loaded[name], state[name]) for name in state)


def test_vllm_reloads_the_weights_that_were_written_and_forgets_old_prefixes(
    elsewhere, policy, tmp_path
):
    sync = VLLMSync(f"{elsewhere.url}/v1", tmp_path, key="k")
    for version in (1, 2):
        moved(policy)
        sync.send(policy)
        folder = tmp_path / f"version-{version}"
        where = {"weights_path": str(folder)}
        assert elsewhere.calls[-2:] == [
            ("/collective_rpc", {"method": "reload_weights", "kwargs": where}),
            ("/reset_prefix_cache", {}),
        ]
        assert same(elsewhere.loaded, policy)
        assert list(tmp_path.iterdir()) == [folder]  # the older ones are gone


def test_sglang_updates_from_disk_and_is_told_the_version(elsewhere, policy, tmp_path):
    moved(policy)
    folder = SGLangSync(elsewhere.url, tmp_path, key="k").send(policy)
    body = {"model_path": str(folder), "weight_version": "1"}
    assert elsewhere.calls == [("/update_weights_from_disk", body)]
    assert same(elsewhere.loaded, policy)


def test_an_adapter_is_loaded_in_place_under_its_name(elsewhere, policy, tmp_path):
    folder = VLLMLoraSync(elsewhere.url, tmp_path, key="k", name="pupil").send(policy)
    body = {"lora_name": "pupil", "lora_path": str(folder), "load_inplace": True}
    assert elsewhere.calls == [("/v1/load_lora_adapter", body)]


def test_a_server_that_refuses_is_told_and_what_it_has_is_kept(elsewhere, policy, tmp_path):
    sync = SGLangSync(elsewhere.url, tmp_path, key="k")
    first = sync.send(policy)
    moved(policy)
    elsewhere.refuses = 200, {"success": False, "message": "shapes differ"}
    with pytest.raises(ModelError, match=r"SGLang did not load .*: shapes differ"):
        sync.send(policy)
    elsewhere.refuses = 500, {"error": "oops"}
    with pytest.raises(ModelError, match=r"answered 500: .*oops"):
        sync.send(policy)
    assert first.exists()


def test_a_server_without_the_endpoint_is_told_how_to_be_started(elsewhere, policy, tmp_path):
    elsewhere.refuses = 404, {"detail": "Not Found"}
    with pytest.raises(ModelError, match="start vLLM with VLLM_SERVER_DEV_MODE=1"):
        VLLMSync(elsewhere.url, tmp_path, key="k").send(policy)


def test_a_wrong_key_and_a_server_that_is_not_there_are_told(elsewhere, policy, tmp_path):
    with pytest.raises(ModelError, match="answered 401"):
        SGLangSync(elsewhere.url, tmp_path, key="wrong").send(policy)
    with pytest.raises(ModelError, match="cannot be reached"):
        SGLangSync("http://127.0.0.1:9", tmp_path).send(policy)
