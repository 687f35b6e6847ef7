"""Values of accepted and other candidates of growths on programs that no growth saw
(docs/held_out.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from archive.schema import GainKind
from archive.statistics.studies.captured_gains import (
    KINDS,
    CapturedGains,
    HeldOutPlays,
    Reference,
    Worth,
    counting,
    program_references,
)
from archive.statistics.studies.choice_tests import (
    ChoiceTest,
    CoverageTest,
    ListChoice,
    coverage_test,
    detectable_by,
    differences,
    permutation_test,
    standard_error,
    weighted_means,
)
from archive.statistics.studies.growth_candidates import GrowthCandidate
from archive.statistics.studies.training_repeats import SeedAgreement, StepSlope, step_slope
from archive.statistics.values.intervals import CONFIDENCE, Interval, Scores
from xgl.random_streams import stream

RESAMPLES = 2000


@dataclass(frozen=True)
class Contrast:
    """Mean values of accepted games and of the refused ones of their lists. The test exchanges
    verdicts. The bounds of ``difference`` are Student's, with the variance of values within lists
    and verdicts plus that over resampled maps and references."""

    accepted: float
    refused: float
    difference: Interval
    test: ChoiceTest


@dataclass(frozen=True)
class SelectionResult:
    """Results on selection for one kind of gain, on the ``programs`` that count. ``spread``:
    standard deviation of values within lists and verdicts; ``detectable``: the difference that
    these lists detect at this spread with a power of 0.8."""

    programs: tuple[str, ...]
    taught: Contrast
    beyond_scripts: Contrast
    coverage: CoverageTest
    coverage_beyond_scripts: CoverageTest
    spread: float
    detectable: float


@dataclass(frozen=True)
class ListSummary:
    """A list of proposals: the numbers of its playable and accepted candidates, and their mean
    values, None without any."""

    growth: str
    parent_game_id: str
    round: int
    playable: int
    accepted: int
    mean_accepted: float | None
    mean_refused: float | None


@dataclass(frozen=True)
class CandidateValue:
    """``value``: mean C of one candidate over the programs that count, of its gains over all
    training seeds; ``values``: the same under each seed. None and empty if no program counts."""

    game_id: str
    role: str
    growth: str
    verdict: str
    reason: str
    value: float | None
    values: tuple[float, ...]


@dataclass(frozen=True)
class HeldOut:
    """The results. ``answers``: by the gains that a value is made of; absent if no program counts
    for them. ``answers_in_bits``: of mean gains in bits a play instead of shares, over all programs
    whose own fine-tunes' moves are about the map. ``games``: number of different games among the
    candidates."""

    seeds: int
    maps: int
    games: int
    lists: tuple[ListSummary, ...]
    mixed_lists: int
    answers: Mapping[Worth, SelectionResult]
    answers_in_bits: Mapping[Worth, SelectionResult]
    references: Mapping[GainKind, tuple[Reference, ...]]
    agreement: SeedAgreement | None
    steps: StepSlope | None
    candidates: tuple[CandidateValue, ...]

    @property
    def primary(self) -> Contrast | None:
        """The contrast that answers the primary question."""
        answer = self.answers.get(Worth.PAID)
        return answer.taught if answer else None


def held_out(plays: HeldOutPlays, resamples: int = RESAMPLES) -> HeldOut:
    """The analysis that docs/held_out.md specifies. Raises ValueError if no list has an accepted
    candidate and another one."""
    choice, once = plays.choice(), plays.once()
    references = {kind: program_references(plays, kind) for kind in KINDS}
    gains_by_worth = {
        worth: CapturedGains.of(plays, worth, indices)
        for worth in Worth
        if (indices := counting(references, worth))
    }
    specific = references[GainKind.SPECIFIC]
    about_map = [index for index, program in enumerate(specific) if program.is_about_map]
    primary = gains_by_worth.get(Worth.PAID)
    values = primary.captured_shares(primary.every_map)[:, :, 0].mean(1) if primary else None
    single = ListChoice(choice.is_chosen[once], choice.lists[once])
    return HeldOut(
        seeds=len(plays.steps),
        maps=plays.gains[GainKind.TOTAL].shape[-1],
        games=len(once),
        lists=_lists(plays, values),
        mixed_lists=len(choice.mixed_lists),
        answers={
            worth: _answer(gains, plays, resamples) for worth, gains in gains_by_worth.items()
        },
        answers_in_bits={
            worth: _answer(CapturedGains.in_bits(plays, worth, about_map), plays, resamples)
            for worth in (Worth if about_map else ())
        },
        references=references,
        agreement=primary.agreement(once, resamples) if primary else None,
        steps=None
        if values is None
        else step_slope(values[once], plays.steps.mean(0)[once], single),
        candidates=_candidate_values(plays.candidates, values, primary),
    )


# -- accepted and refused --------------------------------------------------------------------------


def _answer(gains: CapturedGains, plays: HeldOutPlays, resamples: int) -> SelectionResult:
    lists, growths = plays.choice(), plays.choice(by_growth=True)
    shares = gains.captured_shares(gains.every_map)[:, :, 0]
    shares_beyond = gains.captured_shares(gains.every_map, beyond_scripts=True)[:, :, 0]
    spread, _ = spread_within(shares.mean(1), lists)
    return SelectionResult(
        gains.programs,
        _contrast(gains, lists, False, resamples),
        _contrast(gains, lists, True, resamples),
        coverage_test(shares, growths),
        coverage_test(shares_beyond, growths),
        spread,
        spread * detectable_by(lists),
    )


def _contrast(gains: CapturedGains, choice: ListChoice, beyond: bool, resamples: int) -> Contrast:
    values = gains.captured_shares(gains.every_map, beyond).mean(1)
    test = permutation_test(values[:, 0], choice)
    rng = stream("held-out bootstrap", str(beyond))
    count, _, maps = gains.references[0].shape
    weights, reference_weights = (
        rng.multinomial(size, np.full(size, 1 / size), resamples).T / size for size in (maps, count)
    )
    sample = differences(gains.captured_shares(weights, beyond, reference_weights).mean(1), choice)
    spread, freedom = spread_within(values[:, 0], choice)
    error = float(np.hypot(spread * standard_error(choice), np.nanstd(sample)))
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error
    accepted_mean, refused_mean = weighted_means(values[:, 0], choice)
    lead = accepted_mean - refused_mean
    return Contrast(accepted_mean, refused_mean, Interval(lead, lead - reach, lead + reach), test)


def spread_within(values: Scores, choice: ListChoice) -> tuple[float, int]:
    """Standard deviation within lists and verdicts, pooled over the lists that have both, and its
    degrees of freedom."""
    groups = [
        games[choice.is_chosen[games] == kind] for games in choice.mixed_lists for kind in (1, 0)
    ]
    squares = sum(float(((values[g] - values[g].mean()) ** 2).sum()) for g in groups)
    freedom = sum(len(group) - 1 for group in groups)
    return (float(np.sqrt(squares / freedom)), freedom) if freedom else (float("nan"), 0)


# -- rows ------------------------------------------------------------------------------------------


def _lists(plays: HeldOutPlays, values: Scores | None) -> tuple[ListSummary, ...]:
    by_list: dict[object, list[int]] = {}
    for row, candidate in enumerate(plays.candidates):
        by_list.setdefault(candidate.list_key, []).append(row)
    summaries = []
    for rows in by_list.values():
        growth, _, parent, number = plays.candidates[rows[0]].list_key
        accepted_rows = [row for row in rows if plays.candidates[row].accepted]
        refused_rows = [row for row in rows if not plays.candidates[row].accepted]
        means = (
            float(values[part].mean()) if values is not None and part else None
            for part in (accepted_rows, refused_rows)
        )
        sizes = (len(rows), len(accepted_rows))
        summaries.append(ListSummary(growth, parent.game_id, number, *sizes, *means))
    return tuple(summaries)


def _candidate_values(
    candidates: Sequence[GrowthCandidate], values: Scores | None, primary: CapturedGains | None
) -> tuple[CandidateValue, ...]:
    by_seed = primary.values() if primary else np.empty((0, len(candidates)))
    return tuple(
        CandidateValue(
            *candidate.task_id,
            candidate.list_key.growth,
            str(candidate.verdict),
            str(candidate.reason),
            None if values is None else float(values[index]),
            tuple(map(float, by_seed[:, index])),
        )
        for index, candidate in enumerate(candidates)
    )
