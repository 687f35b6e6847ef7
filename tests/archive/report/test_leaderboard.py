"""Models and games rated together, on the page."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.rated import THREE, build, drawn, games

from archive import Archive
from archive.report.figures.players import leaderboard
from archive.report.page import _environment
from archive.report.player_measures import Ratings, gather_ratings
from archive.schema import TaskId

EVERY = (0, 1, 2)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archive.report.player_measures.RESAMPLES", 2)


def gathered(folder: Path, **given: object) -> Ratings | str | None:
    with Archive.open(build(folder, **given)) as archive:
        exported = f"scope{games(3)[0].game_id[:4]}"
        return gather_ratings(archive, [], {TaskId(exported, "black"): (4, "cunning hen")})


def test_games_are_named_and_their_copies_folded(tmp_path: Path) -> None:
    scores = {name: [*each[:2], each[0]] for name, each in drawn(0, THREE, 8).items()}
    found = gathered(tmp_path / "a", scores=scores, levels=EVERY)
    assert isinstance(found, Ratings)
    assert len(found.games) == 2
    folded = next(each for each in found.games if each.copies)
    assert {folded.name, *folded.copies} == {"cunning hen", games(3)[2].game_id[:12]}
    assert sum(each.mass for each in found.games) == pytest.approx(1)
    for model, parts, rest, total in found.contributions:
        assert sum(parts) + rest == pytest.approx(total), model


def test_the_page_says_what_a_rating_is_and_who_leads(tmp_path: Path) -> None:
    found = gathered(tmp_path / "a", scores=drawn(0, THREE), levels=EVERY)
    assert isinstance(found, Ratings)
    page = _environment().get_template("ratings.html")
    text = page.render(
        report=SimpleNamespace(ratings=found),
        figures={"leaderboard": leaderboard(found.result)},
    )
    for words in ("0 for the best", "It is no probability", "Which games matter", "cunning hen"):
        assert words in text
    assert "nan" not in text


def test_one_model_is_not_rated(tmp_path: Path) -> None:
    assert gathered(tmp_path / "a", scores=drawn(0, {"ann": (1.0,)}), levels=(0,)) is None


def test_what_cannot_be_rated_says_why(tmp_path: Path) -> None:
    one = {"ann": [np.zeros(1)], "bob": [np.zeros(1)]}
    assert gathered(tmp_path / "a", scores=one, levels=(0,)) == (
        "no game was played by a model on 2 maps: found fewer, expected more maps"
    )
