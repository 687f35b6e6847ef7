"""What candidates teach of held-out programs, on plays whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from archive.charts.document import document
from archive.schema import GainKind, Reason, TaskId, Verdict
from archive.statistics.studies.captured_gains import HeldOutPlays, Worth, paid_shares_of_halves
from archive.statistics.studies.growth_candidates import GrowthCandidate, ListKey
from archive.statistics.studies.held_out import held_out
from archive.statistics.studies.training_repeats import kappa
from archive.statistics.values.intervals import Scores
from archive.views.held_out import sentence, show
from archive.views.held_out_figure import figure
from archive.views.tables import to_json

PROGRAMS, MAPS, REFERENCE = 4, 48, 10.0


def candidate(growth: str, number: int, is_accepted: bool, lists: int = 1) -> GrowthCandidate:
    verdict, reason = Verdict.REFUSED, Reason.COVERED
    if is_accepted:
        verdict, reason = Verdict.ACCEPTED, Reason.NEW_AND_USEFUL
    key = ListKey(growth, 0, TaskId("parent", "black"), number % lists)
    return GrowthCandidate(TaskId(f"{growth}-{number}", "black"), key, verdict, reason)


def plays(
    shares: Scores,
    acceptances: Sequence[bool],
    *,
    growths: int = 4,
    script_share: float = 0.0,
    reference: Sequence[float] = (REFERENCE,) * PROGRAMS,
    luck: float = 0.0,
    steps: Scores | None = None,
    seeds: int = 2,
    seed: int = 0,
) -> HeldOutPlays:
    """``shares`` (candidates, programs): true C, of as many candidates in each growth."""
    rng = np.random.default_rng(seed)
    each = len(acceptances) // growths
    candidates = tuple(
        candidate(f"growth{place // each}", place % each, yes)
        for place, yes in enumerate(acceptances)
    )
    truth = shares * np.asarray(reference)

    def sample_gains(means: Scores, rows: int) -> Mapping[GainKind, Scores]:
        """Plays around means (…, programs), the same of either kind."""
        sample = means[None, ..., None] + rng.normal(0, 3, (rows, *means.shape, MAPS))
        return dict.fromkeys(GainKind, sample)

    lucky = np.stack([truth + rng.normal(0, luck, truth.shape) for _ in range(seeds)])
    gains = lucky[..., None] + rng.normal(0, 3, (*lucky.shape, MAPS))
    scripts = sample_gains(np.array(reference) * script_share, 1)
    return HeldOutPlays(
        tuple("abcd"),
        candidates,
        ("content_words",),
        dict.fromkeys(GainKind, gains),
        own := sample_gains(np.asarray(reference, float), 3),
        own[GainKind.SPECIFIC],
        scripts,
        np.full((seeds, len(candidates)), 16.0) if steps is None else np.tile(steps, (seeds, 1)),
    )


ACCEPTED = [True, True, False, False, False, False] * 4


def worlds(difference: float, seed: int = 0, spread: float = 0.15) -> Scores:
    rng = np.random.default_rng(100 + seed)
    shares = rng.normal(0.4, spread, (24, 1)) + rng.normal(0, 0.05, (24, PROGRAMS))
    return np.asarray(shares + difference * np.array(ACCEPTED)[:, None])


def test_a_planted_difference_is_found_and_reported() -> None:
    result = held_out(plays(worlds(0.4), ACCEPTED), resamples=200)
    assert result.primary is not None
    assert result.primary.test.p_value < 0.01
    difference = result.primary.difference
    assert difference.low < 0.4 < difference.high
    assert difference.value == pytest.approx(result.primary.accepted - result.primary.refused)
    assert sentence(result).startswith("Accepted games teach more outside their family than the")
    answer = result.answers[Worth.PAID]
    assert answer.coverage.observed > answer.coverage.high
    assert answer.coverage.test.p_value < 0.05


def test_without_a_difference_the_detectable_one_is_reported() -> None:
    result = held_out(plays(worlds(0.0), ACCEPTED), resamples=200)
    assert result.primary is not None
    assert result.primary.test.p_value > 0.05
    answer = result.answers[Worth.PAID]
    assert answer.spread == pytest.approx(0.15, abs=0.05)
    assert answer.detectable == pytest.approx(1.09 * answer.spread, rel=0.1)
    text = sentence(result)
    assert text.startswith("It is not shown that accepted games teach more outside their family")
    assert f"a difference of {answer.detectable:.2f} had a power of 0.8" in text


@pytest.mark.long
def test_intervals_hold_the_difference_at_about_their_rate() -> None:
    """Over games and plays: in 20 worlds of 24 games."""
    hits = 0
    for seed in range(20):
        data = plays(worlds(0.2, seed), ACCEPTED, seed=seed)
        primary = held_out(data, resamples=50).primary
        assert primary is not None
        hits += primary.difference.low <= 0.2 <= primary.difference.high
    assert hits >= 17


def test_what_is_about_the_map_and_not_paid_for_is_worth_nothing() -> None:
    """Accepted games that make a player worse on other maps than its own: specific gains rise."""
    data = plays(worlds(0.0), ACCEPTED)
    extra = np.where(np.array(ACCEPTED)[:, None, None], 8.0, 0.0)
    specific = data.gains[GainKind.SPECIFIC] + extra
    worse = {GainKind.SPECIFIC: specific, GainKind.TOTAL: data.gains[GainKind.TOTAL] - extra}
    result = held_out(replace(data, gains=worse), resamples=50)
    assert result.answers[Worth.SPECIFIC].taught.test.p_value < 0.01
    assert result.primary is not None
    assert result.primary.test.p_value > 0.9
    total = result.answers[Worth.TOTAL].taught
    assert result.primary.difference.value == pytest.approx(total.difference.value)


def test_a_program_that_is_gained_on_without_knowing_the_map_does_not_count() -> None:
    """As by a player that says what earns 0 on every map, where others lose."""
    data = plays(worlds(0.0), ACCEPTED)
    blind = data.reference_scores.copy()
    blind[:, 1] = 0.0
    result = held_out(replace(data, reference_scores=blind), resamples=20)
    for kind in GainKind:
        assert [each.counts for each in result.references[kind]] == [True, False, True, True]
    assert result.answers[Worth.PAID].programs == ("a", "c", "d")
    assert paid_shares_of_halves(replace(data, reference_scores=blind)).shape == (2, 24, 3)


def test_training_seeds_of_references_widen_what_is_shown_of_their_gain() -> None:
    data = plays(worlds(0.0), ACCEPTED)
    luck = np.array([-6.0, 0.0, 6.0])[:, None, None]
    lucky = {kind: each + luck for kind, each in data.references.items()}
    [steady, shaken] = (
        held_out(replace(data, references=each), resamples=200) for each in (data.references, lucky)
    )
    for one, other in zip(
        steady.references[GainKind.TOTAL], shaken.references[GainKind.TOTAL], strict=True
    ):
        assert other.gain.value == pytest.approx(one.gain.value)
        assert other.repeated.high - other.repeated.low > 20
        assert one.repeated.high - one.repeated.low < 6


def test_one_game_in_every_growth_is_one_game() -> None:
    data = plays(worlds(0.0), ACCEPTED)
    task_id = data.candidates[0].task_id
    shared_candidates = tuple(
        replace(each, task_id=task_id) if place % 6 == 0 else each
        for place, each in enumerate(data.candidates)
    )
    gains = {kind: each.copy() for kind, each in data.gains.items()}
    for each in gains.values():
        each[:, [6, 12, 18]] = each[:, [0]]
    one, four = (
        held_out(replace(data, gains=gains, candidates=candidate_list), resamples=20)
        for candidate_list in (shared_candidates, data.candidates)
    )
    assert (one.games, four.games) == (21, 24)
    assert one.primary is not None
    assert four.primary is not None
    assert one.primary.difference.value == four.primary.difference.value
    widths = [each.difference.high - each.difference.low for each in (one.primary, four.primary)]
    assert widths[0] > widths[1]


def test_a_program_that_its_own_fine_tunes_barely_learn_does_not_count() -> None:
    """However much is gained there, it would be a share of nothing."""
    data = plays(worlds(0.0), ACCEPTED, reference=(10.0, 10.0, 0.3, -5.0))
    result = held_out(data, resamples=20)
    counts = {each.program: each.counts for each in result.references[GainKind.SPECIFIC]}
    assert counts == {"a": True, "b": True, "c": False, "d": False}
    assert result.references[GainKind.SPECIFIC][2].accepted is None
    subset = replace(
        data,
        programs=("a", "b"),
        gains={kind: each[:, :, :2] for kind, each in data.gains.items()},
        references={kind: each[:, :2] for kind, each in data.references.items()},
        reference_scores=data.reference_scores[:, :2],
        script_gains={kind: each[:, :2] for kind, each in data.script_gains.items()},
    )
    assert held_out(subset, resamples=20).primary == result.primary
    nothing = held_out(plays(worlds(0.4), ACCEPTED, reference=(0.0,) * 4), resamples=20)
    assert nothing.primary is None
    assert sentence(nothing).startswith("Nothing can be said")


def test_gains_in_bits_need_no_known_gain_of_the_program() -> None:
    """One that its own fine-tunes barely learn counts; one gained on without the map does not."""
    data = plays(worlds(0.4), ACCEPTED, reference=(10.0, 10.0, 0.3, 10.0))
    blind = np.full_like(data.reference_scores, 5.0)
    blind[:, 3] = 0.0
    result = held_out(replace(data, reference_scores=blind), resamples=200)
    assert result.answers[Worth.PAID].programs == ("a", "b")
    answer = result.answers_in_bits[Worth.PAID]
    assert answer.programs == ("a", "b", "c")
    bits = data.gains[GainKind.TOTAL][:, :, :3].mean((0, 2, 3))
    accepted = np.array(ACCEPTED)
    assert answer.taught.accepted == pytest.approx(bits[accepted].mean())
    assert answer.taught.refused == pytest.approx(bits[~accepted].mean())
    truth = 0.4 * np.mean([10.0, 10.0, 0.3])
    assert answer.taught.difference.low < truth < answer.taught.difference.high
    assert answer.taught.test.p_value < 0.01
    nothing = held_out(replace(data, reference_scores=0 * blind), resamples=20)
    assert nothing.answers_in_bits == {}


def test_references_may_play_more_maps_than_candidates() -> None:
    """The same maps first: a gain is a share of what is learned on all of them."""
    data = plays(worlds(0.4), ACCEPTED)
    fewer = replace(
        data,
        gains={kind: each[..., :20] for kind, each in data.gains.items()},
        script_gains={kind: each[..., :20] for kind, each in data.script_gains.items()},
    )
    result = held_out(fewer, resamples=200)
    whole = held_out(data, resamples=20)
    kind = GainKind.SPECIFIC
    assert result.maps == 20
    assert [each.gain for each in result.references[kind]] == [
        each.gain for each in whole.references[kind]
    ]
    shares = fewer.gains[kind].mean((0, 3)) / data.references[kind].mean((0, 2))
    assert [np.mean(each.values) for each in result.candidates] == pytest.approx(
        list(shares.mean(1))
    )
    assert result.primary is not None
    assert result.primary.difference.low < result.primary.difference.value
    assert result.primary.difference.value == pytest.approx(0.4, abs=0.1)


def test_scripts_that_gain_as_much_leave_nothing_beyond_them() -> None:
    low, high = (
        held_out(plays(worlds(0.3), ACCEPTED, script_share=share), resamples=20).answers[Worth.PAID]
        for share in (0.0, 3.0)
    )
    assert low.beyond_scripts.difference.value == pytest.approx(
        low.taught.difference.value, rel=0.2
    )
    assert high.beyond_scripts.difference.value == 0
    assert high.beyond_scripts.test.p_value == 1
    assert high.coverage_beyond_scripts.observed == 0
    assert high.taught == low.taught, "scripts are no part of the first question"


def test_seeds_agree_where_games_differ_and_not_where_luck_decides() -> None:
    spread = np.random.default_rng(1).uniform(-0.5, 1.0, (24, 1)) * np.ones((1, PROGRAMS))
    truth = held_out(plays(spread, ACCEPTED), resamples=100).agreement
    lucky = held_out(plays(spread * 0, ACCEPTED, luck=5.0), resamples=100).agreement
    assert truth is not None
    assert lucky is not None
    assert truth.rank_correlation.value is not None
    assert truth.rank_correlation.value > 0.9
    assert truth.kappa.low > 0.4
    assert lucky.rank_correlation.low < 0.3
    assert held_out(plays(spread, ACCEPTED, seeds=1), resamples=20).agreement is None


def test_kappa_is_agreement_beyond_chance() -> None:
    """The example of Cohen (1960) has two raters; here 20 and 15 of 50 agree on yes and no."""
    one = np.repeat([True, True, False, False], [20, 5, 10, 15])
    other = np.repeat([True, False, True, False], [20, 5, 10, 15])
    assert kappa(one, other) == pytest.approx(0.4)
    assert kappa(one, one) == 1
    assert np.isnan(kappa(one | True, other | True))


def test_values_that_follow_steps_have_a_slope_within_lists() -> None:
    """Lists that differ in both do not count."""
    steps = np.random.default_rng(2).integers(17, 50, 24).astype(float)
    shares = 0.01 * steps[:, None] * np.ones((1, PROGRAMS))
    lists = np.repeat([0.0, 3.0, -2.0, 1.0], 6)[:, None]
    result = held_out(plays(shares + lists, ACCEPTED, steps=steps), resamples=20).steps
    assert result is not None
    assert (result.fewest, result.most) == (steps.min(), steps.max())
    assert result.slope.low < 0.01 < result.slope.high
    assert result.slope.low > 0
    same = held_out(plays(shares, ACCEPTED), resamples=20).steps
    assert same is not None
    assert same.slope.value is None


def test_all_lists_are_listed_also_those_that_do_not_count() -> None:
    acceptances = [*ACCEPTED[:12], *[False] * 12]
    result = held_out(plays(worlds(0.0), acceptances), resamples=20)
    assert (result.mixed_lists, len(result.lists)) == (2, 4)
    assert [(each.playable, each.accepted) for each in result.lists] == [(6, 2)] * 2 + [(6, 0)] * 2
    assert result.lists[3].mean_accepted is None
    assert len(result.candidates) == 24
    with pytest.raises(ValueError, match="found no list"):
        held_out(plays(worlds(0.0), [False] * 24), resamples=20)


def test_all_is_shown() -> None:
    console = Console(record=True, width=160)
    result = held_out(plays(worlds(0.4), ACCEPTED), resamples=50)
    show(result, console)
    text = " ".join(console.export_text().split())
    for part in (
        "specific gain on held-out",
        "total gain on held-out",
        "paid specific gains, mean over 4 programs",
        "(4 of 4 hold",
        "24 candidates are 24 different games",
        "Between 2",
    ):
        assert part in text
    assert "which do not vary" in text
    assert '"seeds": 2' in to_json(result)


def test_the_figure_has_every_candidate_at_its_value() -> None:
    result = held_out(plays(worlds(0.4), ACCEPTED), resamples=20)
    svg = document(figure(result))
    assert svg.count('class="spot"') == sum(ACCEPTED) + 1, "and one in the key"
    assert svg.count('class="spot open"') == len(ACCEPTED) - sum(ACCEPTED) + 1
    assert all(f">growth{place}<" in svg for place in range(4))
    first = result.candidates[0]
    assert f"C {np.mean(first.values):.2f}</title>" in svg
