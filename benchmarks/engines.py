"""How fast the engines are, against Python's own pools, Ray and Spark, side by side in one run.

    python benchmarks/engines.py [--repeat N] [--quick] [--only TEXT] [--out FILE]

Figures are medians of N rounds; the rounds of all contenders are interleaved, so that a busy moment
of the machine hits them alike. Trust the ratios, not the seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cluster_cases
import local_cases
from clusters import CLUSTERS
from measuring import Row, Suite, report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tasks")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/engines.json")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    suites = [local_cases.suite(options.repeat, scale)]
    for cluster in CLUSTERS:
        suites += cluster_cases.suites(cluster, options.repeat, scale)
    rows = [row for suite in suites for row in run(suite, options.only)]
    report("aworld engines", rows, options.out)


def run(suite: Suite, only: str) -> list[Row]:
    """The cases whose name contains `only`; none of them where something is missing."""
    chosen = {name: case for name, case in suite.cases.items() if only in name}
    if not chosen:
        return []
    if missing := suite.missing():
        print(f"skipped {', '.join(chosen)}: {missing}")
        return []
    with suite.opened():
        return [row for case in chosen.values() for row in case()]


if __name__ == "__main__":
    main()
