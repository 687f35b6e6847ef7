"""What a newcomer sees of the games that a run keeps."""

from __future__ import annotations

from pathlib import Path

from archive import Archive, Run
from archive.report.games import GameFacts, gather_games


def kept_games(folder: Path) -> tuple[GameFacts, ...]:
    with Archive.open(folder / "archive") as archive:
        return gather_games(Run(archive))[0]


def test_each_kept_game_has_its_rules_reason_and_gains(kept_run: Path) -> None:
    initial, new = kept_games(kept_run)
    assert initial.decision is None
    assert new.rules[0] == "A story s is drawn."
    assert new.decision is not None
    for name, gain in (("total", new.own.total), ("specific", new.own.specific)):
        assert gain.value == new.decision[f"{name}_gain"]
        assert gain.low == new.decision[f"{name}_gain_low"]
    assert initial.own.total.low < 10 < initial.own.total.high
    assert new.scripts is not None
    assert new.scripts.best == "script:content_words"


def test_the_plays_shown_are_the_best_beside_the_untrained_players(kept_run: Path) -> None:
    with Archive.open(kept_run / "archive") as archive:
        run = Run(archive)
        games, policies = gather_games(run)[0], run.policies
        rows = run.rows("scores")
    for game in games:
        its = [row for row in rows if row["game_id"] == game.member.game_id]
        mine = [row for row in its if row["policy_id"] in policies[game.task_id]]
        fresh = [row["score"] for row in mine if row["purpose"] == "acceptance"]
        own = fresh or [row["score"] for row in mine if row["purpose"] == "selection"]
        assert [play.score for play in game.plays] == sorted(own, reverse=True)[:3]
        base = {r["map_seed"]: r["score"] for r in its if r["policy_id"] == "base"}
        assert [play.base for play in game.plays] == [base[play.map_seed] for play in game.plays]
