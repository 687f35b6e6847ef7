"""How often +experiment=universality answers, and whether rightly (docs/universality.md): simulated
measures of the default ladder, whose models' values are normal.

    python benchmarks/universality_power.py [--trials 100] [--resamples 500]

The models are 18 of 10 families, as in the third run; half of the variance of a model's value is
that of its family. True values of a model on two measures have the correlation ``alike``; each map
adds noise. Noise is given as the mean Kendall's τ of two halves of the maps that it leads to.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

import numpy as np

from archive.schema import TaskId
from archive.statistics.studies.universality import (
    SPLITS,
    MeasuredScope,
    UniversalityAnswer,
    UniversalityQuestion,
    universality,
)
from archive.statistics.values.intervals import Scores
from xgl.random_streams import stream

FAMILIES = (3, 2, 2, 2, 2, 2, 2, 1, 1, 1)
"""Models of each family."""
MODELS = tuple(
    f"m{family}@{variant}" for family, size in enumerate(FAMILIES) for variant in range(size)
)
MAPS = 48
LAYOUTS = ((4, 6.0), (4, 3.0), (4, 1.5), (12, 3.0), (12, 1.5))
"""Growths, and standard deviation of a map's noise in those of models."""
ALIKE = (1.0, 0.8, 0.5, 0.0)


def models(rng: np.random.Generator) -> Scores:
    """Values (models,) with variance 1, half of which is that of families."""
    families = np.repeat(rng.normal(size=len(FAMILIES)), FAMILIES)
    return np.asarray(np.sqrt(0.5) * (families + rng.normal(size=len(families))))


def measures(
    rng: np.random.Generator, growths: int, alike: float, noise: float
) -> Iterator[MeasuredScope]:
    """The measures of independent growths."""
    common = models(rng)
    for number in range(growths):
        values = np.sqrt(alike) * common + np.sqrt(1 - alike) * models(rng)
        maps = values + noise * rng.normal(size=(MAPS, len(values)))
        orders = [rng.permutation(MAPS) for _ in range(SPLITS)]
        halves = [[maps[order[::2]].mean(0), maps[order[1::2]].mean(0)] for order in orders]
        tasks = frozenset([TaskId(str(number), "black")])
        content = rng.normal(size=len(values))
        yield MeasuredScope(str(number), MODELS, tasks, maps.mean(0), np.array(halves), content)


def main() -> None:
    """Print the table of the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=500)
    arguments = parser.parse_args()
    question = UniversalityQuestion(resamples=arguments.resamples)
    answers = (UniversalityAnswer.SUPPORTED, UniversalityAnswer.OPEN, UniversalityAnswer.FALSIFIED)
    heads = ("growths", "noise ceiling", "alike", "true share", *answers)
    print(f"| {' | '.join(heads)} |\n" + "| --- " * len(heads) + "|")
    for growths, noise in LAYOUTS:
        for alike in ALIKE:
            rng = stream("power of universality", growths, f"{noise}", f"{alike}")
            results = [
                universality([*measures(rng, growths, alike, noise)], question=question)
                for _ in range(arguments.trials)
            ]
            counts = Counter(result.answer for result in results)
            ceiling = np.mean([result.noise_ceiling.value for result in results])
            share = np.mean([result.split.value for result in results]) / ceiling
            rates = [f"{counts[answer] / arguments.trials:.0%}" for answer in answers]
            print(f"| {growths} | {ceiling:.2f} | {alike:g} | {share:.2f} | {' | '.join(rates)} |")


if __name__ == "__main__":
    main()
