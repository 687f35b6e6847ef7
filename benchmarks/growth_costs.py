"""What a growth spends on the games that it accepts, and what on all others.

    python benchmarks/growth_costs.py RUN [RUN …]

Prints, as Markdown for docs/growth.md, the core-seconds of all runs together by what became of
candidates, and how many games a core-hour would accept if every candidate were one that joins: the
limit that no better choice of candidates can pass at the same cost of showing that a game is new.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from archive import Archive, Reason, Verdict

HOUR = 3600.0
COSTS = ("scores", "rounds", "finetunes", "proposals")
"""Tables whose rows say how many seconds of work they took."""
ENDS = ("accepted", "fine-tuned, not accepted", "passed over", "refused before a fine-tune")
REST = "initial scope, and candidates without a decision"


@dataclass(frozen=True)
class Costs:
    """Candidates and core-seconds by end; ``total`` are the core-seconds of all work, so that of
    the initial scope and of candidates without a decision too."""

    candidates: Counter[str]
    seconds: Counter[str]
    total: float

    @property
    def limit(self) -> float:
        """Games per core-hour if all work went into games that join; NaN if none did."""
        count, seconds = self.candidates["accepted"], self.seconds["accepted"]
        return HOUR * count / seconds if count else float("nan")


def read_costs(folders: Sequence[Path]) -> Costs:
    """The costs of several runs together."""
    candidates, seconds, total = Counter[str](), Counter[str](), 0.0
    for folder in folders:
        with Archive.open(folder / "archive") as archive:
            trained = {row["game_id"] for row in archive.rows("finetunes", ["game_id"])}
            for row in archive.rows("decisions", ["game_id", "verdict", "reason", "seconds"]):
                end = end_of(row["verdict"], row["reason"], row["game_id"] in trained)
                candidates[end] += 1
                seconds[end] += row["seconds"]
            total += sum(row["seconds"] for name in COSTS for row in archive.rows(name))
    return Costs(candidates, seconds, total)


def end_of(verdict: str, reason: str, was_trained: bool) -> str:
    """One of ``ENDS``."""
    if verdict == Verdict.ACCEPTED:
        return "accepted"
    if was_trained:
        return "fine-tuned, not accepted"
    return "passed over" if reason == Reason.PASSED_OVER else "refused before a fine-tune"


def table(costs: Costs) -> str:
    """The table, and the limit below it."""
    lines = ["| candidates | number | core-seconds | each | share |", "| --- " * 5 + "|"]
    for end in ENDS:
        count, seconds = costs.candidates[end], costs.seconds[end]
        each = f"{seconds / count:.1f}" if count else ""
        lines.append(f"| {end} | {count} | {seconds:.0f} | {each} | {seconds / costs.total:.0%} |")
    rest = costs.total - costs.seconds.total()
    lines.append(f"| {REST} | | {rest:.0f} | | {rest / costs.total:.0%} |")
    rate = HOUR * costs.candidates["accepted"] / costs.total
    lines.append(f"\n{rate:.1f} games per core-hour; {costs.limit:.0f} if only games that join")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    print(table(read_costs(parser.parse_args().runs)))


if __name__ == "__main__":
    main()
