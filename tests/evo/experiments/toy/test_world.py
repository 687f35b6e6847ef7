"""The toy model: laws of its transfer values (§6.1.2), its meta-sampler, and Fig. 6.1's claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo.config.schema import GrowthSettings
from evo.config.toy import CLAIM, ToyConfig, load
from evo.experiments.toy import world
from evo.experiments.toy.growths import last_scope, places, with_coverage
from evo.experiments.toy.world import (
    Neighbourhood,
    ToyGame,
    ToyOracle,
    coverage,
    frontier,
    grid,
    in_space,
    matrix,
    random_games,
    reach,
    share_covered,
    transfer,
)
from evo.growth.algorithm import Place, grow

entries = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5])


@st.composite
def games(draw: st.DrawFn) -> world.Skills:
    """Some games of equal length, shape (n, d)."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    rows = st.lists(entries, min_size=d, max_size=d).filter(any)
    return np.array([draw(rows) for _ in range(n)])


@given(games())
def test_values_are_the_closed_form_to_the_last_bit(skills: world.Skills) -> None:
    values = transfer(skills, skills)
    for t, target in enumerate(skills.tolist()):
        for s, source in enumerate(skills.tolist()):
            assert values[t, s] == sum(map(min, target, source)) / sum(target)


@given(games())
def test_laws_of_transfer_values(skills: world.Skills) -> None:
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
def test_a_game_with_more_of_every_skill_teaches_no_less(
    skills: world.Skills, share: float
) -> None:
    assert (transfer(skills, skills) >= transfer(skills * share, skills)).all()


@given(games(), st.sampled_from([1, 2, 3]))
def test_gamma_is_the_greatest_value_whatever_the_tiles_and_threads(
    skills: world.Skills, threads: int
) -> None:
    many = np.concatenate([skills] * 20)
    expected = transfer(skills, many).max(axis=1)
    assert (coverage(skills, many, threads) == expected).all()
    assert coverage(skills, many[:0], threads).shape == (0,)


@pytest.mark.parametrize("wrong", [[], [0.0, 0.0], [-0.1, 1.0], [float("nan")], [float("inf")]])
def test_a_vector_that_is_no_game_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        ToyGame.of(wrong)


def test_games_are_equal_by_value_and_keep_every_bit() -> None:
    skills = (0.1, 1 / 3)
    assert ToyGame.of(skills) == ToyGame.of(np.array(skills))
    assert ToyGame.of(skills).skills == skills
    assert matrix([ToyGame.of(skills)] * 3).tolist() == [list(skills)] * 3


PARENTS = [(0.05, 0.05), (0.25, 0.25), (0.9, 0.0), (1e-4, 0.9)]


@pytest.mark.parametrize("parent", PARENTS, ids=str)
def test_candidates_are_uniform_in_the_neighbourhood(parent: tuple[float, float]) -> None:
    place = Place(0, ToyGame.of(parent), 0)
    candidates = matrix(Neighbourhood(0.1, 3).propose(place, [], 400))
    assert len(candidates) == 400
    assert in_space(candidates).all()
    offsets = candidates - parent
    assert (np.linalg.norm(offsets, axis=1) <= 0.1).all()
    near = grid(1500)
    near = near[np.linalg.norm(near - parent, axis=1) <= 0.1]
    spread = near.std(axis=0) / 20
    assert (abs(candidates.mean(axis=0) - near.mean(axis=0)) < 5 * spread + 1e-4).all()


def test_where_the_space_is_too_thin_a_list_is_shorter() -> None:
    place = Place(0, ToyGame.of((1.0, 0.0)), 0)
    assert len(Neighbourhood(1e-4, 0).propose(place, [], 5)) < 5


def test_lists_hang_on_their_place_and_the_seed_alone() -> None:
    parent = ToyGame.of((0.1, 0.1))
    places = [Place(0, parent, 0), Place(0, parent, 1), Place(1, parent, 0)]
    lists = [Neighbourhood(0.1, 5).propose(place, [], 4) for place in places]
    assert lists == [Neighbourhood(0.1, 5).propose(p, [parent], 4) for p in places]
    lists.append(Neighbourhood(0.1, 6).propose(places[0], [], 4))
    assert len({game for candidates in lists for game in candidates}) == 16


@pytest.mark.parametrize("d", [1, 2, 64])
def test_random_games_fill_the_space(d: int) -> None:
    sample = random_games(np.random.default_rng(0), 4000, d)
    assert in_space(sample).all()
    # E g_i for density 1 on the space: B(4, 2d − 1) over B(2, 2d + 1) = 6 / ((2d + 1)(2d + 2))
    assert sample.mean() == pytest.approx(6 / ((2 * d + 1) * (2 * d + 2)), rel=0.1)


@given(st.integers(0, 99), st.integers(1, 12), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_drawn_region_is_the_covered_one(seed: int, members: int, level: float) -> None:
    scope = random_games(np.random.default_rng(seed), members, 2)
    points = grid(40)
    angles = np.arctan2(points[:, 1], points[:, 0])
    distance = np.linalg.norm(points, axis=1)
    inside = distance <= reach(scope, angles, level)
    clear = abs(distance - reach(scope, angles, level)) > 1e-9
    assert ((coverage(scope, points) >= level) == inside)[clear].all()
    assert (distance <= frontier(angles) + 1e-12).all()


def test_the_grid_fills_the_space() -> None:
    points = grid(200)
    assert in_space(points).all()
    assert len(points) / 200**2 == pytest.approx(1 / 6, rel=0.01)
    assert share_covered(points, points, 1.0) == 1.0
    assert share_covered(np.array([[1e-9, 0.0]]), points, 0.5) == 0.0


# -- Fig. 6.1 ------------------------------------------------------------------------------------


def fig61(*overrides: str) -> ToyConfig:
    return load(["+experiment=toy_growth", *overrides]).toy


def shares(config: ToyConfig, seed: int = 0) -> dict[str, list[float]]:
    by_title: dict[str, list[float]] = {}
    settings = config.settings()
    last = {place: last_scope(settings[place[0]], place[1]) for place in places(config, seed)}
    for growth in with_coverage(config, last):
        by_title.setdefault(growth.title, []).append(growth.covered_share)
    return by_title


def test_the_figure_has_the_parameters_of_the_paper() -> None:
    setting = fig61().setting
    assert (setting.alpha1, setting.alpha2, setting.radius) == (0.9, 0.05, 0.1)
    assert (setting.start, setting.list_size) == (((0.05, 0.05),), 100)
    assert setting.coverage_against == "scope_and_pending"
    assert fig61().seeds == 20


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
        game, parent = matrix([member.game]), matrix([member.parent])
        earlier = matrix([other.game for other in members[:place]])
        assert transfer(game, parent)[0, 0] >= setting.alpha1
        assert member.gamma == coverage(earlier, game)[0] <= 1 - setting.alpha2


def test_read_literally_siblings_may_be_near_copies() -> None:
    literal = GrowthSettings(0.9, 0.05, 2, 100, coverage_against="scope", max_accepts_per_parent=6)
    start = [ToyGame.of((0.05, 0.05))]
    _, siblings, _ = grow(start, ToyOracle(), Neighbourhood(0.1, 0), literal)
    skills = matrix([member.game for member in siblings[1:]])
    among = transfer(skills, skills) - np.eye(len(skills))
    assert len(skills) == 6
    assert among.max() > 0.95


def test_the_same_seed_gives_the_same_scope() -> None:
    setting = fig61().setting
    assert last_scope(setting, 4) == last_scope(setting, 4)
    assert last_scope(setting, 4) != last_scope(setting, 5)
