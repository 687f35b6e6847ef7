"""Models and games rated together, on the page."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.rated import THREE, build, draw_scores, games

from archive import Archive
from archive.report.measures import RatingsSection, gather_ratings, leaderboard
from archive.report.page import _environment
from archive.schema import TaskId

EVERY = (0, 1, 2)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("archive.report.measures.RESAMPLES", 2)


def build_and_gather(folder: Path, **options: object) -> RatingsSection | str | None:
    with Archive.open(build(folder, **options)) as archive:
        exported_id = f"scope{games(3)[0].game_id[:4]}"
        return gather_ratings(archive, [], {TaskId(exported_id, "black"): (4, "cunning hen")})


def test_games_are_named_and_their_copies_folded(tmp_path: Path) -> None:
    scores = {name: [*each[:2], each[0]] for name, each in draw_scores(0, THREE, 8).items()}
    ratings = build_and_gather(tmp_path / "a", scores=scores, levels=EVERY)
    assert isinstance(ratings, RatingsSection)
    assert len(ratings.games) == 2
    names = [{name, *copies} for _, name, copies, _ in ratings.games if copies]
    assert names == [{"cunning hen", games(3)[2].game_id[:12]}]
    assert sum(mass for *_, mass in ratings.games) == pytest.approx(1)
    for model, parts, rest, total in ratings.contributions:
        assert sum(parts) + rest == pytest.approx(total), model


def test_the_page_says_what_a_rating_is_and_who_leads(tmp_path: Path) -> None:
    ratings = build_and_gather(tmp_path / "a", scores=draw_scores(0, THREE), levels=EVERY)
    assert isinstance(ratings, RatingsSection)
    page = _environment().get_template("ratings.html")
    text = page.render(
        report=SimpleNamespace(ratings=ratings),
        figures={"leaderboard": leaderboard(ratings.result)},
    )
    for words in ("0 for the best", "It is no probability", "Which games matter", "cunning hen"):
        assert words in text
    assert "nan" not in text


def test_what_cannot_be_rated_says_why(tmp_path: Path) -> None:
    one = {"ann": [np.zeros(1)], "bob": [np.zeros(1)]}
    assert build_and_gather(tmp_path / "a", scores=one, levels=(0,)) == (
        "no game was played by a model on 2 maps: found fewer, expected more maps"
    )
