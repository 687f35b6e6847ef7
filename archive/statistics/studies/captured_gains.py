"""Gains of fine-tunes on held-out programs, as shares of the programs' own gains
(docs/held_out.md)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from archive.schema import GainKind
from archive.statistics.studies.choice_tests import ListChoice
from archive.statistics.studies.growth_candidates import GrowthCandidate
from archive.statistics.studies.training_repeats import SeedAgreement, seed_agreement, surely_helps
from archive.statistics.values.intervals import CONFIDENCE, Interval, Scores, mean_interval

CLARITY = 0.4
"""A program counts if the lower bound of its own gain is above this share of the gain: values are
shares of gains. A growth requires the same of its initial games."""
KINDS = (GainKind.SPECIFIC, GainKind.TOTAL)


class Worth(StrEnum):
    """Which gains a value is made of, that of the primary question first. ``PAID`` is the smaller
    of the mean specific and the mean total gain: about the map, and rewarded. A specific gain alone
    also rises when moves become worse on other maps, which has no value."""

    PAID = "paid specific"
    SPECIFIC = "specific"
    TOTAL = "total"

    @property
    def kinds(self) -> tuple[GainKind, ...]:
        """The gains whose smallest it is."""
        return KINDS if self is Worth.PAID else (GainKind(self.value),)


@dataclass(frozen=True)
class HeldOutPlays:
    """Gains over the base player in bits, by kind, all on the same maps of each program.

    ``gains`` (training seeds, candidates, programs, maps); ``references`` (fine-tunes, programs,
    the same maps and perhaps more): of fine-tunes on the program itself; ``reference_scores``, of
    the same shape: their specific scores, S − S′; ``script_gains`` (scripts, programs, maps);
    ``steps`` (training seeds, candidates): number of gradient steps that the budget paid for.
    """

    programs: tuple[str, ...]
    candidates: tuple[GrowthCandidate, ...]
    scripts: tuple[str, ...]
    gains: Mapping[GainKind, Scores]
    references: Mapping[GainKind, Scores]
    reference_scores: Scores
    script_gains: Mapping[GainKind, Scores]
    steps: Scores

    def choice(self, by_growth: bool = False) -> ListChoice:
        """The accepted candidates and the list, or growth, of each candidate."""
        return choice_of(self.candidates, by_growth)

    def once(self) -> list[int]:
        """The index of each game's first row, ascending."""
        _, first = np.unique(_games(self.candidates), return_index=True)
        return sorted(map(int, first))


def choice_of(candidates: Sequence[GrowthCandidate], by_growth: bool = False) -> ListChoice:
    """The accepted candidates and the list, or growth, of each. Games are exchanged within
    families: connected components of games and their parents."""
    games = _games(candidates)
    parents = _number_keys([candidate.list_key.parent for candidate in candidates])
    count, size = int(games.max()) + 1, int(games.max() + parents.max()) + 2
    edges = coo_matrix((np.ones(len(games)), (games, count + parents)), (size, size))
    families = connected_components(edges, directed=False)[1][games]
    return ListChoice(
        np.array([candidate.accepted for candidate in candidates]),
        _number_keys([candidate.list_key[: 1 if by_growth else None] for candidate in candidates]),
        games,
        np.asarray(families, np.int64),
    )


def _games(candidates: Sequence[GrowthCandidate]) -> NDArray[np.int64]:
    """The number of the game in each row (candidates,)."""
    return _number_keys([candidate.task_id for candidate in candidates])


def _number_keys(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)


def clear(gain: Interval) -> bool:
    """Whether a gain is surely above 0, and precise enough to divide by."""
    return gain.value is not None and gain.low > CLARITY * max(gain.value, 0.0)


@dataclass(frozen=True)
class Reference:
    """Own gain of a program, bits: mean ``gain`` of its own fine-tunes, with bounds over maps given
    the fine-tunes; ``repeated``: bounds over maps and training seeds; ``each``: gain of each
    fine-tune; ``score``: their specific score over maps; ``median``: median gain of different
    candidates. ``script_share``, ``accepted`` and ``refused``: the best script's gain and the mean
    gains of accepted and refused games, as shares of the program's own gain."""

    program: str
    gain: Interval
    repeated: Interval
    score: Interval
    each: tuple[float, ...]
    median: float
    script: str
    script_share: float | None
    accepted: float | None
    refused: float | None

    @property
    def counts(self) -> bool:
        """Whether its gain is precise enough to divide by, and comes from moves that are about the
        map."""
        return clear(self.gain) and self.is_about_map

    @property
    def is_about_map(self) -> bool:
        """Whether its fine-tunes' moves earn something about the map: a player may also gain by
        moves that are the same on every map."""
        return self.score.low > 0


# -- programs --------------------------------------------------------------------------------------


def program_references(plays: HeldOutPlays, kind: GainKind) -> tuple[Reference, ...]:
    own, choice = plays.references[kind], plays.choice()
    by_candidate, by_script = plays.gains[kind].mean((0, 3)), plays.script_gains[kind].mean(-1)
    references = []
    for index, name in enumerate(plays.programs):
        gain = mean_interval(own[:, index].mean(0), CONFIDENCE)
        score = mean_interval(plays.reference_scores[:, index].mean(0), CONFIDENCE)
        best = int(by_script[:, index].argmax())
        scale = gain.value if clear(gain) else None
        means = [by_candidate[mask, index] for mask in (choice.is_chosen, ~choice.is_chosen)]
        share, *shares = (
            None if scale is None or not np.size(part) else float(np.mean(part)) / scale
            for part in (by_script[best, index], *means)
        )
        each = tuple(map(float, own[:, index].mean(-1)))
        over_seeds = mean_interval(own[:, index], CONFIDENCE)
        median = float(np.median(by_candidate[plays.once(), index]))
        script = plays.scripts[best], share
        references.append(Reference(name, gain, over_seeds, score, each, median, *script, *shares))
    return tuple(references)


def counting(
    references: Mapping[GainKind, Sequence[Reference]], worth: Worth = Worth.PAID
) -> list[int]:
    """The indices of the programs that count, by every gain that a value is made of."""
    by_kind = [references[kind] for kind in worth.kinds]
    by_program = enumerate(zip(*by_kind, strict=True))
    return [index for index, pair in by_program if all(one.counts for one in pair)]


def paid_shares_of_halves(plays: HeldOutPlays) -> Scores:
    """C of each candidate on each program that counts, on the maps with even and on those with odd
    index (2, candidates, programs): mean over training seeds, of the gains of the primary question.
    A game that is chosen on one half can be measured on the other."""
    indices = counting({kind: program_references(plays, kind) for kind in KINDS})
    gains = CapturedGains.of(plays, Worth.PAID, indices)
    maps = np.arange(gains.references[0].shape[-1])
    in_half = np.stack([maps % 2 == half for half in range(2)], axis=1)
    return np.moveaxis(gains.captured_shares(in_half / in_half.sum(0)), -1, 0)


@dataclass(frozen=True)
class CapturedGains:
    """Gains on the programs that count, as in :class:`HeldOutPlays`, of each kind of gain; a value
    is the smallest over these kinds."""

    programs: tuple[str, ...]
    gains: tuple[Scores, ...]
    references: tuple[Scores, ...]
    script_gains: tuple[Scores, ...]

    @classmethod
    def of(cls, plays: HeldOutPlays, worth: Worth, indices: Sequence[int]) -> Self:
        """The gains on the programs with these indices."""
        return cls(
            tuple(plays.programs[index] for index in indices),
            tuple(plays.gains[kind][:, :, indices] for kind in worth.kinds),
            tuple(plays.references[kind][:, indices] for kind in worth.kinds),
            tuple(plays.script_gains[kind][:, indices] for kind in worth.kinds),
        )

    @classmethod
    def in_bits(cls, plays: HeldOutPlays, worth: Worth, indices: Sequence[int]) -> Self:
        """The gains on the programs with these indices as shares of one bit a play, on each: values
        are bits, whether or not a program's own gain is known."""
        gains = cls.of(plays, worth, indices)
        return replace(gains, references=tuple(map(np.ones_like, gains.references)))

    @property
    def every_map(self) -> Scores:
        """Equal weights of all maps of the references (maps, 1)."""
        maps = self.references[0].shape[-1]
        return np.full((maps, 1), 1 / maps)

    def values(self) -> Scores:
        """Mean captured value over programs of each training seed by itself (training seeds,
        candidates). Their mean is not the value over all seeds, which has the smallest of mean
        gains."""
        own = _least(gains.mean(-1) for gains in self.gains)
        scale = _least(references.mean((0, -1)) for references in self.references)
        return np.asarray((own / scale).mean(-1))

    def captured_shares(
        self, weights: Scores, beyond_scripts: bool = False, reference_weights: Scores | None = None
    ) -> Scores:
        """C of each candidate (candidates, programs, B), mean over training seeds. ``weights``
        (maps, B): of the maps of references; candidates use the weights of their own maps.
        ``reference_weights`` (fine-tunes, B): of the references, equal by default. With
        ``beyond_scripts``: C minus that of the best script, at least 0."""
        count = len(self.references[0])
        if reference_weights is None:
            reference_weights = np.full((count, weights.shape[1]), 1 / count)
        below = _least(
            np.einsum("rpm,mb,rb->pb", references, weights, reference_weights, optimize=True)
            for references in self.references
        )
        map_weights = weights[: self.gains[0].shape[-1]]
        own = map_weights / map_weights.sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(below > 0, below, np.nan)
            shares = _least(gains.mean(0) @ own for gains in self.gains) / scale
            if not beyond_scripts:
                return np.asarray(shares)
            script = _least(gains @ own for gains in self.script_gains).max(0) / scale
        return np.maximum(shares - script, 0.0)

    def agreement(self, once: Sequence[int], resamples: int) -> SeedAgreement | None:
        """Agreement between training seeds over different games: of values, and of whether a game
        surely helps a program by every kind of gain."""
        helps = np.all([surely_helps(gains) for gains in self.gains], axis=0)
        return seed_agreement(self.values()[:, once], helps.any(-1)[:, once], resamples)


def _least(parts: Iterable[Scores]) -> Scores:
    return np.asarray(np.min(np.stack(list(parts)), axis=0))
