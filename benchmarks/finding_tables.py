"""Tables of docs/findings.md that no run prints, from archived rows.

python benchmarks/finding_tables.py solvers RUN         # mean best score of each solver
python benchmarks/finding_tables.py survivals RUN…      # gains under another judge, in full
python benchmarks/finding_tables.py passed-over A B     # verdicts of B on what A passed over
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from archive import Archive, Reason
from archive.query import find_run
from archive.schema import TaskId
from archive.statistics.decisions.second_judge import read_survivals
from archive.statistics.values.intervals import Interval

SOLVERS = ("samples", "beam", "gradient")


def print_solvers(runs: list[Path]) -> None:
    """Mean over maps of the best score that each solver reached, bits."""
    with Archive.open(runs[0]) as archive:
        best: defaultdict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        for row in archive.rows("ceilings"):
            if row["solver"] in SOLVERS:
                by_map = best[row["game_id"], row["solver"]]
                score = by_map.get(row["map_seed"], row["score"])  # a larger budget adds a row
                by_map[row["map_seed"]] = max(score, row["score"])
    for (game_id, solver), scores in sorted(best.items()):
        mean = np.mean(list(scores.values()))
        print(f"{game_id[:8]} {solver:8} {mean:6.1f} bits on {len(scores)} maps")


def print_survivals(runs: list[Path]) -> None:
    """Gains about the map under both judges, bits, and the shares that survive."""
    for run in runs:
        with Archive.open(run) as archive:
            for each in read_survivals(archive, find_run(archive).run_id):
                gains = f"{_text(each.gain)} → {_text(each.second_gain)}"
                shares = f"specific {_text(each.specific, 2)}, total {_text(each.total, 2)}"
                print(f"{run.name} {each.task_id.game_id[:8]}, {each.plays} plays: {gains}")
                print(f"    {shares}; {each.decision or 'needs more plays'}")


def _text(interval: Interval, digits: int = 1) -> str:
    if interval.value is None:
        return "undefined"
    return f"{interval.value:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def print_passed_over(runs: list[Path]) -> None:
    """What the second run decided on candidates that the first passed over."""
    first, second = (_reasons(run) for run in runs)
    passed_over = [task for task, reason in first.items() if reason == Reason.PASSED_OVER]
    print(f"{len(first.keys() & second.keys())} candidates in common")
    for task in passed_over:
        if task in second:
            print(f"{task.game_id[:8]} {second[task]}")


def _reasons(run: Path) -> dict[TaskId, str]:
    with Archive.open(run) as archive:
        return {TaskId.of(row): row["reason"] for row in archive.rows("decisions")}


TABLES = {
    "solvers": print_solvers,
    "survivals": print_survivals,
    "passed-over": print_passed_over,
}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("runs", type=Path, nargs="+")
    arguments = parser.parse_args()
    TABLES[arguments.table](arguments.runs)


if __name__ == "__main__":
    main()
