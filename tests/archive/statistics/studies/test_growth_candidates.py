"""Who is playable, in which list, with which verdict: read from what a growth archived."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from archive import Archive
from archive.schema import Reason, TaskId, Verdict
from archive.statistics.studies.growth_candidates import GrowthCandidate, playable_candidates

MakeRow = Callable[..., dict[str, Any]]
LEARNED = {"own_gain_low": 0.5, "total_gain_low": 1.0}


def test_lists_are_those_of_proposals_and_an_acceptance_stays(
    tmp_path: Path, make_row: MakeRow
) -> None:
    def decision(game: str, reason: Reason, **more: Any) -> dict[str, Any]:
        place = {"role": "black", "parent_game_id": "helped", "parent_role": "black", "round": 7}
        facts = LEARNED | {"verdict": reason.verdict, "reason": reason}
        return make_row("decisions", game_id=game, **(place | facts | more))

    def proposal(game: str, number: int) -> dict[str, Any]:
        place = {"parent_game_id": "proposed for", "parent_role": "white", "round": number}
        return make_row("proposals", game_id=game, role="black", outcome="candidate", **place)

    with Archive.create(tmp_path / "a") as archive:
        archive.commit(
            {
                "proposals": [proposal("a", 0), proposal("b", 1), proposal("unlearned", 1)],
                "decisions": [
                    decision("a", Reason.NEW_AND_USEFUL),
                    decision("a", Reason.COVERED, index=1),
                    decision("b", Reason.HELP_OPEN),
                    decision("b", Reason.NO_HELP, index=1),
                    decision("c", Reason.COVERED),
                    decision("unlearned", Reason.NOT_ABOUT_MAP, own_gain_low=0.0),
                    decision("unknown", Reason.FORFEIT_RATE, total_gain_low=None),
                    decision("first", Reason.COVERED),
                ],
                "scopes": [make_row("scopes", game_id="first", role="black")],
            }
        )
        candidates = playable_candidates(archive, "r1")
    assert [(each.task_id.game_id, each.verdict, each.accepted) for each in candidates] == [
        ("a", Verdict.ACCEPTED, True),
        ("b", Verdict.REFUSED, False),
        ("c", Verdict.REFUSED, False),
    ]
    assert [each.list_key.round for each in candidates] == [0, 1, 7]
    assert candidates[0].list_key.parent == TaskId("proposed for", "white")
    assert candidates[2].list_key.parent == TaskId("helped", "black"), (
        "where no proposal is archived"
    )
    assert [GrowthCandidate.of(each.row()) for each in candidates] == candidates


def test_undecided_counts_as_refused() -> None:
    row = {
        "game_id": "a",
        "role": "black",
        "growth": "r1",
        "generation": 0,
        "parent_game_id": "p",
        "parent_role": "black",
        "round": 0,
        "verdict": "undecided",
        "reason": Reason.COVERAGE_OPEN,
    }
    assert not GrowthCandidate.of(row).accepted
