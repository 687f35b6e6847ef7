"""Whether measures rank models alike (benchmarks/universality.py), on runs made up here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau
from support.measured import row
from universality import SPLITS, Measured, agreement, answer, read

from archive import Archive
from archive.errors import RatingError

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


def test_random_games_are_compared_with_each_other() -> None:
    levels = np.arange(12.0)
    alike = [measure(str(index), levels, 0.01, index) for index in range(3)]
    result = agreement(alike, alike[:2], 50)
    assert result.values[1] == pytest.approx(1.0)
    assert result.values[-1] == pytest.approx(0.0, abs=1e-9)


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


def test_a_measured_run_is_read_without_its_control(tmp_path: Path) -> None:
    measured = read(str(build(tmp_path / "a")))
    assert measured.models == tuple(f"m{index}" for index in range(5))
    assert measured.games == {"g", "h"}
    assert measured.values.shape == (5, 1 + 2 * SPLITS)
    assert (np.diff(measured.values, axis=0) > 0).all()
    assert measured.values[2, 1] + measured.values[2, 2] == pytest.approx(2 * measured.values[2, 0])


@pytest.mark.parametrize(
    ("changes", "message"), [({"models": 3}, "3 models"), ({"maps": 3}, "3 maps")]
)
def test_too_little_is_one_sentence(tmp_path: Path, changes: dict[str, int], message: str) -> None:
    with pytest.raises(RatingError, match=f"found {message}"):
        read(str(build(tmp_path / "a", **changes)))
