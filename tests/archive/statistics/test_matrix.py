"""From score rows to values: pairing, choice of plays, what is unmeasured and what undefined."""

from __future__ import annotations

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from archive import TABLES
from archive.plays import SCORE_COLUMNS, plays_of, representative_policies
from archive.schema import TaskId
from archive.statistics.intervals import ratio_interval, transfer_values
from archive.statistics.matrix import TransferMatrix, links, simultaneous_matrix, transfer_matrix

A, B = TaskId("a", "black"), TaskId("b", "black")
POLICIES = {A: ("pa",), B: ("pb",)}
SCHEMA = pa.schema([TABLES["scores"].schema.field(name) for name in SCORE_COLUMNS])


def rows(policy: str, game: str, purpose: str, scores: Any, **changes: Any) -> list[dict[str, Any]]:
    first = changes.pop("first", 0)
    score_rows = []
    for i, score in enumerate(map(float, scores)):
        values = (policy, game, "black", purpose, first + i, i, score, 0.25)
        score_rows.append(dict(zip(SCORE_COLUMNS, values, strict=True)) | changes)
    return score_rows


def matrix(score_rows: list[dict[str, Any]], **settings: Any) -> TransferMatrix:
    table = pa.Table.from_pylist(score_rows, schema=SCHEMA)
    return transfer_matrix(plays_of(table), POLICIES, [A, B], [A, B], **settings)


def noise(mean: float, seed: int, n: int = 40) -> np.ndarray:
    return mean + np.random.default_rng(seed).normal(0, 1, n)


def square(purpose: str, n: int = 40, b_on_b: float = 4.0, **changes: Any) -> list[dict[str, Any]]:
    """a teaches half of what b has to teach, b nothing of a."""
    means = {("pa", "a"): 8, ("pb", "a"): 0, ("pa", "b"): 2, ("pb", "b"): b_on_b}
    score_rows = []
    for place, ((policy, game), mean) in enumerate(means.items()):
        score_rows += rows(policy, game, purpose, noise(mean, place, n), **changes)
    for game in "ab":
        score_rows += rows("base", game, purpose, np.zeros(n), **changes)
    return score_rows


def test_values_are_those_of_the_definitions() -> None:
    transfer = matrix(square("acceptance"))
    own_a, cross, own_b = noise(8, 0), noise(2, 2), noise(4, 3)
    gains = [transfer.cells[A, other].values.gain.value for other in (A, B)]
    assert gains == pytest.approx([own_a.mean(), cross.mean()])
    assert transfer.values("captured")[0] == pytest.approx([1, cross.mean() / own_b.mean()])
    assert transfer.values("def37")[0] == pytest.approx([1, cross.mean() / own_a.mean()])
    bounds = ratio_interval(cross, own_b, 0.9)
    assert transfer.lower("captured")[0, 1] == pytest.approx(bounds.low)
    assert transfer.cells[A, B].values.captured.high == pytest.approx(bounds.high)
    unity = transfer.cells[B, B].values
    assert (unity.captured.low, unity.def37.high) == (1, 1)


def test_simultaneous_bounds_share_the_error_among_pairs_of_fine_tunes_and_samples() -> None:
    table = pa.Table.from_pylist(square("selection", 20) + square("acceptance"), schema=SCHEMA)
    bounds, count = simultaneous_matrix(plays_of(table), POLICIES, [A, B], [A, B], finetunes=3)
    assert count == 3 * 3 * 2
    expected = ratio_interval(noise(2, 2), noise(4, 3), 1 - 2 * 0.05 / 18, 0.9)
    assert bounds.lower("captured")[0, 1] == pytest.approx(expected.low)


def test_plays_on_other_seeds_are_no_pairs() -> None:
    score_rows = [row for row in square("acceptance") if row["policy_id"] != "pa"]
    score_rows += rows("pa", "a", "acceptance", noise(8, 0))
    score_rows += rows("pa", "b", "acceptance", noise(2, 2)[:5])
    score_rows += rows("pa", "b", "acceptance", noise(2, 2), first=1000)
    assert matrix(score_rows).cells[A, B].plays == 5


def test_the_larger_sample_is_used_and_of_equal_ones_acceptance() -> None:
    for selection, acceptance in ((20, 40), (40, 20), (30, 30)):
        score_rows = square("selection", selection) + square("acceptance", acceptance)
        cell = matrix(score_rows).cells[A, B]
        assert (cell.purpose == "selection") == (selection > acceptance)
        assert cell.plays == max(selection, acceptance)


def test_a_game_that_cannot_be_learned_has_no_values() -> None:
    transfer = matrix(square("acceptance", b_on_b=0.0))
    assert not transfer.unmeasured_pairs()
    assert list(transfer.values("captured")[:, 1]) == [-math.inf, -math.inf]
    assert list(transfer.lower("captured")[:, 1]) == [-math.inf, -math.inf]
    assert list(transfer.values("def37")[1]) == [-math.inf, -math.inf]
    assert transfer.values("def37")[0, 1] > 0


def test_the_finetune_that_the_latest_decision_lists_first_represents_its_game() -> None:
    order = ("a", "first"), ("b", "other"), ("a", "second")
    common = {"role": "black", "share": 1.0, "replicate": 0}
    finetunes = [common | {"game_id": g, "finetune_id": name} for g, name in order]
    # dismissed late, the last one names what there was before the second fine-tune
    lists = ["second", "first"], ["other", "first", "second"], ["other"], [], ["second"]
    named: list[dict[str, Any]] = [{"scope_finetunes": names} for names in lists]
    for decisions, first in ((named, "first"), (named[:1], "second"), ([], "second")):
        found = representative_policies(finetunes, decisions, 1)
        assert found == {A: (first,), B: ("other",)}


def test_values_of_several_training_seeds_are_over_plays_and_seeds() -> None:
    means = {("a", "a"): 8, ("b", "a"): 1, ("a", "b"): 2, ("b", "b"): 4}
    gains = {
        pair: np.stack([noise(mean + seed, 10 * place + seed) for seed in range(3)])
        for place, (pair, mean) in enumerate(means.items())
    }
    score_rows = [each for game in "ab" for each in rows("base", game, "acceptance", np.zeros(40))]
    for (source, target), several in gains.items():
        for seed, scores in enumerate(several):
            score_rows += rows(f"p{source}{seed}", target, "acceptance", scores)
    policies = {game: tuple(f"p{game.game_id}{seed}" for seed in range(3)) for game in (A, B)}
    plays = plays_of(pa.Table.from_pylist(score_rows, schema=SCHEMA))
    cell = transfer_matrix(plays, policies, [A, B], [A, B]).cells[A, B]
    expected = transfer_values(gains["a", "b"], gains["b", "b"], gains["a", "a"], 0.9, 0.9)
    assert cell.values == expected


# -- Components by paths (Def. 54), against paths found one by one ---------------------------------

VALUES = st.lists(
    st.sampled_from([0.0, 0.2, 0.5, 0.9, math.nan, -math.inf]), min_size=16, max_size=16
)


def path(values: np.ndarray, alpha: float, source: int, target: int) -> bool:
    """Some sequence of different games in between, each link at least alpha."""
    between = [i for i in range(4) if i not in (source, target)]
    middles = (each for length in range(3) for each in permutations(between, length))
    paths = (pairwise([source, *middle, target]) for middle in middles)
    return source == target or any(all(values[a, b] >= alpha for a, b in path) for path in paths)


@given(VALUES, st.sampled_from([0.1, 0.5, 0.9]))
def test_components_are_what_paths_reach(numbers: list[float], alpha: float) -> None:
    values = np.array(numbers).reshape(4, 4)
    edges, paths = links(values, alpha)
    for i, j in np.ndindex(4, 4):
        assert paths[i, j] == path(values, alpha, i, j)
        assert edges[i, j] == (i != j and values[i, j] >= alpha)
