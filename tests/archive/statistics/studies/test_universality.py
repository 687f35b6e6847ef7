"""Whether measures rank models alike: Kendall's τ, its ceiling, and what would falsify it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import kendalltau
from support.measured import row

from archive import Archive
from archive.__main__ import main
from archive.errors import RatingError
from archive.schema import TaskId
from archive.statistics.measures.repeated_play import ScoreLevels, arms, narms
from archive.statistics.studies.universality import (
    SPLITS,
    MeasuredScope,
    UniversalityAnswer,
    UniversalityQuestion,
    family_of,
    read_measured_scope,
    universality,
)
from archive.views.universality import show

FAST = UniversalityQuestion(resamples=200)


def scope(
    values: np.ndarray, noise: float = 0.0, seed: int = 0, names: Sequence[str] = ()
) -> MeasuredScope:
    """A measure in which models have these values, and each half of the maps sees them with
    noise; its content words say nothing."""
    rng = np.random.default_rng(seed)
    halves = values + rng.normal(0, noise, (SPLITS, 2, len(values)))
    models = tuple(names) or tuple(f"m{place:02}" for place in range(len(values)))
    scores = values + rng.normal(0, noise / np.sqrt(2), len(values))
    tasks = frozenset(TaskId(f"{seed}-{number}", "black") for number in range(4))
    return MeasuredScope(f"s{seed}", models, tasks, scores, halves, rng.normal(size=len(values)))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=9))
def test_tau_is_scipys_ties_included(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, float).T
    result = universality([scope(x), scope(y)], question=UniversalityQuestion(resamples=1)).grown
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert result.value is None
    else:
        assert result.value == pytest.approx(kendalltau(x, y).statistic)


def test_the_same_skill_is_supported_and_different_skills_are_falsified() -> None:
    rng = np.random.default_rng(1)
    skill = rng.normal(size=16)
    alike = universality([scope(skill, 0.05, seed) for seed in range(4)], question=FAST)
    assert alike.answer is UniversalityAnswer.SUPPORTED
    assert alike.grown.low > 0.5
    other = universality([scope(rng.normal(size=16), 0.05, s) for s in range(4)], question=FAST)
    assert other.answer is UniversalityAnswer.FALSIFIED
    assert other.of_noise_ceiling.high < 0.8
    assert other.noise_ceiling.low > 0.7, "each measure is sure of itself"


def test_noise_alone_does_not_falsify() -> None:
    """The noise ceiling falls with the agreement."""
    skill = np.random.default_rng(2).normal(size=16)
    result = universality([scope(skill, 1.0, seed) for seed in range(4)], question=FAST)
    assert result.grown.value is not None
    assert result.grown.value < 0.8
    assert result.answer is not UniversalityAnswer.FALSIFIED
    assert result.of_noise_ceiling.high > 0.9


def test_agreement_that_any_games_show_owes_nothing_to_growth() -> None:
    rng = np.random.default_rng(3)
    skill = rng.normal(size=14)
    scopes = [scope(skill, 0.3, seed) for seed in range(4)]
    same = universality(scopes, [scope(skill, 0.3, 10 + s) for s in range(4)], FAST)
    assert same.beyond_random.low < 0 < same.beyond_random.high
    chance = universality(scopes, [scope(rng.normal(size=14), 0.3, 20 + s) for s in range(4)], FAST)
    assert chance.beyond_random.low > 0
    assert universality(scopes, question=FAST).beyond_random.value is None


def test_a_trivial_measure_may_be_turned_over() -> None:
    """Content words that rank the models exactly backwards foretell all that growths agree on."""
    skill = np.arange(12.0)
    scopes = [replace(scope(skill, 0.0, seed), content=-skill) for seed in range(4)]
    result = universality(scopes, question=FAST)
    assert (result.grown.value, result.content.value) == (1.0, -1.0)
    assert result.beyond_content.value == 0.0


def test_pairs_that_share_games_are_named() -> None:
    skill = np.arange(12.0)
    one, other, third = (scope(skill, 0.1, seed) for seed in range(3))
    assert universality([one, other, third], question=FAST).shared == ()
    both = replace(other, tasks=frozenset({*one.tasks, *list(other.tasks)[:1]}))
    result = universality([one, both, third], question=FAST)
    assert result.shared == ((one.name, both.name, 4),)
    console = Console(record=True, width=200)
    show(result, FAST, console)
    text = " ".join(console.export_text().split())
    assert "1 of 3 pairs of growths share games (s0 and s1 4 games)" in text
    assert "of 12 families" in text


def test_variants_of_one_model_are_drawn_together() -> None:
    rng = np.random.default_rng(4)
    skill = np.sort(rng.normal(size=12))
    apart = [f"m{place}" for place in range(12)]
    variants = [f"m{place // 4}*0.{place % 4 + 1}" for place in range(12)]
    one, other = (
        universality([scope(skill, 0.6, seed, names) for seed in range(4)], question=FAST)
        for names in (apart, variants)
    )
    assert (one.families, other.families) == (12, 3)
    assert other.grown.high - other.grown.low > one.grown.high - one.grown.low


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("embedded@0.5", "embedded"),
        ("adapter:runs/a:12ab*0.25", "adapter:runs/a:12ab"),
        ("adapter:runs/a:12ab", "adapter:runs/a:12ab"),
        ("chat:m@https://host/v1", "chat:m@https://host/v1"),
    ],
)
def test_families_are_read_off_names(name: str, family: str) -> None:
    assert family_of(name) == family


def test_too_little_to_compare_is_said() -> None:
    skill = np.arange(5.0)
    with pytest.raises(RatingError, match="two or more to compare"):
        universality([scope(skill)])
    with pytest.raises(RatingError, match="found 2 models that every measure was played by"):
        universality([scope(skill), scope(skill, names=("m00", "m01", "a", "b", "c"))])


# -- from archives -------------------------------------------------------------------------------

LEVELS = ScoreLevels(0.0, 1.0, 4, 3, 8, 3)


def write_measured_run(folder: Path, skills: Sequence[float], seed: int) -> Path:
    """Models of different skill on two games, eight maps and three rounds; the better their skill,
    the more content words they say."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, object]]] = {
        "runs": [row("runs", run_id="r", config_json=json.dumps({"digest": "d"}))],
        "rounds": [],
        "measures": [],
    }
    for place, skill in enumerate(skills):
        for game in ("g0", "g1"):
            ids = {"run_id": "r", "policy_id": f"m{place}", "game_id": game, "role": "black"}
            scores = skill + rng.normal(0, 0.2, (8, 3))
            rows["rounds"] += [
                row(
                    "rounds",
                    **ids,
                    purpose="measure",
                    map_seed=2 * at + 1,
                    play_seed=at,
                    round=number + 1,
                    score=float(scores[at, number]),
                    moves=["the dog" if place else "the of"],
                )
                for at in range(8)
                for number in range(3)
            ]
            value = narms(arms(scores), LEVELS, 3)
            levels = {**asdict(LEVELS), "maps": 8, "at_round": 3}
            del levels["samples"]
            rows["measures"].append(row("measures", **ids, **levels, narms=value))
    with Archive.create(folder) as archive:
        archive.commit(rows)
    return folder


def test_a_measured_run_is_read_with_its_halves(tmp_path: Path) -> None:
    with Archive.open(write_measured_run(tmp_path / "a", [0.0, 1.0, 2.0, 3.0], 0)) as archive:
        result = read_measured_scope(archive, "a")
        expected: dict[str, list[float]] = {m: [] for m in result.models}
        for each in archive.rows("measures"):
            expected[each["policy_id"]].append(each["narms"])
    assert result.models == ("m0", "m1", "m2", "m3")
    assert result.values == pytest.approx([np.mean(expected[m]) for m in result.models])
    assert result.halves.shape == (SPLITS, 2, 4)
    assert np.abs(result.halves - result.values).max() < 1.0
    assert list(result.content) == [0.0, 0.5, 0.5, 0.5]


def test_the_command_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skills = [0.0, 0.7, 1.4, 2.1, 2.8]
    runs = [str(write_measured_run(tmp_path / f"r{seed}", skills, seed)) for seed in range(3)]
    assert main(["universality", *runs, "--resamples", "50"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "Two growths rank models alike: supported" in output
    assert "two halves of the maps of one (the noise ceiling)" in output
    assert main(["universality", *runs[:2], "--random", runs[2], "--json", "--resamples", "9"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["answer"] in set(UniversalityAnswer)
    assert {"ceiling", "of_ceiling"} <= set(facts), "keys of JSON stay"
    assert facts["grown"]["value"] > 0.7
    assert facts["randoms"] == [runs[2]]
    assert main(["universality", runs[0]]) == 2
    assert "expected two or more" in capsys.readouterr().err
    assert main(["universality", *runs, "--margin", "0"]) == 2
    assert "--margin: found 0, expected above 0 and at most 1" in capsys.readouterr().err
