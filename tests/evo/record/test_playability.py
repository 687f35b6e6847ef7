"""The playability filters in a search: who is refused, on what evidence, and at which cost."""

from __future__ import annotations

from support.search import Listed, Nature, Search, code, of_limits

from evo.jobs.job import Repetition, Training

FEW_SHOT = ("playability=few_shot", "growth.max_candidates=3")
WORLD = of_limits(l5=Nature(artifact=True), l6=Nature(few_shot=False), l7=Nature())
LISTED = (code(5), code(6), code(7))


def test_cheap_filters_come_before_expensive_ones(search: Search) -> None:
    assert search.run(WORLD, *FEW_SHOT, sampler=Listed(LISTED)) == 0
    verdicts = {row["reason"]: row for row in search.rows("decisions")}
    assert set(verdicts) == {"ill-posed", "not few-shot playable", "helps and is new"}
    ill, flat, good = (
        verdicts["ill-posed"],
        verdicts["not few-shot playable"],
        verdicts["helps and is new"],
    )
    assert ill["best_kept"] < 0.5
    assert ill["few_shot_low"] is None, "refused before it is played repeatedly"
    assert (flat["best_kept"], flat["few_shot_low"]) == (1.0, 0.0)
    assert good["few_shot_low"] > 0.9
    assert good["few_shot_above_control"] == 0.0
    assert all(row["finetune_id"] is None for row in (ill, flat))
    assert ill["decided"]
    assert flat["decided"]
    kinds = [type(job) for job in search.executor.jobs]
    assert kinds.count(Repetition) == 3, "the parent and the two that are well-posed"
    assert kinds.count(Training) == 2
    game_ids = {row["game_id"] for row in search.rows("rounds")}
    assert ill["game_id"] not in game_ids
    assert flat["game_id"] in game_ids
    assert flat["plays"] > ill["plays"]


def test_without_few_shot_nothing_is_repeated(search: Search) -> None:
    assert search.run(WORLD, "growth.max_candidates=3", sampler=Listed(LISTED)) == 0
    reasons = [row["reason"] for row in search.rows("decisions")]
    assert "ill-posed" in reasons
    assert "not few-shot playable" not in reasons
    assert search.rows("rounds") == []
    scores = search.rows("scores")
    assert all(row["clipped_score"] is not None for row in scores)


def test_well_posedness_can_be_left_unasked(search: Search) -> None:
    overrides = ("playability.best_kept=0", "growth.max_candidates=3")
    assert search.run(WORLD, *overrides, sampler=Listed(LISTED)) == 0
    decisions = search.rows("decisions")
    assert "ill-posed" not in {row["reason"] for row in decisions}
    assert min(row["best_kept"] for row in decisions) == 0.0, "it is archived all the same"
