"""Do measures of independent growths rank models alike (paper §6.3, docs/universality.md)?

Every measure gives each model a value, its mean normalised score over games; the agreement of two
measures is Kendall's τ-b between their values over the same models. It is compared with three
others: of measures of random playable games, with a trivial measure (the share of content words in
a model's moves), and of halves of the maps of one measure, which is the largest possible agreement
under the noise of scores.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.schema import Purpose, TaskId
from archive.statistics.measures.repeated_play import ScoreLevels, arms, narms
from archive.statistics.values.intervals import CONFIDENCE, UNDEFINED, Interval, Scores
from archive.store.archive import Archive
from xgl.models import corpus
from xgl.random_streams import stream

FEWEST_MODELS = 4
FEWEST_MAPS = 4
SPLITS = 4
"""Number of ways in which the maps of a measure are halved."""
_VARIANT = re.compile(r"([*@]\d+(\.\d+)?)+$")
Row = dict[str, Any]


class UniversalityAnswer(StrEnum):
    """The answer of the data to "two growths rank models alike"."""

    SUPPORTED = "supported"
    FALSIFIED = "falsified"
    OPEN = "not decided"


@dataclass(frozen=True)
class MeasuredScope:
    """One measured run: its games, ``tasks``. ``values`` (models,): mean narms over games.
    ``halves`` (splits, 2, models): the same on either half of the maps. ``content`` (models,):
    share of content words among the words of first-round moves."""

    name: str
    models: tuple[str, ...]
    tasks: frozenset[TaskId]
    values: Scores
    halves: Scores
    content: Scores

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.tasks)


@dataclass(frozen=True)
class UniversalityQuestion:
    """``margin``: least share of the noise ceiling that counts as ranking alike; ``confidence`` of
    each two-sided interval; ``resamples`` of models and growths together."""

    margin: float = 0.8
    confidence: float = CONFIDENCE
    resamples: int = 2000
    seed: int = 0


@dataclass(frozen=True)
class Universality:
    """Mean τ over pairs of measures, with percentile bounds over models and growths.

    ``grown``: pairs of grown measures. ``random``: pairs of random scopes. ``content``: each grown
    measure with the share of content words, below 0 if that ranks models in the reverse order.
    ``noise_ceiling``: halves of one grown measure; ``split``: a half of one with the other half of
    another, so that both are equally noisy; ``of_noise_ceiling``: split/noise_ceiling.
    ``beyond_random``: grown minus random; ``beyond_content``: grown minus content with the sign
    that makes its estimate positive. Undefined if there is nothing to compare. ``shared``: pairs of
    grown measures with common games, with the number of these.
    """

    models: tuple[str, ...]
    families: int
    measures: tuple[str, ...]
    randoms: tuple[str, ...]
    shared: tuple[tuple[str, str, int], ...]
    grown: Interval
    random: Interval
    content: Interval
    split: Interval
    noise_ceiling: Interval
    of_noise_ceiling: Interval
    beyond_random: Interval
    beyond_content: Interval
    answer: UniversalityAnswer


def family_of(model: str) -> str:
    """The model that ``model`` is a variant of, by its name; resampling keeps variants together.

    >>> family_of("adapter:runs/a:12ab*0.5@0.8")
    'adapter:runs/a:12ab'
    """
    return _VARIANT.sub("", model)


# -- one measured run ------------------------------------------------------------------------------


def read_measured_scope(archive: Archive, name: str) -> MeasuredScope:
    """Models and games of an archive of ``+experiment=measure`` that form a complete block.

    Raises :class:`RatingError` if there are too few.
    """
    rounds = _by_game_and_model(archive, "rounds")
    levels = _by_game_and_model(archive, "measures")
    by_game: dict[TaskId, set[str]] = {}
    for task_id, model in levels:
        by_game.setdefault(task_id, set()).add(model)
    models = sorted(set.intersection(*by_game.values())) if by_game else []
    if len(models) < FEWEST_MODELS:
        raise RatingError(
            f"{name}: found {len(models)} models with a normalised score on every game, expected "
            f"{FEWEST_MODELS} or more"
        )
    tables = [
        _narms(rounds[task_id, model], levels[task_id, model][0], name)
        for task_id in by_game
        for model in models
    ]
    values = np.stack(tables).reshape(len(by_game), len(models), 1 + 2 * SPLITS)
    means = values.mean(axis=0)
    content = [_content_share([rounds[task_id, model] for task_id in by_game]) for model in models]
    return MeasuredScope(
        name,
        tuple(models),
        frozenset(by_game),
        means[:, 0],
        means[:, 1:].T.reshape(SPLITS, 2, len(models)),
        np.array(content),
    )


def _by_game_and_model(archive: Archive, table: str) -> dict[tuple[TaskId, str], list[Row]]:
    filters = [("purpose", "=", str(Purpose.MEASURE)), ("control", "=", False)]
    groups: dict[tuple[TaskId, str], list[Row]] = {}
    for row in archive.rows(table, filters=filters if table == "rounds" else []):
        groups.setdefault((TaskId.of(row), row["policy_id"]), []).append(row)
    return groups


def _narms(rounds: Sequence[Row], levels_row: Row, name: str) -> Scores:
    """narms (1 + 2·splits,): on all maps, then on either half of each split. Halves are the same
    for every model, since they depend on map seeds alone."""
    maps = sorted({(row["map_seed"], row["play_seed"]) for row in rounds})
    if len(maps) < FEWEST_MAPS:
        raise RatingError(
            f"{name}: found {len(maps)} maps of a game, expected {FEWEST_MAPS} or more to halve"
        )
    row_of = {seeds: row for row, seeds in enumerate(maps)}
    scores = np.full((len(maps), max(row["round"] for row in rounds)), np.nan)
    for row in rounds:
        scores[row_of[row["map_seed"], row["play_seed"]], row["round"] - 1] = row["score"]
    levels = ScoreLevels(*(levels_row[key] for key in ("b", "theta", "m", "rounds", "maps", "k_m")))
    parts = [np.arange(len(maps))]
    for number in range(SPLITS):
        order = stream("halves", number, len(maps)).permutation(len(maps))
        parts += [order[::2], order[1::2]]
    return np.array([narms(arms(scores[part]), levels, levels_row["at_round"]) for part in parts])


def _content_share(by_game: Sequence[Sequence[Row]]) -> float:
    moves = [m for rows in by_game for row in rows if row["round"] == 1 for m in row["moves"]]
    words = [word for move in moves for word in corpus.words(move)]
    content = sum(len(word) > 2 and word not in corpus.STOP_WORDS for word in words)
    return content / len(words) if words else 0.0


# -- several ---------------------------------------------------------------------------------------


def universality(
    grown: Sequence[MeasuredScope],
    random: Sequence[MeasuredScope] = (),
    question: UniversalityQuestion | None = None,
) -> Universality:
    """Whether grown measures rank their common models alike. Raises :class:`RatingError` for fewer
    than two measures or too few common models."""
    question = question or UniversalityQuestion()
    if len(grown) < 2:
        raise RatingError(f"found {len(grown)} measure, expected two or more to compare")
    common = set.intersection(*(set(scope.models) for scope in (*grown, *random)))
    models = tuple(sorted(common))
    if len(models) < FEWEST_MODELS:
        raise RatingError(
            f"found {len(models)} models that every measure was played by, expected "
            f"{FEWEST_MODELS} or more"
        )
    signs = _signs([_vectors(scope, models) for scope in (*grown, *random)])
    parts = _Parts(signs, len(grown), len(random))
    everything = np.arange(len(models)), np.arange(len(grown)), np.arange(len(random))
    if parts.taus(*everything)[_NAMES.index("content")] < 0:
        parts = replace(parts, content_sign=-1)
    point = parts.taus(*everything)
    families = [family_of(name) for name in models]
    draws = np.array(list(_resampled_statistics(parts, families, question)))
    intervals = {
        name: _interval(point[index], draws[:, index], question.confidence)
        for index, name in enumerate(_NAMES)
    }
    return Universality(
        models,
        len(set(families)),
        tuple(scope.name for scope in grown),
        tuple(scope.name for scope in random),
        _shared(grown),
        **intervals,
        answer=_answer(intervals, question.margin),
    )


def _shared(grown: Sequence[MeasuredScope]) -> tuple[tuple[str, str, int], ...]:
    pairs = ((a.name, b.name, len(a.tasks & b.tasks)) for a, b in combinations(grown, 2))
    return tuple(pair for pair in pairs if pair[2])


_NAMES = (
    "grown",
    "random",
    "content",
    "split",
    "noise_ceiling",
    "of_noise_ceiling",
    "beyond_random",
    "beyond_content",
)


def _answer(intervals: dict[str, Interval], margin: float) -> UniversalityAnswer:
    """Falsified if the growths surely reach less than ``margin`` of the noise ceiling, supported if
    they surely reach it and their agreement is surely above 0."""
    share, tau = intervals["of_noise_ceiling"], intervals["grown"]
    if share.high < margin:
        return UniversalityAnswer.FALSIFIED
    return (
        UniversalityAnswer.SUPPORTED
        if share.low >= margin and tau.low > 0
        else UniversalityAnswer.OPEN
    )


def _vectors(scope: MeasuredScope, models: Sequence[str]) -> Scores:
    """Values, shares of content words and halves (2 + 2·splits, models)."""
    at = [scope.models.index(name) for name in models]
    halves = scope.halves.reshape(2 * SPLITS, -1)
    return np.stack([scope.values, scope.content, *halves])[:, at]


def _signs(vectors: Sequence[Scores]) -> NDArray[np.float64]:
    """Signs of all differences of two models (measures, vectors, models, models)."""
    table = np.stack(vectors)
    return np.sign(table[..., :, None] - table[..., None, :])


@dataclass(frozen=True)
class _Parts:
    """Signs of all measures, the grown ones first. ``content_sign``: −1 where the share of content
    words ranks models in the reverse order."""

    signs: NDArray[np.float64]
    grown: int
    random: int
    content_sign: int = 1

    def taus(
        self, models: NDArray[np.int64], grown: NDArray[np.int64], random: NDArray[np.int64]
    ) -> Scores:
        """The statistics of ``_NAMES`` for a sample of models, grown and random measures; NaN if
        not defined."""
        measures = np.unique(np.concatenate([grown, self.grown + random])).astype(int)
        index_of = {int(measure): index for index, measure in enumerate(measures)}
        signs = self.signs[measures][:, :, models][:, :, :, models]
        flat = signs.reshape(len(measures) * signs.shape[1], -1)
        gram = flat @ flat.T
        norm = np.sqrt(np.diag(gram))
        with np.errstate(divide="ignore", invalid="ignore"):
            tau = (gram / np.outer(norm, norm)).reshape(
                len(measures), signs.shape[1], len(measures), signs.shape[1]
            )
        one = [index_of[int(measure)] for measure in grown]
        other = [index_of[int(measure) + self.grown] for measure in random]
        halves = [(2 + 2 * k, 3 + 2 * k) for k in range(SPLITS)]
        both = _mean(tau[i, 0, j, 0] for i, j in _pairs(one))
        chance = _mean(tau[i, 0, j, 0] for i, j in _pairs(other))
        content = _mean(tau[i, 0, i, 1] for i in one)
        beyond_content = both - self.content_sign * content
        split_tau = _mean(
            tau[i, a, j, b] for i, j in _pairs(one) for x, y in halves for a, b in ((x, y), (y, x))
        )
        noise_ceiling = _mean(tau[i, a, i, b] for i in one for a, b in halves)
        share = split_tau / noise_ceiling if noise_ceiling > 0 else np.nan
        return np.array(
            [both, chance, content, split_tau, noise_ceiling, share, both - chance, beyond_content]
        )


def _pairs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of different measures in a sample that may repeat some."""
    return [(i, j) for at, i in enumerate(indices) for j in indices[at + 1 :] if i != j]


def _mean(values: Any) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else np.nan


def _resampled_statistics(
    parts: _Parts, families: Sequence[str], question: UniversalityQuestion
) -> Any:
    """Statistics of resamples: families of models, and measures, with replacement."""
    names = sorted(set(families))
    members = [[at for at, family in enumerate(families) if family == name] for name in names]
    rng = np.random.default_rng(question.seed)
    draw: Callable[[int], NDArray[np.int64]] = lambda size: rng.integers(0, size, size)  # noqa: E731
    for _ in range(question.resamples):
        models = np.array([at for family in draw(len(names)) for at in members[family]])
        yield parts.taus(models, draw(parts.grown), draw(parts.random))


def _interval(value: float, draws: Scores, confidence: float) -> Interval:
    finite = draws[np.isfinite(draws)]
    if not np.isfinite(value):
        return UNDEFINED
    if not len(finite):
        return Interval(float(value), -math.inf, math.inf)
    low, high = np.quantile(finite, ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(float(value), float(low), float(high))
