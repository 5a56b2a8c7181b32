"""The live line and the table: for a person, in a terminal or in a log."""

from __future__ import annotations

import io

from rich.console import Console

from aworld import EchoAgent, ErrorInfo, RunConfig, Runners, Task, TaskResponse
from aworld.progress import summary, with_progress

CONF = RunConfig(worker_num=1)


def shown(*, terminal: bool, delay: float = 0.0, count: int = 10) -> tuple[str, list[TaskResponse]]:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    tasks = [Task(input=i, agent=EchoAgent(delay=delay)) for i in range(count)]
    responses = list(with_progress(Runners.stream_tasks(tasks, CONF), console=console))
    return console.file.getvalue(), responses  # type: ignore[attr-defined]


def test_every_response_is_passed_on():
    for terminal in (True, False):
        _, responses = shown(terminal=terminal)
        assert sorted(response.answer for response in responses) == list(range(10))


def test_a_log_gets_plain_lines_without_control_characters():
    text, _ = shown(terminal=False)
    assert "10/10 done, 0 running, 0 failed" in text
    assert text.count("10/10") == 1
    assert "\x1b" not in text


def test_a_terminal_sees_what_runs_before_anything_is_done():
    text, _ = shown(terminal=True, delay=0.8, count=3)
    assert "3 running, 0 failed" in text
    assert "3/3" in text


def test_the_table_counts_by_status_and_gives_a_reason():
    responses = [
        TaskResponse("a", answer=1, time_cost=0.5),
        TaskResponse("b", status="failed", error=ErrorInfo("ValueError", "[bold]no[/x]")),
        TaskResponse("c", status="failed", error=ErrorInfo("ValueError", "[bold]no[/x]")),
    ]
    console = Console(file=io.StringIO(), width=100)
    console.print(summary(responses, title="three [/x] tasks"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "three [/x] tasks" in text
    assert "ValueError: [bold]no[/x]" in text
    assert [line.split()[3] for line in text.splitlines() if "failed" in line] == ["2"]
