"""What accepted and refused candidates teach held-out programs (benchmarks/held_out.py): values and
tests on numbers made up here, candidates of a growth in a small world."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from growths import Growth, curves
from held_out import compare, counts
from scipy.stats import kendalltau
from support.rows import row
from universality import SPLITS, Measured, agreement, answer

from archive import Archive
from xgl.diagram.svg import render


def test_the_p_value_is_the_share_of_choices_that_are_at_least_as_good() -> None:
    """Two lists, all choices of as many games of each enumerated."""
    values = np.array([3.0, 1.0, 0.0, 2.0, 5.0, 4.0, 4.5])
    accepted = np.array([True, False, False, False, True, False, True])
    lists = np.array([0, 0, 0, 0, 1, 1, 1])
    sums = [
        values[first] + values[list(second)].sum()
        for first in range(4)
        for second in combinations((4, 5, 6), 2)
    ]
    observed = values[accepted].sum()
    result = compare(values, accepted, lists, 200_000)
    share = np.mean([each >= observed - 1e-9 for each in sums])
    assert result.p_value == pytest.approx(share, abs=0.005)
    assert result.lists == 2
    assert result.accepted - result.refused == pytest.approx((0.75 * 2 + 2 / 3 * 0.75) / (17 / 12))


def test_a_program_counts_by_both_gains_and_by_what_is_about_the_map() -> None:
    rng = np.random.default_rng(0)
    good = 5.0 + rng.normal(size=(3, 200, 2))
    nothing_about_the_map = good * [1.0, 0.0]
    assert counts(good, good)
    assert not counts(good * [1.0, 0.1] - [0.0, 0.5], good)
    assert not counts(good, nothing_about_the_map)


# -- Whether measures rank models alike (benchmarks/universality.py), on runs made up here ---------

MODELS = tuple(f"m{index}" for index in range(12))


def measure(name: str, levels: np.ndarray, noise: float, seed: int) -> Measured:
    """Values of models at these levels; halves are noisier by √2, as means of half of the maps."""
    draw = np.random.default_rng(seed)
    whole = levels + draw.normal(0, noise, len(levels))
    halves = levels[:, None] + draw.normal(0, 1.4 * noise, (len(levels), 2 * SPLITS))
    return Measured(MODELS, frozenset({name}), np.column_stack([whole, halves]))


def test_the_agreement_of_two_is_kendalls_tau() -> None:
    rng = np.random.default_rng(1)
    one, other = (measure(n, rng.integers(0, 5, 12).astype(float), 0.0, 0) for n in "ab")
    tau = kendalltau(one.values[:, 0], other.values[:, 0]).statistic
    assert agreement([one, other], [], 1).values[0] == pytest.approx(tau)


def test_a_true_claim_is_supported_and_a_false_one_falsified() -> None:
    levels = np.arange(12.0)
    alike = [measure(str(index), levels, 0.01, index) for index in range(4)]
    assert answer(agreement(alike, [], 200), 0.8) == "supported"
    rng = np.random.default_rng(0)
    apart = [measure(str(index), rng.permutation(levels), 0.01, index) for index in range(4)]
    assert answer(agreement(apart, [], 200), 0.8) == "falsified"
    noisy = [measure(str(index), levels, 30.0, index) for index in range(2)]
    assert answer(agreement(noisy, [], 200), 0.8) == "not decided"


def build(folder: Path, models: int = 5, maps: int = 6) -> Path:
    """A measured run of two games; a model's scores are its number, the first two rounds alike."""
    rows: dict[str, list[dict[str, object]]] = {"rounds": [], "measures": []}
    for model in range(models):
        for game in ("g", "h"):
            ids = {"run_id": "r1", "policy_id": f"m{model}", "game_id": game, "role": "black"}
            levels = {"b": 0.0, "theta": 1.0, "m": 4, "rounds": 2, "maps": maps, "k_m": 2}
            rows["measures"].append(row("measures", **ids, **levels, at_round=2))
            rows["rounds"] += [
                row(
                    "rounds",
                    **ids,
                    purpose="measure",
                    control=control,
                    map_seed=seed,
                    play_seed=seed,
                    round=number,
                    score=-9.0 if control else float(model) + 0.01 * seed,
                )
                for seed in range(maps)
                for number in (1, 2)
                for control in (False, True)
            ]
    with Archive.create(folder) as archive:
        archive.commit({"runs": [row("runs", run_id="r1", config_json="{}")], **rows})
    return folder


# -- Accepted games against core-hours (benchmarks/growths.py) -------------------------------------


def test_a_curve_rises_by_one_where_a_game_joins_and_goes_to_the_end() -> None:
    svg = render(curves([Growth(7, 2.0, (0.5, 1.0), Counter(), 0.0)]))
    [points] = re.findall(r'points="([^"]+)"', svg)
    corners = [tuple(map(float, pair.split(","))) for pair in points.split()]
    xs = [x for x, _ in corners]
    start, end = xs[0], xs[-1]
    assert [(x - start) / (end - start) for x in xs] == pytest.approx([0, 0.25, 0.25, 0.5, 0.5, 1])
    heights = [corners[0][1] - y for _, y in corners]
    assert [height / heights[-1] for height in heights] == pytest.approx([0, 0, 0.5, 0.5, 1, 1])
    assert "seed 7" in svg
