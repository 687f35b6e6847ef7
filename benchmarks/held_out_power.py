"""Which difference +experiment=held_out finds with a power of 0.8, before it is run
(docs/held_out.md): simulated lists of candidates, their values normal.

    python benchmarks/held_out_power.py
"""

from __future__ import annotations

import argparse

from archive.statistics.choice_tests import detectable, found_from

GROWTHS = 4
LAYOUTS = ((1, 5, 1), (1, 8, 1), (2, 8, 1), (1, 7, 2), (1, 15, 3), (1, 20, 5), (3, 7, 2))
"""Of each growth: lists that hold both kinds; playable candidates of a list; accepted ones."""
SPREADS = (0.2, 0.33, 0.5)


def main() -> None:
    """Print the table of the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    spreads = " | ".join(f"spread {spread:g}" for spread in SPREADS)
    print(f"| lists a growth | playable | accepted | false alarms | in spreads | {spreads} |")
    print("| --- " * (5 + len(SPREADS)) + "|")
    for lists, playable, accepted in LAYOUTS:
        sizes = [(playable, accepted)] * (lists * GROWTHS)
        alone = found_from(sizes, arguments.trials, seed=arguments.seed)
        least = detectable(sizes, trials=arguments.trials, seed=arguments.seed)
        cells = " | ".join(f"{least * spread:.2f}" for spread in SPREADS)
        rate = float((alone < 0).mean())
        print(f"| {lists} | {playable} | {accepted} | {rate:.1%} | {least:.2f} | {cells} |")


if __name__ == "__main__":
    main()
