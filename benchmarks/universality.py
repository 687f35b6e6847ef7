"""Do measures of independent growths rank models alike (docs/explanation/findings.md)?

    python benchmarks/universality.py RUN RUN [RUN …] [--random RUN …] [--margin 0.8]
                                      [--resamples 2000]

Each RUN is one of ``+experiment=measure``, in which the same models played the measure of another
growth (``export --format xent``); those of ``--random`` played as many random playable games
(``export --format xent --playable N``). A model's value on a measure is its mean normalised score
over games; two measures agree by Kendall's τ-b between the values of the same models.

The *noise ceiling* is the agreement of two halves of the maps of one measure, means of four splits;
a half of one measure with the other half of another is the claim at the noise of this ceiling.
Bounds at 95 % resample models and growths together, all variants of one model at once (``@T``
in its name). The claim is falsified if the upper bound of the share of the ceiling is below
the margin, and supported if its lower bound is not and that of τ is above 0.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from study import command_line

import evo
from archive.errors import ArchiveError, RatingError
from archive.statistics.intervals import Scores
from archive.statistics.rounds import ScoreLevels, arms, narms
from xgl.random_streams import stream

SPLITS = 4
"""Number of ways in which the maps of a game are halved."""
FEWEST_MODELS, FEWEST_MAPS = 4, 4
VARIANT = re.compile(r"@\d+(\.\d+)?$")
STATISTICS = ("τ of two measures", "τ of random games", "τ of halves of two", "noise ceiling")
SHARE, BEYOND = "share of the ceiling", "beyond random games"


@dataclass(frozen=True)
class Measured:
    """One measured run: ``values`` (models, 1 + 2·SPLITS), mean normalised scores over games on all
    maps, then on either half of each split; ``games``: their ids."""

    models: tuple[str, ...]
    games: frozenset[str]
    values: Scores


def read(folder: str) -> Measured:
    """Raises :class:`RatingError` if fewer than four models have a score on every game."""
    run = evo.Run.open(folder, backend="pyarrow")
    levels = {(r["game_id"], r["policy_id"]): r for r in run.table("measures").to_pylist()}
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in run.table("rounds").to_pylist():
        if row["purpose"] == "measure" and not row["control"]:
            rounds.setdefault((row["game_id"], row["policy_id"]), []).append(row)
    games = sorted({game for game, _ in levels})
    models = {model for _, model in levels}
    complete = sorted(m for m in models if all((game, m) in levels for game in games))
    if len(complete) < FEWEST_MODELS:
        raise RatingError(
            f"{folder}: found {len(complete)} models with a normalised score on every game, "
            f"expected {FEWEST_MODELS} or more"
        )
    values = [
        [scores_of_halves(rounds[game, model], levels[game, model], folder) for game in games]
        for model in complete
    ]
    return Measured(tuple(complete), frozenset(games), np.mean(values, axis=1))


def scores_of_halves(
    rounds: Sequence[dict[str, Any]], level: dict[str, Any], folder: str
) -> Scores:
    """Normalised scores (1 + 2·SPLITS,) of a model on a game: on all maps, then on either half of
    each split. Halves depend on map seeds alone, so they are the same for every model."""
    maps = sorted({(row["map_seed"], row["play_seed"]) for row in rounds})
    if len(maps) < FEWEST_MAPS:
        raise RatingError(
            f"{folder}: found {len(maps)} maps of a game, expected {FEWEST_MAPS} or more to halve"
        )
    scores = np.full((len(maps), max(row["round"] for row in rounds)), np.nan)
    for row in rounds:
        scores[maps.index((row["map_seed"], row["play_seed"])), row["round"] - 1] = row["score"]
    levels = ScoreLevels(*(level[key] for key in ("b", "theta", "m", "rounds", "maps", "k_m")))
    parts = [np.arange(len(maps))]
    for number in range(SPLITS):
        order = stream("halves", number, len(maps)).permutation(len(maps))
        parts += [order[::2], order[1::2]]
    return np.array([narms(arms(scores[part]), levels, level["at_round"]) for part in parts])


# -- agreement -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Names and values of all statistics, with draws (B, statistics) of resamples."""

    values: Scores
    draws: Scores

    def interval(self, index: int) -> tuple[float, float, float]:
        """Estimate and bounds at 95 %; NaN if it is not defined."""
        finite = self.draws[np.isfinite(self.draws[:, index]), index]
        low, high = np.quantile(finite, (0.025, 0.975)) if len(finite) else (np.nan, np.nan)
        return float(self.values[index]), float(low), float(high)


def agreement(
    grown: Sequence[Measured], random: Sequence[Measured], resamples: int, seed: int = 0
) -> Agreement:
    """Statistics in the order of ``STATISTICS``, then the share of the ceiling and the lead over
    random games. Raises :class:`RatingError` for fewer than two measures or four models."""
    common = sorted(set.intersection(*(set(each.models) for each in (*grown, *random))))
    if len(grown) < 2 or len(common) < FEWEST_MODELS:
        raise RatingError(
            f"found {len(grown)} measures of {len(common)} common models, expected 2 or more of "
            f"{FEWEST_MODELS} or more"
        )
    vectors = np.stack(
        [each.values[[each.models.index(name) for name in common]].T for each in (*grown, *random)]
    )
    signs = np.sign(vectors[..., :, None] - vectors[..., None, :])
    families = [VARIANT.sub("", name) for name in common]
    members = [[i for i, each in enumerate(families) if each == f] for f in sorted(set(families))]
    rng, every = np.random.default_rng(seed), np.arange(len(common))
    first, second = np.arange(len(grown)), len(grown) + np.arange(len(random))
    draws = [
        statistics(
            signs,
            np.array(
                [i for f in rng.integers(len(members), size=len(members)) for i in members[f]]
            ),
            rng.choice(first, len(first)),
            rng.choice(second, len(second)) if len(second) else second,
        )
        for _ in range(resamples)
    ]
    return Agreement(statistics(signs, every, first, second), np.array(draws))


def statistics(
    signs: Scores, models: NDArray[Any], grown: NDArray[Any], random: NDArray[Any]
) -> Scores:
    """``signs`` (measures, vectors, models, models) of all differences of two models; of a sample
    of models and measures, in which a measure is not compared with itself."""
    kept = signs[:, :, models][:, :, :, models]
    flat = kept.reshape(len(kept) * kept.shape[1], -1)
    gram, width = flat @ flat.T, kept.shape[1]
    norm = np.sqrt(np.diag(gram))
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = (gram / np.outer(norm, norm)).reshape(len(kept), width, len(kept), width)
    halves = [(1 + 2 * split, 2 + 2 * split) for split in range(SPLITS)]
    crossed = [*halves, *((b, a) for a, b in halves)]
    both = mean(tau[i, 0, j, 0] for i, j in pairs(grown))
    chance = mean(tau[i, 0, j, 0] for i, j in pairs(random))
    split = mean(tau[i, a, j, b] for i, j in pairs(grown) for a, b in crossed)
    ceiling = mean(tau[i, a, i, b] for i in grown for a, b in halves)
    share = split / ceiling if ceiling > 0 else np.nan
    return np.array([both, chance, split, ceiling, share, both - chance])


def pairs(sample: Sequence[int] | NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Pairs of different measures in a sample that may repeat some."""
    return ((i, j) for i, j in combinations(sample, 2) if i != j)


def mean(values: Iterable[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else np.nan


def answer(result: Agreement, margin: float) -> str:
    """Whether the claim is falsified, supported or not decided."""
    (_, low, high), (_, tau_low, _) = result.interval(4), result.interval(0)
    if high < margin:
        return "falsified"
    return "supported" if low >= margin and tau_low > 0 else "not decided"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("runs", nargs="+", help="run folders of +experiment=measure")
    parser.add_argument("--random", nargs="+", default=[], help="the same, of random games")
    parser.add_argument("--margin", type=float, default=0.8)
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    grown, random = ([read(each) for each in runs] for runs in (options.runs, options.random))
    result = agreement(grown, random, options.resamples)
    for (one, first), (two, second) in combinations(zip(options.runs, grown, strict=True), 2):
        if shared := first.games & second.games:
            print(f"{one} and {two} share {len(shared)} games, on which they agree anyway")
    for index, name in enumerate((*STATISTICS, SHARE, BEYOND)):
        value, low, high = result.interval(index)
        print(f"{name}: {value:.2f} [{low:.2f}, {high:.2f}]")
    print(f"Two growths rank models alike: {answer(result, options.margin)}.")


if __name__ == "__main__":
    try:
        main()
    except ArchiveError as error:
        sys.exit(f"error: {error}")
