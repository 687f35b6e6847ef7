"""What a newcomer sees of the games that a run keeps."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from archive import Archive, Run
from archive.statistics.rule import OwnGain
from archive.views.kept_games import FULL, KeptGame, gather, show


def kept_games(folder: Path) -> list[KeptGame]:
    with Archive.open(folder / "archive") as archive:
        return gather(Run(archive))


def text_of(games: list[KeptGame], width: int = 100) -> str:
    out = StringIO()
    show(games, Console(file=out, width=width), "runs/one")
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


def test_the_play_shown_is_the_median_one_by_three_players(kept_run: Path) -> None:
    for game in kept_games(kept_run):
        names = [each.player for each in game.attempts]
        assert names == ["trained", "untrained", "script:content_words"]
        assert len(game.texts) == 1
        gains = sorted(own_gains(kept_run, game))
        trained_attempt, untrained_attempt, _ = game.attempts
        assert trained_attempt.score - untrained_attempt.score == pytest.approx(
            gains[len(gains) // 2]
        )


def own_gains(kept_run: Path, game: KeptGame) -> list[float]:
    """Of the game's fine-tune, on the maps that scripts have played too."""
    with Archive.open(kept_run / "archive") as archive:
        mine = [("game_id", "=", game.member.game_id)]
        rows, finetunes = (archive.rows(name, filters=mine) for name in ("scores", "finetunes"))
    purpose = "acceptance" if game.decision else "selection"
    scores: dict[str, dict[int, Any]] = {}
    for row in rows:
        if row["purpose"] == purpose:
            scores.setdefault(row["policy_id"], {})[row["map_seed"]] = row["score"]
    own = scores[finetunes[-1]["finetune_id"]]
    return [own[each] - scores["base"][each] for each in scores["script:content_words"]]


def test_what_is_printed_says_why_and_shows_the_command(kept_run: Path) -> None:
    games = kept_games(kept_run)
    text = " ".join(text_of(games, 300).split())
    for part in (
        "Kept: 1 new game, beside 1 game that the run began with",
        "A story s is drawn. The player, who sees s, writes t",
        "kept training on it gives",
        "30% is required",
        "80% is allowed",
        "the best fixed rule, content_words, gains +",
        "learned training gains +",
        "trained",
        "untrained",
        "rule content_words",
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
    attempt = replace(initial.attempts[0], moves=("\x1b[2J[bold]",))
    text = text_of([replace(initial, attempts=(attempt,), texts=("a\x07b",), rules=("\x1b]0;x",))])
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]" in text


def test_without_plays_there_is_still_a_game(kept_run: Path) -> None:
    initial, _ = kept_games(kept_run)
    bare = replace(initial, own=OwnGain(), scripts=None, attempts=(), texts=())
    assert "python -m archive show" in text_of([bare])
