"""Writes the page of figures from what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from standings import MEMORY, SECONDS, WORK, Behind, Measure, Row, behind, names, sizes, values

PAGE = """# Figures

How long it takes to run many waiting agents, what memory that needs, and what is lost when a worker
dies: this project beside its peers, in one run.

Every task is a stub of an agent: it waits 50 ms, as for a model, and returns 1 kB. Made on {date}
by `{command}`, on a machine with {cpus} CPUs and {memory_gb} GB of memory, {system}, Python
{python}, Java {java}. Trust the ratios, not the seconds.

{used}

Each was used as its documentation shows it, async where it can be. Ray and Spark were opened in the
same way for all who run on them: two CPUs, no dashboard, and Spark may try a task four times. No
pool was given more processes than tasks. PyPI's `aworld` is another project of the same name.

## Seconds, start to end

From the start of a fresh process to its end: what you wait for a script. {repeated}

![Seconds by number of tasks, one picture for each group](results/peers-seconds.svg)

{seconds}

## Seconds, once it has started

From the first line after the imports, with Ray, Spark or dask open already, until all results are
in hand. The worker processes that a pool or an engine starts for its tasks are in it.

{work}

## Memory

The peak of all processes together, the cluster's own among them, in MB. Pages that processes share
count once (PSS). Of what ends within a second, a part of the peak may not have been seen.

![Peak of memory](results/peers-memory.svg)

{memory}

## One worker killed

{killed_size} tasks; as soon as half of them had begun, the process that began the last one was
killed with SIGKILL, once for each contender. How many results came back?

{lost}

## Where we are not ahead

Every figure above in which a peer of the same group was better than ours, however little.

{behind}

## Make it again

```sh
make bench                      # this page first, then the last three below
python benchmarks/peers         # this page alone; --quick for a look, --only NAME for one of them
python benchmarks/engines.py    # engines: tasks that do nothing, large results, mixed durations
python benchmarks/agents.py     # agents: the cost of a model call, beside other frameworks
python benchmarks/store.py      # recorded runs: rows a second, size, opening a large run
```

Each peer is installed into an environment of its own under `.venv-peers/`, and so is this project,
in the versions that `benchmarks/peers/requirements` asks for.
"""


def written(machine: dict[str, Any], rows: list[Row]) -> str:
    repeats = max(
        (len(values(rows, SECONDS, row["contender"], row["tasks"])) for row in rows), default=1
    )
    parts = {
        "used": used_table(machine),
        "repeated": f"What takes long was run once; what is quick, {repeats} times, with the\n"
        "contenders in turn: the median and, in brackets, the best."
        if repeats > 1
        else "Each was run once.",
        "seconds": figures_table(rows, SECONDS),
        "work": figures_table(rows, WORK),
        "memory": figures_table(rows, MEMORY),
        "killed_size": next((row["tasks"] for row in rows if "killed" in row), 0),
        "lost": loss_table(rows),
        "behind": behind_table(behind(rows)),
    }
    return PAGE.format(**{**machine, **parts})


def table(head: list[str], lines: Iterable[list[str]]) -> str:
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines))


def used_table(machine: dict[str, Any]) -> str:
    def versions(environment: str) -> str:
        known = machine["versions"][environment]
        return ", ".join(f"{name} {number}" for name, number in known.items()) or "Python's own"

    head = ["contender", "group", "how it was used", "versions"]
    return table(
        head,
        [
            [name, group, how, versions(environment)]
            for name, (group, environment, how) in machine["used"].items()
        ],
    )


def figures_table(rows: list[Row], measure: Measure) -> str:
    ours = {row["contender"] for row in rows if row["ours"]}

    def cell(name: str, tasks: int) -> str:
        found = values(rows, measure, name, tasks)
        if found:
            best = f" ({measure.shown.format(min(found))})" if len(found) > 1 else ""
            return measure.shown.format(measure.summary(found)) + best
        tried = [
            row
            for row in rows
            if (row["contender"], row["tasks"]) == (name, tasks) and "killed" not in row
        ]
        if any(row["hangs"] for row in tried):
            return "hangs"
        return "fails" if tried else "not run"

    def line(name: str) -> list[str]:
        label = f"**{name}**" if name in ours else name
        return [label, *(cell(name, tasks) for tasks in sizes(rows))]

    head = [measure.unit, *map(tasks_told, sizes(rows))]
    return table(head, map(line, names(rows)))


def loss_table(rows: list[Row]) -> str:
    def line(row: Row) -> list[str]:
        lost = row["tasks"] - row["good"]
        if row["hangs"]:
            told = "hangs"
        elif not row["killed"]:
            told = "has no worker to kill: all tasks are in the program itself"
        elif lost:
            told = f"{'all' if lost == row['tasks'] else lost} lost"
        else:
            told = f"all {row['tasks']}"
        name = f"**{row['contender']}**" if row["ours"] else row["contender"]
        error = f"`{row['error']}`" if row["error"] and lost else ""
        return [name, told, f"{row['seconds']:.2f}", error]

    head = ["", "results", "seconds, start to end", "error"]
    return table(head, [line(row) for row in rows if "killed" in row])


def behind_table(found: list[Behind]) -> str:
    if not found:
        return "In this run there is none."
    return table(
        ["what", "the peer", "ours"],
        [
            [
                f"{one.what}, {tasks_told(one.tasks)}",
                f"{one.peer}: {one.theirs}",
                f"{one.name}: {one.ours}",
            ]
            for one in found
        ],
    )


def tasks_told(count: int) -> str:
    return f"{count} task{'s' * (count != 1)}"
