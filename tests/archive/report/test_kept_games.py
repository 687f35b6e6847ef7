"""What a newcomer sees of the games that a run keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from archive import Archive, Run
from archive.report.games import GameFacts, gather_games
from archive.report.summary import FULL, show
from archive.statistics.rule import OwnGain


def kept_games(folder: Path) -> tuple[GameFacts, ...]:
    with Archive.open(folder / "archive") as archive:
        return gather_games(Run(archive))[0]


def text_of(games: Sequence[GameFacts], width: int = 100) -> str:
    out = StringIO()
    show(games, (), Console(file=out, width=width), "runs/one")
    return out.getvalue()


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


def test_what_is_printed_says_why_and_shows_the_command(kept_run: Path) -> None:
    games = kept_games(kept_run)
    text = " ".join(text_of(games, 300).split())
    for part in (
        "Kept: 1 new game, beside 1 game that the run began with",
        "A story s is drawn. The player, who sees s, writes t",
        "(at least 30% was asked)",
        "(at most 80% was allowed)",
        "the best fixed rule, content_words, gains +",
        "learned training gains +",
        "trained",
        "untrained",
        f"python -m archive show runs/one {games[1].member.game_id[:8]}",
    ):
        assert part in text
    assert text.index(games[1].member.game_id[:8]) < text.index(games[0].member.game_id[:8])
    assert max(len(line) for line in text_of(games, 80).splitlines()) <= 80


def test_of_many_games_the_later_ones_are_short(kept_run: Path) -> None:
    initial, new = kept_games(kept_run)
    text = text_of([initial, *[new] * (FULL + 2)])
    assert text.count("untrained") == FULL + 1
    assert text.count("kept  ") == FULL + 2


def test_what_strangers_wrote_is_shown_and_not_obeyed(kept_run: Path) -> None:
    initial, _ = kept_games(kept_run)
    play = replace(initial.plays[0], moves=("\x1b[2J[bold]",), texts=("a\x07b",))
    text = text_of([replace(initial, plays=(play,), rules=("\x1b]0;x",))])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]" in text


def test_without_plays_there_is_still_a_game(kept_run: Path) -> None:
    initial, _ = kept_games(kept_run)
    bare = replace(initial, own=OwnGain(), scripts=None, plays=())
    assert "python -m archive show" in text_of([bare])
