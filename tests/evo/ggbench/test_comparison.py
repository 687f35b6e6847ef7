"""Models on both families: the join, the table, the figure."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from support.measured import row

from archive import Archive
from evo.ggbench.__main__ import main
from evo.ggbench.comparison import compare
from xgl.errors import ConfigError

GAMES = ("p", "q")
PLAYS = 4


def write_archive(folder: Path, **tables: list[dict[str, Any]]) -> Path:
    with Archive.create(folder / "archive") as archive:
        archive.commit(tables)
    return folder


def both(
    folder: Path, wins: dict[str, tuple[int, ...]], narms: dict[str, tuple[float, ...]]
) -> tuple[Path, Path]:
    """A run with so many wins of four plays by game, and a measure with these scores."""
    plays = [
        row("gg_plays", player=name, program_id=game, outcome="win" if n < win_count else "loss")
        for name, counts in wins.items()
        for game, win_count in zip(GAMES, counts, strict=True)
        for n in range(PLAYS)
    ]
    scores = [
        row("measures", policy_id=name, game_id=game, narms=score)
        for name, values in narms.items()
        for game, score in zip(GAMES, values, strict=True)
    ]
    folders = folder / "programs", folder / "measured"
    return write_archive(folders[0], gg_plays=plays), write_archive(folders[1], measures=scores)


def test_players_of_both_runs_stand_in_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wins = {"weak": (1, 0), "middling": (2, 3), "strong": (4, 4), "alone": (4, 4)}
    narms = {"weak": (0.1, 0.4), "middling": (1.0, 0.9), "strong": (2.0, 3.0), "other": (9.0, 9.0)}
    programs, measure = both(tmp_path, wins, narms)
    comparison = compare(programs, measure)
    assert list(comparison.rates) == ["weak", "middling", "strong"]
    assert [rate for rate, _, _ in comparison.rates.values()] == [0.125, 0.625, 1.0]
    assert comparison.narms.mean(axis=1).tolist() == [0.25, 0.95, 2.5]
    assert comparison.agreement
    assert comparison.agreement.rho == pytest.approx(1)
    assert comparison.agreement.p_value == pytest.approx(2 / 6)
    figure_path = tmp_path / "both.svg"
    assert main(["compare", str(programs), str(measure), "--figure", str(figure_path)]) == 0
    output = capsys.readouterr().out
    assert "Spearman's rho over 3 players: +1.00" in output
    assert len(ET.parse(figure_path).getroot().findall(".//{*}circle")) == 6


def test_two_players_have_no_rank_correlation(tmp_path: Path) -> None:
    programs, measure = both(
        tmp_path, {"a": (1, 1), "b": (2, 2)}, {"a": (1.0, 1.0), "b": (2.0, 2.0)}
    )
    assert compare(programs, measure).agreement is None


def test_runs_without_a_common_player_are_refused(tmp_path: Path) -> None:
    programs, measure = both(tmp_path, {"a": (1, 1)}, {"b": (1.0, 1.0)})
    with pytest.raises(ConfigError, match="no player in common"):
        compare(programs, measure)
