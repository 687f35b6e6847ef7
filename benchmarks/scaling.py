"""What a generation costs as the scope grows, from the constants of a run that was archived.

    python benchmarks/scaling.py RUN_FOLDER [--scopes 10 100 1000] [--workers 1]

Prints three Markdown tables, for docs/scaling.md: the constants, the cost of a list and of a
generation, and how far into the scope γ has to look on grown toy scopes when it stops early.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from archive import Archive, Purpose, Reason
from evo.config.schema import GrowthSettings
from evo.experiments.toy.world import Neighbourhood, ToyGame, ToyOracle, matrix, transfer
from evo.search.growth import Assessment, Candidate, grow

NEWEST = 10
"""A generation's parents are the games that the last one accepted: here one game in so many."""
PURPOSES = (Purpose.CALIBRATION, Purpose.SELECTION, Purpose.ACCEPTANCE)
UNPLAYABLE = (Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP)
PARENTS_OWN = 2
"""Evaluations of the parent that an acceptance test asks for beside the candidate's: base, own."""


# -- constants -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunConstants:
    """Per run: tokens and seconds of one fine-tune and one play, and shares by stage."""

    candidates: float
    """Of a list."""
    fit: float
    """Share of the candidates that calibration leaves to be fine-tuned."""
    playable: float
    """Share of the fine-tuned whose own gain is above 0, and about the map."""
    helping: float
    """Share of the playable that seem to help the parent."""
    acceptance_tests: float
    """Acceptance tests in a list."""
    plays: dict[str, float]
    """Plays of one policy on one game by purpose, as races ended them."""
    finetune: tuple[float, float]
    """Tokens, seconds."""
    play: dict[str, tuple[float, float]]
    """Of one play by purpose: tokens, seconds."""


def read_constants(folder: Path) -> RunConstants:
    """The constants of one archived run; raises :class:`archive.ArchiveError`."""
    with Archive.open(folder / "archive") as archive:
        decisions, finetunes = archive.rows("decisions"), archive.rows("finetunes")
        plays = archive.rows("scores", ["policy_id", "game_id", "purpose", "tokens", "seconds"])
    lists = {(d["generation"], d["parent_game_id"], d["round"]) for d in decisions}
    trained_rows = [d for d in decisions if d["finetune_id"]]
    playable = [
        d for d in trained_rows if d["reason"] not in UNPLAYABLE or d["purpose"] != "selection"
    ]
    helping = [d for d in playable if d["gamma"] is not None]
    tested_rows = [d for d in helping if d["purpose"] == Purpose.ACCEPTANCE]
    of = {purpose: [row for row in plays if row["purpose"] == purpose] for purpose in PURPOSES}
    return RunConstants(
        candidates=len(decisions) / len(lists),
        fit=len(trained_rows) / len(decisions),
        playable=len(playable) / len(trained_rows),
        helping=len(helping) / len(playable),
        acceptance_tests=len(tested_rows) / len(lists),
        plays={
            purpose: len(rows) / len({(row["policy_id"], row["game_id"]) for row in rows})
            for purpose, rows in of.items()
        },
        finetune=(_mean(finetunes, "tokens"), _mean(finetunes, "seconds")),
        play={p: (_mean(rows, "tokens"), _mean(rows, "seconds")) for p, rows in of.items()},
    )


def _mean(rows: Sequence[dict[str, Any]], column: str) -> float:
    return float(np.mean([row[column] for row in rows]))


# -- the cost of a list --------------------------------------------------------------------------


@dataclass(frozen=True)
class ListCost:
    """Of one list of candidates for one parent."""

    finetunes: float
    evaluations: float
    tokens: float
    seconds: float
    gamma_tokens: float
    """Of ``tokens``, those that γ takes: the scope's adapters on candidates."""


def list_cost(run: RunConstants, scope: int, scanned: float = 1.0) -> ListCost:
    """``scanned``: the mean share of the scope that plays a helping candidate on selection seeds;
    an acceptance test always asks the whole scope."""
    trained = run.candidates * run.fit
    playable = trained * run.playable
    gamma = {
        Purpose.SELECTION: playable * run.helping * scope * scanned,
        Purpose.ACCEPTANCE: run.acceptance_tests * scope,
    }
    other = {
        Purpose.CALIBRATION: run.candidates,
        Purpose.SELECTION: 2 * trained + playable,
        Purpose.ACCEPTANCE: run.acceptance_tests * (3 + PARENTS_OWN),
    }
    evaluations = {p: other[p] + gamma.get(p, 0.0) for p in other}

    def total(counts: dict[Purpose, float], which: int) -> float:
        return sum(counts[p] * run.plays[p] * run.play[p][which] for p in counts)

    return ListCost(
        trained,
        sum(evaluations.values()),
        trained * run.finetune[0] + total(evaluations, 0),
        trained * run.finetune[1] + total(evaluations, 1),
        total(gamma, 0),
    )


# -- how far γ has to look -----------------------------------------------------------------------


@dataclass
class Watched:
    """The toy oracle, and how many games of the scope each helping candidate had to be shown.

    A scan that stops at the first game that covers the candidate sees ``in_order`` of them when it
    goes by acceptance, ``by_promise`` when it goes by what each teaches the parent.
    """

    covered_at: float
    alpha1: float
    inner: ToyOracle = field(default_factory=ToyOracle)
    records: list[tuple[int, bool, int, int]] = field(default_factory=list)
    """Games in the scope, whether one covers the candidate, ``in_order``, ``by_promise``."""

    def assess(
        self, candidates: Sequence[Candidate[ToyGame]], scope: Sequence[ToyGame]
    ) -> list[Assessment[ToyGame]]:
        assessments = self.inner.assess(candidates, scope)
        helping = [a.candidate.game for a in assessments if (a.helps or 0) >= self.alpha1]
        if helping:
            sources, parent = matrix(scope), matrix([candidates[0].parent])
            promise = np.argsort(-transfer(sources, parent)[0], kind="stable")
            covers = transfer(sources, matrix(helping)) >= self.covered_at
            for row in covers:
                hit = bool(row.any())
                ranks = [int(r.argmax()) + 1 if hit else len(scope) for r in (row, row[promise])]
                self.records.append((len(scope), hit, ranks[0], ranks[1]))
        return assessments

    def confirm(self, ranking: Sequence[Assessment[ToyGame]]) -> Assessment[ToyGame] | None:
        return self.inner.confirm(ranking)


@dataclass(frozen=True)
class Scan:
    """At one size of the scope: helping candidates, the share that is covered, and the share of
    the scope that a scan sees that stops at the first game that covers."""

    candidates: int
    coverage: float
    in_order: float
    by_promise: float


def scans(sizes: Sequence[int], seeds: int, alpha2: float) -> Iterator[tuple[int, Scan]]:
    """Toy growths of Fig. 6.1 with a finer α2, looked at while their scope has about such a size
    (from three quarters of it to five quarters)."""
    records: list[tuple[int, bool, int, int]] = []
    for seed in range(seeds):
        watched = Watched(1 - alpha2, 0.9)
        settings = GrowthSettings(0.9, alpha2, 100, 100)
        for scope in grow(
            [ToyGame.of((0.05, 0.05))], watched, Neighbourhood(0.1, seed), settings, seed
        ):
            if len(scope) > 1.25 * max(sizes):
                break
        records += watched.records
    for size in sizes:
        near = np.array([each for each in records if 0.75 * size <= each[0] <= 1.25 * size], float)
        if len(near):
            n, hit, in_order, by_promise = near.T
            yield size, Scan(len(near), hit.mean(), (in_order / n).mean(), (by_promise / n).mean())


# -- tables --------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--scopes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alpha2", type=float, default=0.01)
    options = parser.parse_args()
    run = read_constants(options.run)
    _print_constants(run)
    scans_by_size = dict(scans(options.scopes, options.seeds, options.alpha2))
    _print_costs(run, options.scopes, scans_by_size)
    _print_scans(scans_by_size)


def _print_constants(run: RunConstants) -> None:
    print("| constant | measured |\n| --- | --- |")
    rows = [
        ("candidates in a list", f"{run.candidates:.1f}"),
        ("… of them fine-tuned", f"{run.fit:.0%}"),
        ("… of those playable", f"{run.playable:.0%}"),
        ("… of those seem to help the parent", f"{run.helping:.0%}"),
        ("acceptance tests in a list", f"{run.acceptance_tests:.1f}"),
        ("a fine-tune", _cost_text(run.finetune)),
        *((f"a play for {purpose}", _cost_text(cost)) for purpose, cost in run.play.items()),
        (
            "plays of a policy: calibration, selection, acceptance",
            ", ".join(f"{run.plays[purpose]:.0f}" for purpose in PURPOSES),
        ),
    ]
    for row in rows:
        print(f"| {row[0]} | {row[1]} |")
    print()


def _cost_text(cost: tuple[float, float]) -> str:
    return f"{cost[0]:,.0f} tokens, {cost[1]:.3g} s"


def _print_costs(run: RunConstants, sizes: Sequence[int], scans_by_size: dict[int, Scan]) -> None:
    print(
        "| games in the scope | of a list: fine-tunes | evaluations | million tokens | … of them γ "
        f"| worker hours | of a generation ({NEWEST} % are parents): million tokens | worker hours "
        "| with an early stop |\n" + "| --- " * 9 + "|"
    )
    for size in sizes:
        cost = list_cost(run, size)
        parents = max(1, size // NEWEST)
        scanned = scans_by_size[size].by_promise if size in scans_by_size else 1.0
        early = list_cost(run, size, scanned)
        cells = [
            f"{size:,}",
            f"{cost.finetunes:.1f}",
            f"{cost.evaluations:,.0f}",
            f"{cost.tokens / 1e6:,.2f}",
            f"{cost.gamma_tokens / cost.tokens:.0%}",
            f"{cost.seconds / 3600:.2f}",
            f"{parents * cost.tokens / 1e6:,.1f}",
            f"{parents * cost.seconds / 3600:,.1f}",
            f"− {1 - early.tokens / cost.tokens:.0%} tokens",
        ]
        print("| " + " | ".join(cells) + " |")
    print()


def _print_scans(scans_by_size: dict[int, Scan]) -> None:
    print(
        "| games in the toy scope | helping candidates | covered | scope seen, by acceptance "
        "| by promise |\n" + "| --- " * 5 + "|"
    )
    for size, scan in scans_by_size.items():
        print(
            f"| {size:,} | {scan.candidates:,} | {scan.coverage:.0%} | {scan.in_order:.1%} "
            f"| {scan.by_promise:.1%} |"
        )


if __name__ == "__main__":
    main()
