"""Which difference +experiment=held_out finds with a power of 0.8, before it is run
(docs/held_out.md): simulated lists of candidates, their values normal.

    python benchmarks/held_out_power.py
    python benchmarks/held_out_power.py --run runs/taught    # the lists that a run has met
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats

from archive import Archive
from archive.query import find_run
from archive.statistics.studies.choice_tests import (
    LEVEL,
    ListChoice,
    detectable,
    detectable_by,
    detection_thresholds,
    differences,
    permutation_test,
    standard_error,
)
from archive.statistics.studies.held_out import spread_within
from archive.statistics.studies.held_out_plays import read_choice
from archive.statistics.values.intervals import Scores
from xgl.random_streams import stream

GROWTHS = 4
LAYOUTS = ((1, 5, 1), (1, 8, 1), (2, 8, 1), (1, 7, 2), (1, 15, 3), (1, 20, 5), (3, 7, 2))
"""Of each growth: lists that hold both kinds; playable candidates of a list; accepted ones."""
SPREADS = (0.2, 0.33, 0.5)


def main() -> None:
    """Print the table of the docs, or what is said of a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.run:
        with Archive.open(arguments.run) as archive:
            choice = read_choice(archive, find_run(archive).run_id)
        print(of_lists(choice, arguments.trials, arguments.seed))
    else:
        print_layouts(arguments.trials, arguments.seed)


def of_lists(choice: ListChoice, trials: int, seed: int) -> str:
    """How often lists as they are raise a false alarm, and how often the interval of the difference
    holds it, where values are normal and verdicts say nothing of them."""
    assert choice.games is not None
    values = stream("power of lists", seed).normal(size=(trials, choice.games.max() + 1))
    rows = values[:, choice.games]
    alone = ListChoice(choice.is_chosen, choice.lists)
    false_alarms, naive = (
        np.mean([permutation_test(each, variant).p_value <= LEVEL for each in rows])
        for variant in (choice, alone)
    )
    inside = np.mean([_holds(each, choice) for each in rows])
    return (
        f"{len(choice.games)} candidates, {values.shape[1]} games, {len(choice.mixed_lists)} lists "
        f"that hold both kinds: {false_alarms:.1%} false alarms at {LEVEL:.0%} ({naive:.1%} were "
        f"each candidate another game), {inside:.1%} of intervals hold the difference; a power of "
        f"0.8 at {detectable_by(choice):.2f} spreads"
    )


def _holds(values: Scores, choice: ListChoice) -> bool:
    spread, freedom = spread_within(values, choice)
    reach = stats.t.ppf(0.975, freedom) * spread * standard_error(choice)
    return bool(abs(differences(values[:, None], choice)[0]) <= reach)


def print_layouts(trials: int, seed: int) -> None:
    """The table of the docs."""
    spreads = " | ".join(f"spread {spread:g}" for spread in SPREADS)
    print(f"| lists a growth | playable | accepted | false alarms | in spreads | {spreads} |")
    print("| --- " * (5 + len(SPREADS)) + "|")
    for lists, playable, accepted in LAYOUTS:
        sizes = ((playable, accepted),) * (lists * GROWTHS)
        alone = detection_thresholds(sizes, trials, seed=seed)
        least = detectable(sizes, trials=trials, seed=seed)
        cells = " | ".join(f"{least * spread:.2f}" for spread in SPREADS)
        rate = float((alone < 0).mean())
        print(f"| {lists} | {playable} | {accepted} | {rate:.1%} | {least:.2f} | {cells} |")


if __name__ == "__main__":
    main()
