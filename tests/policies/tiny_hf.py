"""A Hugging Face model with random weights and a tokenizer of its own: no network."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from aworld.policies import HFPolicy

TEXTS = ["What is 12 + 5? It is 17.", '<tool_call>\n{"name": "add", "arguments": {"a": 1}}'] * 4


def tiny_tokenizer():
    """Byte-level, so that it can write anything; some pairs of bytes are one token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>")


def tiny_model(seed=0, **changes):
    tokenizer = tiny_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,
        **changes,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():  # so that what it says is far from uniform
            if parameter.ndim == 2:
                parameter.mul_(5)
    return model, tokenizer


def tiny_hf_policy(seed=0):
    model, tokenizer = tiny_model(seed)
    return HFPolicy(model, tokenizer, name="tiny", chat_template="hermes")
