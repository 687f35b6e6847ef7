"""What fine-tunes gain on held-out programs as shares of what there is to learn there
(docs/held_out.md)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from archive.schema import GainKind
from archive.statistics.choice_tests import Choice
from archive.statistics.growth_candidates import Candidate
from archive.statistics.intervals import Interval, Scores, mean_interval
from archive.statistics.training_repeats import SeedAgreement, seed_agreement, surely_helps

CONFIDENCE = 0.95
CLARITY = 0.4
"""A program counts where the lower bound of its own gain is beyond this share of the gain, as a
growth asks of its initial games: values are shares of gains."""
KINDS = (GainKind.SPECIFIC, GainKind.TOTAL)


class Worth(StrEnum):
    """Of which gains a value is made, the primary question's first. ``PAID`` is the smaller of the
    mean specific and the mean total gain: what is about the map, and paid for. A specific gain
    alone also rises where moves become worse on other maps, which is worth nothing."""

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
    the same maps and perhaps more), each of fine-tunes on the program itself; ``reference_scores``,
    of the same shape, their specific scores, S − S′; ``scripted`` (scripts, programs, maps);
    ``steps`` (training seeds, candidates): gradient steps that the budget paid for.
    """

    programs: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    scripts: tuple[str, ...]
    gains: Mapping[GainKind, Scores]
    references: Mapping[GainKind, Scores]
    reference_scores: Scores
    scripted: Mapping[GainKind, Scores]
    steps: Scores

    def choice(self, by_growth: bool = False) -> Choice:
        """Who was accepted, from which list, or of which growth."""
        return choice_of(self.candidates, by_growth)

    def once(self) -> list[int]:
        """The first row of each game."""
        _, first = np.unique(_games(self.candidates), return_index=True)
        return sorted(map(int, first))


def choice_of(candidates: Sequence[Candidate], by_growth: bool = False) -> Choice:
    """Who was accepted, from which list, or of which growth. Games are exchanged within families:
    those that have a parent in common, or that share a game with such."""
    games = _games(candidates)
    parents = _numbered([each.list_key.parent for each in candidates])
    count, size = int(games.max()) + 1, int(games.max() + parents.max()) + 2
    edges = coo_matrix((np.ones(len(games)), (games, count + parents)), (size, size))
    families = connected_components(edges, directed=False)[1][games]
    return Choice(
        np.array([each.accepted for each in candidates]),
        _numbered([each.list_key[: 1 if by_growth else None] for each in candidates]),
        games,
        np.asarray(families, np.int64),
    )


def _games(candidates: Sequence[Candidate]) -> NDArray[np.int64]:
    """(candidates,): the number of the game in each row."""
    return _numbered([each.task_id for each in candidates])


def _numbered(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    return np.array([places[key] for key in keys], np.int64)


def clear(gain: Interval) -> bool:
    """Whether a gain is surely above 0, and known well enough to divide by."""
    return gain.value is not None and gain.low > CLARITY * max(gain.value, 0.0)


@dataclass(frozen=True)
class Reference:
    """What there is to learn on a program: mean ``gain`` of its own fine-tunes, bits, over maps,
    given the fine-tunes; ``repeated``, over maps and training seeds; ``each`` of them; their
    specific ``score`` over maps; the ``median`` gain of different candidates, bits; the best
    script's share of the program's own gain, and those of accepted and refused games."""

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
        """Whether its gain is known well enough to divide by, and made by moves that are about the
        map: a player that says on every map what earns nothing may gain without knowing any."""
        return clear(self.gain) and self.score.low > 0


# -- programs --------------------------------------------------------------------------------------


def program_references(plays: HeldOutPlays, kind: GainKind) -> tuple[Reference, ...]:
    own, choice = plays.references[kind], plays.choice()
    taught, scripted = plays.gains[kind].mean((0, 3)), plays.scripted[kind].mean(-1)
    references = []
    for place, name in enumerate(plays.programs):
        gain = mean_interval(own[:, place].mean(0), CONFIDENCE)
        score = mean_interval(plays.reference_scores[:, place].mean(0), CONFIDENCE)
        best = int(scripted[:, place].argmax())
        scale = gain.value if clear(gain) else None
        means = [taught[mask, place] for mask in (choice.chosen, ~choice.chosen)]
        share, *shares = (
            None if scale is None or not np.size(part) else float(np.mean(part)) / scale
            for part in (scripted[best, place], *means)
        )
        each = tuple(map(float, own[:, place].mean(-1)))
        repeated = mean_interval(own[:, place], CONFIDENCE)
        median = float(np.median(taught[plays.once(), place]))
        script = plays.scripts[best], share
        references.append(Reference(name, gain, repeated, score, each, median, *script, *shares))
    return tuple(references)


def counting(
    references: Mapping[GainKind, Sequence[Reference]], worth: Worth = Worth.PAID
) -> list[int]:
    """The places of the programs that count: by every gain that a value is made of."""
    by_kind = [references[kind] for kind in worth.kinds]
    pairs = enumerate(zip(*by_kind, strict=True))
    return [place for place, each in pairs if all(one.counts for one in each)]


def paid_shares(plays: HeldOutPlays) -> Scores:
    """(candidates, programs that count): C of each candidate, mean over training seeds and maps, of
    the gains that the primary question is about."""
    places = counting({kind: program_references(plays, kind) for kind in KINDS})
    counted = CapturedGains.of(plays, Worth.PAID, places)
    return counted.captured(counted.every_map)[:, :, 0]


@dataclass(frozen=True)
class CapturedGains:
    """Gains on the programs that count, as in :class:`HeldOutPlays`, of each kind that a value is
    the smallest of."""

    programs: tuple[str, ...]
    gains: tuple[Scores, ...]
    references: tuple[Scores, ...]
    scripted: tuple[Scores, ...]

    @classmethod
    def of(cls, plays: HeldOutPlays, worth: Worth, places: Sequence[int]) -> Self:
        """On the programs in these places."""
        return cls(
            tuple(plays.programs[place] for place in places),
            tuple(plays.gains[kind][:, :, places] for kind in worth.kinds),
            tuple(plays.references[kind][:, places] for kind in worth.kinds),
            tuple(plays.scripted[kind][:, places] for kind in worth.kinds),
        )

    @property
    def every_map(self) -> Scores:
        """(maps of references, 1): the weights of all, once."""
        maps = self.references[0].shape[-1]
        return np.full((maps, 1), 1 / maps)

    def values(self) -> Scores:
        """(training seeds, candidates): mean captured value over programs."""
        own = _least(each.mean(-1) for each in self.gains)
        scale = _least(each.mean((0, -1)) for each in self.references)
        return np.asarray((own / scale).mean(-1))

    def captured(
        self, weights: Scores, beyond_scripts: bool = False, learned: Scores | None = None
    ) -> Scores:
        """(candidates, programs, B): C of each candidate, mean over training seeds, with the maps
        of references weighted (maps, B), and those of candidates by what they have of it; or what
        of it lies beyond the best script's, 0 where nothing does. ``learned`` (fine-tunes, B):
        weights of the references, by default all alike."""
        count = len(self.references[0])
        learned = np.full((count, weights.shape[1]), 1 / count) if learned is None else learned
        below = _least(
            np.einsum("rpm,mb,rb->pb", each, weights, learned, optimize=True)
            for each in self.references
        )
        shared = weights[: self.gains[0].shape[-1]]
        own = shared / shared.sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(below > 0, below, np.nan)
            shares = _least(each.mean(0) @ own for each in self.gains) / scale
            if not beyond_scripts:
                return np.asarray(shares)
            script = _least(each @ own for each in self.scripted).max(0) / scale
        return np.maximum(shares - script, 0.0)

    def agreement(self, once: Sequence[int], resamples: int) -> SeedAgreement | None:
        """Of training seeds, over different games: of values, and of which surely help a program,
        by every kind of gain."""
        helps = np.all([surely_helps(each) for each in self.gains], axis=0)
        return seed_agreement(self.values()[:, once], helps.any(-1)[:, once], resamples)


def _least(parts: Iterable[Scores]) -> Scores:
    return np.asarray(np.min(np.stack(list(parts)), axis=0))
