"""The toy model: laws of its transfer values (§6.1.2), its meta-sampler, and Fig. 6.1's claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.config.compose import load
from evo.experiments import toy
from evo.experiments.toy import (
    CLAIM,
    Neighbourhood,
    Scope,
    SettingConfig,
    Skills,
    ToyConfig,
    ToyRunConfig,
    coverage,
    grid,
    in_space,
    scopes,
    transfer,
)
from evo.growth.algorithm import Place

entries = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5])


@st.composite
def games(draw: st.DrawFn) -> Skills:
    """Some games of equal length, shape (n, d)."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rows = st.lists(entries, min_size=d, max_size=d).filter(any)
    return np.array([draw(rows) for _ in range(n)])


@given(games())
def test_values_are_the_closed_form_to_the_last_bit(skills: Skills) -> None:
    values = transfer(skills, skills)
    for t, target in enumerate(skills.tolist()):
        for s, source in enumerate(skills.tolist()):
            assert values[t, s] == sum(map(min, target, source)) / sum(target)


@given(games())
def test_laws_of_transfer_values(skills: Skills) -> None:
    values, norms = transfer(skills, skills), skills.sum(axis=1)
    assert (np.diagonal(values) == 1).all()
    assert ((values >= 0) & (values <= 1)).all()
    overlaps = values * norms[:, None]
    assert overlaps == pytest.approx(overlaps.T)  # ‖G~‖ V_G(G~) = ‖G‖ V_G~(G)
    for t, target in enumerate(skills):
        for s, source in enumerate(skills):
            if (source >= target).all():
                assert values[t, s] == 1
            if not np.minimum(source, target).any():
                assert values[t, s] == 0


@given(games(), st.floats(0.125, 1))
def test_a_game_with_more_of_every_skill_teaches_no_less(skills: Skills, share: float) -> None:
    assert (transfer(skills, skills) >= transfer(skills * share, skills)).all()


@given(games(), st.sampled_from([1, 7, 10**6]))
def test_gamma_is_the_greatest_value_however_many_are_asked_at_once(
    skills: Skills, pairs: int
) -> None:
    many = np.concatenate([skills] * 20)
    expected = transfer(skills, many).max(axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "PAIRS", pairs)
        assert (coverage(skills, many) == expected).all()
        assert coverage(skills, many[:0]).shape == (0,)


PARENTS = [(0.05, 0.05), (0.25, 0.25), (0.9, 0.0), (1e-4, 0.9)]


@pytest.mark.parametrize("parent", PARENTS, ids=str)
def test_candidates_are_uniform_in_the_neighbourhood(parent: tuple[float, float]) -> None:
    place = Place(0, parent, 0)
    candidates = np.array(Neighbourhood(0.1, 3).propose(place, [], 400))
    assert len(candidates) == 400
    assert in_space(candidates).all()
    offsets = candidates - parent
    assert (np.linalg.norm(offsets, axis=1) <= 0.1).all()
    near = grid(1500)
    near = near[np.linalg.norm(near - parent, axis=1) <= 0.1]
    spread = near.std(axis=0) / 20
    assert (abs(candidates.mean(axis=0) - near.mean(axis=0)) < 5 * spread + 1e-4).all()


def test_the_grid_fills_the_space() -> None:
    points = grid(200)
    assert in_space(points).all()
    assert len(points) / 200**2 == pytest.approx(1 / 6, rel=0.01)
    assert (coverage(points, points) == 1.0).all()


# -- Fig. 6.1 ------------------------------------------------------------------------------------


def last_scope(setting: SettingConfig, seed: int) -> Scope:
    return scopes(setting, seed)[-1]


def skills(scope: Scope) -> Skills:
    return np.array([member.game for member in scope])


def fig61(*overrides: str) -> ToyConfig:
    return load(ToyRunConfig, ["+experiment=toy_growth", *overrides]).toy


def shares(config: ToyConfig, seed: int = 0) -> dict[str, list[float]]:
    points = grid(config.grid)

    def share(setting: SettingConfig, number: int) -> float:
        covered = coverage(skills(last_scope(setting, number)), points) >= 1 - setting.alpha2
        return float(covered.mean())

    return {
        title: [share(setting, number) for number in range(seed, seed + config.seeds)]
        for title, setting in config.settings().items()
    }


def test_the_claim_holds_for_a_few_seeds_and_fails_elsewhere() -> None:
    by_title = shares(fig61("toy.seeds=3", "toy.grid=150"), seed=40)
    claim, few, corner, gentle = by_title.values()
    assert min(claim) >= 0.99
    assert min(few) < 0.99
    assert min(corner) < 0.7
    assert min(gentle) >= 0.99


@pytest.mark.long
def test_the_claim_holds_for_all_twenty_seeds() -> None:
    by_title = shares(fig61())
    assert len(by_title[CLAIM]) == 20
    assert min(by_title[CLAIM]) >= 0.99
    assert np.mean(by_title["lists of 10"]) < 0.95
    assert np.mean(by_title["from (0.5, 0.02)"]) < 0.6
    assert min(by_title["from (0.5, 0.02), α1 = 0.8"]) >= 0.99


def test_accepted_games_keep_both_bounds() -> None:
    setting = fig61().setting
    members = last_scope(setting, 1)
    for place, member in enumerate(members):
        if member.parent is None:
            continue
        game, parent = np.array([member.game]), np.array([member.parent])
        earlier = skills(members[:place])
        assert transfer(game, parent)[0, 0] >= setting.alpha1
        assert member.gamma == coverage(earlier, game)[0] <= 1 - setting.alpha2
