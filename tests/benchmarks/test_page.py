"""The page of figures is made from what was measured, and hides nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
MACHINE = {
    "command": "make bench",
    "date": "2030-01-02",
    "cpus": 2,
    "memory_gb": 8,
    "system": "Linux",
    "python": "3.11.7",
    "java": "17.0.15",
    "versions": {"ours": {"aworld": "0.1"}, "python": {}, "ray": {"ray": "2.60.0"}},
    "used": {
        "us": ["one machine", "ours", "2 workers"],
        "pool": ["one machine", "python", "`submit`"],
        "us on Ray": ["Ray", "ours", "2 workers"],
        "Ray tasks": ["Ray", "ray", "2 CPUs"],
    },
}
# The folder is put on the path of a process of its own: its names are too plain for ours.
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import page, plots, standings
machine, rows = json.load(sys.stdin)
print(json.dumps({
    "page": page.written(machine, rows),
    "behind": standings.behind(rows),
    "pictures": [plots.curves(rows), plots.bars(rows)],
}))
"""


def row(contender, tasks=32, **more):
    group = MACHINE["used"][contender][0]
    ours = MACHINE["used"][contender][1] == "ours"
    found = {"contender": contender, "group": group, "ours": ours, "tasks": tasks}
    usual = {"seconds": 1.0, "work_seconds": 0.5, "good": tasks, "hangs": False, "error": ""}
    return found | usual | more


def made(rows):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, PEERS],
        input=json.dumps([MACHINE, rows]),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_figure_in_which_a_peer_is_better_is_listed_with_both_numbers():
    found = made(
        [
            row("us", seconds=2.0, work_seconds=0.2, memory_mb=40),
            row("pool", seconds=1.5, work_seconds=0.9, memory_mb=30),
        ]
    )
    assert found["behind"] == [
        ["start to end", 32, "pool", "1.50 s", "us", "2.00 s"],
        ["memory", 32, "pool", "30 MB", "us", "40 MB"],
    ]
    told = found["page"].split("## Where we are not ahead")[1]
    assert "| start to end, 32 tasks | pool: 1.50 s | us: 2.00 s |" in told
    assert "| memory, 32 tasks | pool: 30 MB | us: 40 MB |" in told


def test_a_peer_is_compared_with_us_on_its_own_ground():
    rows = [row("us", seconds=1.0), row("us on Ray", seconds=9.0), row("pool", seconds=5.0)]
    assert made(rows)["behind"] == []
    behind = made([*rows, row("Ray tasks", seconds=8.0)])["behind"]
    assert [(one[2], one[4]) for one in behind] == [("Ray tasks", "us on Ray")]


def test_a_case_that_only_the_peer_finishes_counts_against_us():
    found = made([row("us", good=31), row("pool")])
    assert ["start to end", 32, "pool", "1.00 s", "us", "none"] in found["behind"]
    assert "| **us** | fails |" in found["page"]


def test_a_timing_is_the_median_of_the_runs_whose_memory_was_not_watched():
    runs = [row("us", seconds=seconds) for seconds in (1.0, 3.0, 2.0)]
    found = made([row("us", seconds=99.0, memory_mb=40), *runs])
    assert "| **us** | 2.00 (1.00) |" in found["page"]
    assert "99.00" not in found["page"]


@pytest.mark.parametrize(
    ("came", "told"),
    [
        ({"good": 200}, "all 200"),
        ({"good": 150, "error": "BrokenProcessPool"}, "50 lost"),
        ({"good": 0}, "all lost"),
        ({"good": 0, "hangs": True}, "hangs"),
        ({"good": 200, "killed": False}, "has no worker to kill"),
    ],
)
def test_it_says_what_one_killed_worker_cost(came, told):
    page = made([row("us"), row("pool", tasks=200, **{"killed": True, **came})])["page"]
    lost = page.split("## One worker killed")[1].split("##")[0]
    assert re.search(rf"\| pool \| {told}.*\|", lost)


def test_losing_more_than_a_peer_under_a_kill_is_listed():
    killed = [row("us", 200, killed=True, good=190), row("pool", 200, killed=True, good=195)]
    listed = ["one worker killed", 200, "pool", "195 results", "us", "190 results"]
    assert listed in made([row("us"), row("pool"), *killed])["behind"]


def test_the_pictures_show_every_contender_and_no_ground_of_their_own():
    rows = [row(name, tasks, memory_mb=40) for name in MACHINE["used"] for tasks in (1, 32)]
    for picture in made(rows)["pictures"]:
        words = {part.text for part in ElementTree.fromstring(picture).iter() if part.text}
        assert words >= set(MACHINE["used"])
        assert not re.search(r'fill="(#fff\w*|#000\w*|white|black)"', picture)
