"""What candidates of growths teach of programs that no growth saw, by whether they were accepted
(docs/held_out.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archive.schema import GainKind
from archive.statistics.choice_tests import (
    Choice,
    ChoiceTest,
    CoverageTest,
    coverage_test,
    detectable,
    differences,
    permutation_test,
    weighted_means,
)
from archive.statistics.growth_candidates import Candidate
from archive.statistics.intervals import Interval, Scores, mean_interval, percentile_bounds
from archive.statistics.training_repeats import (
    SeedAgreement,
    StepSlope,
    seed_agreement,
    step_slope,
    surely_helps,
)
from xgl.random_streams import stream

CONFIDENCE = 0.95
RESAMPLES = 2000
CLARITY = 0.4
"""A program counts where the lower bound of its own gain is beyond this share of the gain, as a
growth asks of its initial games: values are shares of gains."""
KINDS = (GainKind.SPECIFIC, GainKind.TOTAL)
"""The kind of the primary question first."""


@dataclass(frozen=True)
class HeldOutPlays:
    """Gains over the base player in bits, by kind, all on the same maps of each program.

    ``gains`` (training seeds, candidates, programs, maps); ``references`` (fine-tunes, programs,
    the same maps and perhaps more), each of fine-tunes on the program itself; ``scripted``
    (scripts, programs, maps);
    ``steps`` (training seeds, candidates): gradient steps that the budget paid for.
    """

    programs: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    scripts: tuple[str, ...]
    gains: Mapping[GainKind, Scores]
    references: Mapping[GainKind, Scores]
    scripted: Mapping[GainKind, Scores]
    steps: Scores

    def choice(self, by_growth: bool = False) -> Choice:
        """Who was accepted, from which list, or of which growth."""
        keys = [each.list_key[: 1 if by_growth else None] for each in self.candidates]
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        accepted = np.array([each.accepted for each in self.candidates])
        return Choice(accepted, np.array([places[key] for key in keys]))


def clear(gain: Interval) -> bool:
    """Whether a gain is surely above 0, and known well enough to divide by."""
    return gain.value is not None and gain.low > CLARITY * max(gain.value, 0.0)


@dataclass(frozen=True)
class Reference:
    """What there is to learn on a program: mean gain of its own fine-tunes, bits, over maps, given
    the fine-tunes; ``each`` of them; the best script's share of it."""

    program: str
    gain: Interval
    each: tuple[float, ...]
    script: str
    script_share: float | None
    accepted: float | None
    refused: float | None

    @property
    def counts(self) -> bool:
        """Whether its gain is established."""
        return clear(self.gain)


@dataclass(frozen=True)
class Contrast:
    """Accepted games beside the refused ones of their lists, means over these lists. Bounds of the
    ``difference`` are over games within lists and maps together (percentile bootstrap); the test
    permutes verdicts."""

    accepted: float
    refused: float
    difference: Interval
    test: ChoiceTest


@dataclass(frozen=True)
class Answer:
    """All that one kind of gain says of selection, on the ``programs`` that count. ``spread``: of
    values within lists and verdicts; ``detectable``: the difference that such lists and such a
    spread show with a power of 0.8."""

    programs: tuple[str, ...]
    taught: Contrast
    beyond_scripts: Contrast
    coverage: CoverageTest
    coverage_beyond_scripts: CoverageTest
    spread: float
    detectable: float


@dataclass(frozen=True)
class ListSummary:
    """A list of proposals: its playable candidates and their mean values, None without any."""

    growth: str
    parent_game_id: str
    round: int
    playable: int
    accepted: int
    mean_accepted: float | None
    mean_refused: float | None


@dataclass(frozen=True)
class CandidateValue:
    """Mean captured value of one candidate over the programs that count, under each seed."""

    game_id: str
    role: str
    growth: str
    verdict: str
    reason: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class HeldOut:
    """What was found. ``answers``: by kind of gain; a kind is missing where no program counts."""

    seeds: int
    maps: int
    lists: tuple[ListSummary, ...]
    carrying: int
    answers: Mapping[GainKind, Answer]
    references: Mapping[GainKind, tuple[Reference, ...]]
    agreement: SeedAgreement | None
    steps: StepSlope | None
    candidates: tuple[CandidateValue, ...]

    @property
    def primary(self) -> Contrast | None:
        """The question that was fixed before the run, with specific gains."""
        answer = self.answers.get(GainKind.SPECIFIC)
        return answer.taught if answer else None


def held_out(plays: HeldOutPlays, resamples: int = RESAMPLES) -> HeldOut:
    """The analysis that docs/held_out.md fixes. Raises ValueError where no list holds an accepted
    candidate and another one."""
    choice = plays.choice()
    references = {kind: _references(plays, kind) for kind in KINDS}
    counted = {
        kind: _counted(plays, kind, references[kind])
        for kind in KINDS
        if any(each.counts for each in references[kind])
    }
    answers = {
        kind: _answer(references[kind], each, plays, resamples) for kind, each in counted.items()
    }
    specific = counted.get(GainKind.SPECIFIC)
    values = specific.values() if specific else None
    return HeldOut(
        seeds=len(plays.steps),
        maps=plays.gains[GainKind.TOTAL].shape[-1],
        lists=_lists(plays, None if values is None else values.mean(0)),
        carrying=len(choice.carrying),
        answers=answers,
        references=references,
        agreement=None if specific is None else specific.agreement(resamples),
        steps=None if values is None else step_slope(values.mean(0), plays.steps.mean(0), choice),
        candidates=_candidate_values(plays.candidates, values),
    )


# -- programs --------------------------------------------------------------------------------------


def _references(plays: HeldOutPlays, kind: GainKind) -> tuple[Reference, ...]:
    own, choice = plays.references[kind], plays.choice()
    taught, scripted = plays.gains[kind].mean((0, 3)), plays.scripted[kind].mean(-1)
    found = []
    for place, name in enumerate(plays.programs):
        gain = mean_interval(own[:, place].mean(0), CONFIDENCE)
        best = int(scripted[:, place].argmax())
        scale = gain.value if clear(gain) else None
        means = [taught[mask, place] for mask in (choice.chosen, ~choice.chosen)]
        share, *shares = (
            None if scale is None or not np.size(part) else float(np.mean(part)) / scale
            for part in (scripted[best, place], *means)
        )
        each = tuple(map(float, own[:, place].mean(-1)))
        found.append(Reference(name, gain, each, plays.scripts[best], share, *shares))
    return tuple(found)


@dataclass(frozen=True)
class _Counted:
    """Gains on the programs that count, as in :class:`HeldOutPlays`; ``reference`` (programs,
    maps of references)."""

    gains: Scores
    reference: Scores
    scripted: Scores

    def values(self) -> Scores:
        """(training seeds, candidates): mean captured value over programs."""
        shares = self.gains.mean(-1) / self.reference.mean(-1)
        return np.asarray(shares.mean(-1))

    def captured(self, weights: Scores, beyond_scripts: bool = False) -> Scores:
        """(candidates, programs, B): C of each candidate, mean over training seeds, with the maps
        of references weighted (maps, B), and those of candidates by what they have of it; or what
        of it lies beyond the best script's, 0 where nothing does."""
        below, shared = self.reference @ weights, weights[: self.gains.shape[-1]]
        own = shared / shared.sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = (self.gains.mean(0) @ own) / np.where(below > 0, below, np.nan)
            if not beyond_scripts:
                return np.asarray(shares)
            script = (self.scripted @ own).max(0) / below
        return np.maximum(shares - script, 0.0)

    def agreement(self, resamples: int) -> SeedAgreement | None:
        """Of training seeds: of values, and of which candidates surely help a program."""
        return seed_agreement(self.values(), surely_helps(self.gains), resamples)


def _counted(plays: HeldOutPlays, kind: GainKind, references: Sequence[Reference]) -> _Counted:
    kept = [place for place, each in enumerate(references) if each.counts]
    return _Counted(
        plays.gains[kind][:, :, kept],
        plays.references[kind].mean(0)[kept],
        plays.scripted[kind][:, kept],
    )


# -- accepted and refused --------------------------------------------------------------------------


def _answer(
    references: tuple[Reference, ...], counted: _Counted, plays: HeldOutPlays, resamples: int
) -> Answer:
    lists, growths = plays.choice(), plays.choice(by_growth=True)
    taught = counted.captured(_once(counted))[:, :, 0]
    beyond = counted.captured(_once(counted), beyond_scripts=True)[:, :, 0]
    spread = _spread(taught.mean(1), lists)
    return Answer(
        tuple(each.program for each in references if each.counts),
        _contrast(counted, lists, False, resamples),
        _contrast(counted, lists, True, resamples),
        coverage_test(taught, growths),
        coverage_test(beyond, growths),
        spread,
        spread * detectable(lists.sizes),
    )


def _once(counted: _Counted) -> Scores:
    maps = counted.reference.shape[-1]
    return np.full((maps, 1), 1 / maps)


def _contrast(counted: _Counted, choice: Choice, beyond_scripts: bool, resamples: int) -> Contrast:
    values = counted.captured(_once(counted), beyond_scripts).mean(1)
    test = permutation_test(values[:, 0], choice)
    rng = stream("held-out bootstrap", str(beyond_scripts))
    maps = counted.reference.shape[-1]
    weights = rng.multinomial(maps, np.full(maps, 1 / maps), resamples).T / maps
    drawn = counted.captured(weights, beyond_scripts).mean(1)
    bounds = percentile_bounds(
        differences(drawn, choice, _game_counts(rng, choice, resamples)), CONFIDENCE
    )
    accepted, refused = weighted_means(values[:, 0], choice)
    return Contrast(accepted, refused, Interval(accepted - refused, *bounds), test)


def _game_counts(rng: np.random.Generator, choice: Choice, resamples: int) -> Scores:
    """(n, B): how often each game is drawn again, within its list."""
    counts = np.zeros((len(choice.lists), resamples))
    for each in np.unique(choice.lists):
        games = np.flatnonzero(choice.lists == each)
        counts[games] = rng.multinomial(
            len(games), np.full(len(games), 1 / len(games)), resamples
        ).T
    return counts


def _spread(values: Scores, choice: Choice) -> float:
    """Standard deviation within lists and verdicts, pooled over the lists that have both."""
    groups = [games[choice.chosen[games] == kind] for games in choice.carrying for kind in (1, 0)]
    squares = sum(float(((values[g] - values[g].mean()) ** 2).sum()) for g in groups)
    freedom = sum(len(group) - 1 for group in groups)
    return float(np.sqrt(squares / freedom)) if freedom else float("nan")


# -- rows ------------------------------------------------------------------------------------------


def _lists(plays: HeldOutPlays, values: Scores | None) -> tuple[ListSummary, ...]:
    by_list: dict[object, list[int]] = {}
    for place, each in enumerate(plays.candidates):
        by_list.setdefault(each.list_key, []).append(place)
    found = []
    for places in by_list.values():
        growth, _, parent, number = plays.candidates[places[0]].list_key
        accepted = [place for place in places if plays.candidates[place].accepted]
        refused = [place for place in places if not plays.candidates[place].accepted]
        means = (
            float(values[part].mean()) if values is not None and part else None
            for part in (accepted, refused)
        )
        sizes = (len(places), len(accepted))
        found.append(ListSummary(growth, parent.game_id, number, *sizes, *means))
    return tuple(found)


def _candidate_values(
    candidates: Sequence[Candidate], values: Scores | None
) -> tuple[CandidateValue, ...]:
    return tuple(
        CandidateValue(
            *each.task_id,
            each.list_key.growth,
            str(each.verdict),
            str(each.reason),
            () if values is None else tuple(map(float, values[:, place])),
        )
        for place, each in enumerate(candidates)
    )
