"""``python -m archive ratings``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.rated import THREE, build, drawn, games

from archive.__main__ import main


def test_the_leaderboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = build(tmp_path / "a", drawn(0, THREE), levels=(0, 1))
    assert main(["ratings", str(folder), "--resamples", "4"]) == 0
    shown = capsys.readouterr().out
    for text in ("Models, rated by win", "ann", games(3)[0].game_id[:4], "exploitability"):
        assert text in shown


def test_json_holds_models_games_and_contributions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = build(tmp_path / "a", drawn(0, THREE))
    assert main(["ratings", str(folder), "--resamples", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {each["model"] for each in found["models"]} == set(THREE)
    assert found["models"][0]["rating"]["low"] is None
    for each in found["models"]:
        parts = found["by_game"][each["model"]]
        assert sum(parts.values()) == pytest.approx(each["rating"]["value"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resamples", "-1"], "--resamples: found -1, expected a whole number from 0 up"),
        (["--confidence", "2"], "--confidence: found 2, expected between 0.5 and 1"),
        (["--workers", "0"], "--workers: found 0, expected a whole number from 1 up"),
        (["--preference", "margin"], "found no game with levels"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    folder = build(tmp_path / "a", drawn(0, THREE))
    assert main(["ratings", str(folder), *arguments]) == 2
    assert message in capsys.readouterr().err
