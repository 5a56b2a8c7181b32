"""TRL takes what is written for it: its own functions read it, and its trainers take a step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded import response, says, step, user, write_run

from aworld.core.task import Task
from aworld.exports import export

TRAINED = "task in ('sum', 'team')"
FORMS = ("parquet", "jsonl")


@pytest.fixture(scope="module")
def tokenizer():
    """Of single bytes, with the chat template of Qwen 3."""
    import trl
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<|im_start|>", "<|im_end|>", "<pad>"]
    vocab = {name: number for number, name in enumerate(names)}
    plain = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore
    plain.decoder = decoders.ByteLevel()  # type: ignore
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    return PreTrainedTokenizerFast(
        tokenizer_object=plain,
        eos_token="<|im_end|>",
        pad_token="<pad>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=template.read_text(),
    )


@pytest.fixture
def written(run, tmp_path, load):
    def write(to, form, **options):
        exported = export(run, to, tmp_path / f"{to}.{form}", **options)
        return load(exported.path), exported.left_out

    return write


def tools_of(row):
    """As the trainers read them."""
    return json.loads(row["tools"]) if row["tools"] else None


@pytest.mark.parametrize("form", FORMS)
def test_sft_rows_are_conversations_that_a_chat_template_renders(written, tokenizer, form):
    from trl.data_utils import apply_chat_template, is_conversational

    rows, left_out = written("trl-sft", form, where=TRAINED)
    assert len(rows) == 7
    assert left_out == {"rollouts without a model call": 1}
    assert all(is_conversational(row) for row in rows)
    text = apply_chat_template({"messages": rows[0]["messages"]}, tokenizer, tools_of(rows[0]))
    assert '{"name": "add", "arguments": {"a": 1, "b": 2}}' in text["text"]
    assert "Adds two numbers." in text["text"]
    assert "null" not in text["text"]  # no field of another message or tool has slipped in
    assert text["text"].rstrip().endswith("3<|im_end|>")


@pytest.mark.parametrize("form", FORMS)
def test_dpo_rows_are_the_best_sample_against_the_worst(written, tokenizer, form):
    from trl.data_utils import apply_chat_template, unpair_preference_dataset

    rows, left_out = written("trl-dpo", form, where=TRAINED)
    (row,) = rows
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    assert (row["chosen"][-1]["content"], row["rejected"][-1]["content"]) == ("3", "4")
    assert left_out == {
        "rollouts without a reward": 1,
        "tasks whose samples have no two different rewards": 1,
    }
    example = {key: row[key] for key in ("prompt", "chosen", "rejected")}
    text = apply_chat_template(example, tokenizer, tools_of(row))
    assert "What is 1 + 2?" in text["prompt"]
    assert text["chosen"].rstrip().endswith("3<|im_end|>")
    assert text["rejected"].rstrip().endswith("4<|im_end|>")
    assert len(unpair_preference_dataset(rows)) == 2


def test_the_prompt_of_a_pair_is_the_one_that_trl_would_find(written):
    from trl.data_utils import extract_prompt

    rows, _ = written("trl-dpo", "jsonl", where=TRAINED)
    row = rows[0]
    whole = {key: row["prompt"] + row[key] for key in ("chosen", "rejected")}
    found = extract_prompt(whole)
    assert found["prompt"][: len(row["prompt"])] == row["prompt"]


def test_all_pairs_are_those_with_different_rewards(written):
    rows, _ = written("trl-dpo", "parquet", where=TRAINED, pairs="all")
    ends = [(row["chosen"][-1]["content"], row["rejected"][-1]["content"]) for row in rows]
    assert ends == [("3", "3, or so"), ("3", "4"), ("3, or so", "4")]


def test_samples_that_were_asked_something_else_are_no_pair(tmp_path):
    samples = [
        response("a", [step([user("the one")], says("a"))], reward=1.0),
        response("b", [step([user("the other")], says("b"))], reward=0.0),
    ]
    with write_run(tmp_path / "run", (Task("q"), samples)) as run:
        exported = export(run, "trl-dpo")
    assert exported.rows == 0
    assert exported.left_out == {"pairs of samples that did not begin with the same messages": 1}


@pytest.mark.parametrize("form", FORMS)
def test_kto_labels_follow_the_threshold(written, tokenizer, form):
    from trl.data_utils import apply_chat_template, is_conversational

    rows, left_out = written("trl-kto", form, where=TRAINED)
    assert rows["label"] == [True, False, True, True, True, True, True]
    assert left_out == {"rollouts without a reward": 1}
    assert all(is_conversational(row) for row in rows)
    row = rows[1]
    example = {key: row[key] for key in ("prompt", "completion", "label")}
    text = apply_chat_template(example, tokenizer, tools_of(row))
    assert text["label"] is False
    assert text["completion"].rstrip().endswith("4<|im_end|>")


def test_a_higher_threshold_makes_fewer_completions_good(written):
    rows, _ = written("trl-kto", "parquet", where="task = 'sum'", threshold=1)
    assert rows["label"] == [True, False, False]


def test_arguments_that_are_no_json_stay_as_the_model_wrote_them(tmp_path, load):
    wrong = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{oops"}}
    steps = [step([user("q")], says(None, tool_calls=[wrong], refusal=None))]
    with write_run(tmp_path / "run", (Task("q"), [response("a", steps)])) as run:
        (row,) = load(export(run, "trl-sft").path)
    assert row["messages"] == [user("q"), says("", tool_calls=[wrong])]


def test_the_trainers_take_a_step_on_it(written, tokenizer, tmp_path):
    from transformers import LlamaConfig, LlamaForCausalLM
    from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, SFTConfig, SFTTrainer

    small = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )
    common = {
        "output_dir": str(tmp_path / "out"),
        "max_steps": 1,
        "per_device_train_batch_size": 2,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        "max_length": 4096,
    }
    sft, _ = written("trl-sft", "parquet", where=TRAINED)
    dpo, _ = written("trl-dpo", "parquet", where=TRAINED, pairs="all")
    kto, _ = written("trl-kto", "parquet", where=TRAINED)
    # each trainer changes the model that it is given
    trainers = [
        SFTTrainer(
            model=LlamaForCausalLM(small),
            args=SFTConfig(assistant_only_loss=True, **common),
            train_dataset=sft,
            processing_class=tokenizer,
        ),
        DPOTrainer(
            model=LlamaForCausalLM(small),
            ref_model=LlamaForCausalLM(small),
            args=DPOConfig(**common),
            train_dataset=dpo,
            processing_class=tokenizer,
        ),
        KTOTrainer(
            model=LlamaForCausalLM(small),
            ref_model=LlamaForCausalLM(small),
            args=KTOConfig(**common),
            train_dataset=kto,
            processing_class=tokenizer,
        ),
    ]
    for trainer in trainers:
        assert trainer.train().global_step == 1
    seen = trainers[0].train_dataset[0]
    trained = tokenizer.decode([label for label in seen["labels"] if label >= 0])
    assert '{"name": "add", "arguments": {"a": 1, "b": 2}}' in trained
    assert "<tool_response>" not in trained
