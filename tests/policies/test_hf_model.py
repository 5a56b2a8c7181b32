"""Models of Hugging Face: which can be used, how they talk, and adapters inside them."""

from __future__ import annotations

import pytest
import torch
from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars
from peft import LoraConfig, get_peft_model
from tiny_hf import tiny_hf_policy, tiny_model, tiny_tokenizer
from transformers import GPT2Config, GPT2LMHeadModel, MambaConfig, MambaForCausalLM
from transformers.utils import logging

from aworld.errors import ConfigError
from aworld.models.embedded_server import smollm2_path
from aworld.policies import HFPolicy, open_policy
from aworld.policies.hf_cache import columns_for, rows_for

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
USER = [{"role": "user", "content": "hi"}]


def test_our_attention_says_what_the_models_own_says():
    model, tokenizer = tiny_model()
    ids = torch.randint(0, 256, (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = model(ids).logits
        policy = HFPolicy(model, tokenizer, name="tiny", chat_template="hermes")
        found = policy.head(policy.hidden(ids))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_model_without_a_chat_template_is_refused_with_what_to_do():
    with pytest.raises(ConfigError, match="has no chat template: give chat_template"):
        HFPolicy(*tiny_model(), name="tiny")


def test_a_template_that_knows_no_tools_refuses_tools_only():
    policy = HFPolicy(*tiny_model(), name="tiny", chat_template=CHATML)
    assert policy.encode_chat(USER)
    with pytest.raises(ConfigError, match="knows no tools: give chat_template='hermes'"):
        policy.encode_chat(USER, TOOLS)


def test_the_token_that_ends_a_turn_stops_it():
    policy = tiny_hf_policy()
    assert policy.stop_ids == {policy.chat.tokenizer.convert_tokens_to_ids("<|im_end|>")}


def test_a_model_of_another_family_works_as_well():
    config = GPT2Config(vocab_size=300, n_embd=32, n_layer=2, n_head=2, n_positions=128)
    policy = HFPolicy(
        GPT2LMHeadModel(config), tiny_tokenizer(), name="gpt2", chat_template="hermes"
    )
    assert policy.context_tokens == 128
    ids = torch.tensor([[1, 2, 3, 4]])
    cache = policy.open_cache()
    policy.prefill(cache, [0], [[1, 2, 3]])
    stepped = policy.step(cache, torch.tensor([4]), torch.tensor([3]), 4)
    with torch.no_grad():
        torch.testing.assert_close(
            stepped, policy.head(policy.hidden(ids))[:, -1], atol=1e-4, rtol=1e-4
        )


def test_a_model_without_attention_is_refused():
    model = MambaForCausalLM(MambaConfig(vocab_size=300, hidden_size=32, num_hidden_layers=1))
    with pytest.raises(ConfigError, match="MambaForCausalLM"):
        HFPolicy(model, tiny_tokenizer(), name="mamba", chat_template="hermes")


def test_a_context_beyond_the_models_own_is_refused():
    with pytest.raises(ConfigError, match="context_tokens=300: this model can be used up to 256"):
        HFPolicy(*tiny_model(), name="tiny", chat_template="hermes", context_tokens=300)


def with_adapters():
    model, tokenizer = tiny_model()
    config = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    return HFPolicy(get_peft_model(model, config), tokenizer, name="lora", chat_template="hermes")


def test_of_a_model_with_adapters_the_adapters_train_and_are_seen_when_decoding(tmp_path):
    policy = with_adapters()
    count = sum(parameter.numel() for parameter in policy.parameters())
    assert 0 < count < sum(parameter.numel() for parameter in policy.module.parameters()) / 10
    ids = [5, 6, 7, 8, 9]

    def decoded():
        cache = policy.open_cache()
        policy.prefill(cache, [0], [ids[:-1]])
        return policy.step(cache, torch.tensor(ids[-1:]), torch.tensor([4]), 5)[0]

    before = decoded()
    policy.logprobs(torch.tensor([ids])).sum().backward()
    with policy.updating(), torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(parameter.grad)
    after = decoded()
    assert (after - before).abs().max() > 1e-3
    with torch.no_grad():
        full = policy.head(policy.hidden(torch.tensor([ids])))[0, -1]
    torch.testing.assert_close(after, full, atol=1e-4, rtol=1e-4)


def test_adapters_are_saved_alone_and_come_back_on_their_model(tmp_path):
    base = tiny_hf_policy()
    base.save(tmp_path / "base")
    model, tokenizer = base.module, base.chat.tokenizer
    model.config._name_or_path = model.name_or_path = str(tmp_path / "base")
    config = LoraConfig(r=4, target_modules=["q_proj"], init_lora_weights=False)
    policy = HFPolicy(get_peft_model(model, config), tokenizer, name="lora")
    policy.save(tmp_path / "adapters")
    assert not (tmp_path / "adapters" / "model.safetensors").exists()
    again = open_policy(tmp_path / "adapters")
    ids = torch.tensor([[5, 6, 7, 8]])
    torch.testing.assert_close(again.logprobs(ids), policy.logprobs(ids))
    assert len(again.parameters()) == len(policy.parameters())


@pytest.mark.parametrize("kind", [tiny_hf_policy, with_adapters])
def test_saving_shows_no_progress_bars_and_leaves_them_on_for_others(kind, tmp_path, capfd):
    assert logging.is_progress_bar_enabled()
    kind().save(tmp_path)
    assert "".join(capfd.readouterr()) == ""
    assert logging.is_progress_bar_enabled()
    assert not are_progress_bars_disabled()


def test_progress_bars_that_were_off_stay_off(tmp_path):
    disable_progress_bars()  # of downloads
    try:
        tiny_hf_policy().save(tmp_path)
        assert logging.is_progress_bar_enabled()
        assert are_progress_bars_disabled()
        logging.disable_progress_bar()
        tiny_hf_policy().save(tmp_path)
        assert not logging.is_progress_bar_enabled()
    finally:
        logging.enable_progress_bar()


def test_a_save_that_fails_leaves_progress_bars_as_they_were(tmp_path, monkeypatch):
    policy = tiny_hf_policy()

    def full(folder):
        raise OSError("no space left")

    monkeypatch.setattr(policy.module, "save_pretrained", full)
    with pytest.raises(OSError, match="no space left"):
        policy.save(tmp_path)
    assert logging.is_progress_bar_enabled()


def test_a_call_that_was_sampled_oddly_is_written_again_letter_for_letter():
    policy = tiny_hf_policy()
    odd = '{"a":1,   "b" : 2.50}'
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": odd}}
    said = policy.encode_reply({"content": "", "tool_calls": [call]}, TOOLS)
    assert odd in policy.decode(said)


def test_sizes_of_graphs_are_few_and_never_too_small():
    counts = range(1, 1025)
    assert sorted({rows_for(count) for count in counts}) == [16, 32, 64, 128, 256, 512, 1024]
    assert sorted({columns_for(count) for count in counts}) == [128, 192, 256, 384, 512, 768, 1024]
    assert all(count <= min(rows_for(count), columns_for(count)) for count in counts)


@pytest.mark.slow
def test_smollm2_is_read_from_its_gguf_file_once_and_speaks(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert smollm2_path()
    policy = open_policy("smollm2", context_tokens=256)
    (folder,) = (tmp_path / "aworld" / "models").iterdir()
    assert (folder / "model.safetensors").exists()
    assert policy.name == "smollm2"
    assert [policy.chat.tokenizer.decode([end]) for end in policy.stop_ids] == ["<|im_end|>"]
    ids = policy.encode_chat([{"role": "user", "content": "What is the capital of France?"}])
    cache = policy.open_cache()
    logits = policy.prefill(cache, [0], [ids])
    said = [int(logits.argmax())]
    while said[-1] not in policy.stop_ids and len(said) < 20:
        place = len(ids) + len(said) - 1
        logits = policy.step(cache, torch.tensor(said[-1:]), torch.tensor([place]), place + 1)
        said.append(int(logits.argmax()))
    assert "Paris" in policy.decode(said)
