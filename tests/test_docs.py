"""The code in the README and the docs runs, and prints what it says it prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CODE = {
    str(page.relative_to(ROOT)): "\n".join(BLOCK.findall(page.read_text()))
    for page in PAGES
    if "```python" in page.read_text()
}


@pytest.mark.parametrize("code", CODE.values(), ids=CODE.keys())
def test_the_code_of_a_page_runs_from_its_top_to_its_end(code, tmp_path):
    script = tmp_path / "page.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    promised = re.findall(r"print\(.*\)  # (.*)", code)
    assert done.stdout.splitlines() == promised


def test_the_commands_in_the_readme_do_what_it_says(tmp_path):
    (script,) = re.findall(r"```sh\n(cat .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=os.environ | here,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "8/8 recorded, mean reward 1.000" in done.stdout + done.stderr
    assert "8 rows: " in done.stdout + done.stderr


def test_no_page_has_a_gap():
    for page in PAGES:
        assert not re.search(r"\b(TODO|TBD|FIXME|[A-Z]+_TABLE)\b", page.read_text()), page.name


def test_there_is_code_to_run():
    assert len(CODE) >= 4


def test_every_file_that_the_docs_link_to_exists():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_heading_that_the_docs_link_to_exists():
    for page in PAGES:
        for link, place in re.findall(r"\]\(([\w./]*)#([^)]*)\)", page.read_text()):
            text = (page.parent / link).read_text() if link else page.read_text()
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            known = {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}
            assert place in known, f"{page.name} links to {link}#{place}"


def test_every_setting_of_a_run_and_of_an_agent_is_in_the_docstring():
    from dataclasses import fields

    from aworld import AgentConfig, RunConfig

    for kind in (RunConfig, AgentConfig):
        for field in fields(kind):
            assert f"\n    {field.name} " in (kind.__doc__ or ""), field.name


TRAINING = (ROOT / "docs/training.md").read_text()


def test_every_setting_is_on_the_page_of_settings_with_its_default():
    from dataclasses import MISSING, fields

    from aworld import AgentConfig, RunConfig
    from aworld.train import TrainConfig, WarmUp

    page = (ROOT / "docs/settings.md").read_text()
    names = {"RunConfig": RunConfig, "WarmUp": WarmUp}
    for kind in (RunConfig, AgentConfig, TrainConfig, WarmUp):
        table = page.split(f"| `{kind.__name__}` | default |")[1].split("\n\n")[0]
        rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) ?\|", table, re.MULTILINE))
        assert rows.keys() == {field.name for field in fields(kind)}
        for field in fields(kind):
            if kind is TrainConfig and field.name == "run_dir":
                continue  # it must be given
            default = field.default
            if field.default_factory is not MISSING:
                default = field.default_factory()
            shown = rows[field.name].strip("`")
            assert (None if shown == "none" else eval(shown, names)) == default, field.name


def test_every_algorithm_and_what_it_can_be_told_is_on_the_page():
    from dataclasses import fields

    from aworld.train import ALGORITHMS

    page = TRAINING.split("## Algorithms")[1].split("## Warm-up")[0]
    for name, recipe in ALGORITHMS.items():
        assert f"| `{name}` |" in page
        for field in fields(recipe.settings):
            assert f"`{field.name}`" in page, field.name


def test_every_figure_that_a_training_writes_is_on_the_page(tmp_path):
    from aworld import Agent, RunConfig, Task
    from aworld.policies import ByteConfig, BytePolicy
    from aworld.train import TrainConfig, WarmUp, train

    page = TRAINING.split("| figure | meaning |")[1].split("\n\n")[0]
    named = {name for row in page.splitlines() for name in re.findall(r"`([\w@]+)`", row[:120])}
    told = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    config = TrainConfig(
        run_dir=tmp_path,
        algorithm="ppo",
        settings={"kl": 0.1},
        steps=1,
        tasks_per_step=1,
        samples=2,
        reply_tokens=2,
        warm_up=WarmUp(steps=1),
        engine=RunConfig(worker_num=0),
    )
    tasks = [Task("a", id="a")]
    result = train(
        Agent("any"),
        tasks,
        lambda task, trajectory: 1.0,
        config,
        policy=BytePolicy(ByteConfig(width=16, layers=1, inner=16, context_tokens=64)),
        held_out=tasks,
        demonstrations=[{"messages": told}],
    )
    written = {name for line in result.history for name in line}
    assert {"value_loss", "kl", "start_pass@1", "effective_sample_size"} <= written
    assert written <= named


def test_the_file_of_aworld_train_on_the_page_can_be_trained_with(tmp_path, monkeypatch):
    from aworld.cli.train_file import read_train_file
    from aworld.cli.train_job import prepared

    monkeypatch.setattr(sys, "path", list(sys.path))
    (lesson,) = re.findall(r"```toml\n(# lesson.toml.*?)```", TRAINING, re.DOTALL)
    (school,) = re.findall(r"```python\n(# school.py.*?)```", TRAINING, re.DOTALL)
    (task,) = re.findall(r"```json\n(.*?)```", TRAINING, re.DOTALL)
    (tmp_path / "lesson.toml").write_text(lesson)
    (tmp_path / "school.py").write_text(school)
    (tmp_path / "tasks.jsonl").write_text(task)
    (tmp_path / "held_out.jsonl").write_text(task)
    (tmp_path / "shown.jsonl").write_text(
        '{"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "!"}]}\n'
    )
    job = prepared(read_train_file(tmp_path / "lesson.toml"), resume=False)
    policy = job.open_policy()
    assert len(job.episodes(policy)) == 1
    assert (job.tasks[0].input, job.tasks[0].ground_truth) == ("3+4", "7")
    assert job.file.config.settings == {"clip_high": 0.28}
    assert policy.context_tokens == 128


def test_a_model_with_adapters_is_made_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tests/policies")
    from tiny_hf import tiny_model

    (code,) = re.findall(r"```py\n(from peft.*?)```", TRAINING, re.DOTALL)
    for part in tiny_model():
        part.save_pretrained(tmp_path)
    made = {"folder": tmp_path}
    exec(code, made)
    trained = sum(weight.numel() for weight in made["policy"].parameters())
    assert 0 < trained < sum(weight.numel() for weight in made["model"].parameters())


def test_every_command_on_a_page_is_one_with_these_options():
    from typer.main import get_command

    from aworld.cli.main import app

    known = get_command(app).commands
    lines = [
        line.split("#  ")[0].split("   #")[0]
        for page in PAGES
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
        for line in block.splitlines()
        if line.startswith(("aworld ", "accelerate launch")) and "aworld " in line
    ]
    assert len(lines) > 8
    for line in lines:
        name, *words = line.split("aworld ")[1].split()
        options = {option for one in known[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= options, line


def test_every_room_in_the_picture_exists_and_every_room_is_in_the_picture():
    page = (ROOT / "docs/architecture.md").read_text()
    named = set(re.findall(r"(\w+\.py)\b", page.split("```")[3]))
    modules = {path.name for path in (ROOT / "src/aworld").rglob("*.py")}
    inside_core_and_packages = {p.name for p in (ROOT / "src/aworld/core").glob("*.py")}
    assert named <= modules
    assert modules - inside_core_and_packages - {"__init__.py"} <= named


def test_every_example_is_tested():
    assert EXAMPLES.keys() == {path.name for path in (ROOT / "examples").glob("*.py")}


EXAMPLES = {
    "01_parallel_tasks.py": r"200/200 done, 0 running, 7 failed",
    "02_agent_with_tools.py": r"(1[6-9]|20) of 20 right",
    "03_parallel_search.py": r"by_title, by_words,",
    "04_any_framework.py": r"task19 .* success",
    "06_evaluate.py": r"27 better, 0 worse, 13 the same: the second is better",
    "07_reasoning_gym.py": r"with_tool │ 1\.000 .*\n.*difference",
    "05_train_on_cpu.py": r"[0-4]?\d% after imitation, (95|100)% after",
}


@pytest.mark.parametrize(("name", "seen"), EXAMPLES.items())
def test_the_example_runs_and_shows_what_it_promises(name, seen):
    for name_of_model in ("LLM_MODEL_NAME", "LLM_BASE_URL"):
        assert name_of_model not in os.environ
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert re.search(seen, done.stdout + done.stderr), done.stdout


@pytest.mark.slow
def test_the_example_for_a_gpu_goes_a_step_on_a_cpu(tmp_path):
    example = ROOT / "examples/train_calculator/train.py"
    done = subprocess.run(
        [sys.executable, example, "--small", "--workers", "2", "--folder", tmp_path / "run"],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"step   0  start_pass@1 \S+  imitated [1-9]", done.stdout), done.stdout
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["parameters"] > 100_000_000
    assert summary["evaluations"].keys() == {"0", "1"}
