"""Models on both families: the join and the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.measured import row

from archive import Archive
from evo.ggbench.__main__ import main

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
    assert main(["compare", str(programs), str(measure)]) == 0
    output = capsys.readouterr().out
    assert "2 programs, 2 Xent games" in output
    rows = [line.replace("│", " ").split() for line in output.splitlines()]
    found = {row[0]: (row[1], row[-1]) for row in rows if row and row[0] in wins}
    assert found == {
        "strong": ("1.000", "2.50"),
        "middling": ("0.625", "0.95"),
        "weak": ("0.125", "0.25"),
    }
    assert list(found) == ["strong", "middling", "weak"]
    assert "Spearman's rho over 3 players: +1.00" in output
    assert "two-sided p 0.333" in output


def test_two_players_have_no_rank_correlation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs, measure = both(
        tmp_path, {"a": (1, 1), "b": (2, 2)}, {"a": (1.0, 1.0), "b": (2.0, 2.0)}
    )
    assert main(["compare", str(programs), str(measure)]) == 0
    assert "No rank correlation" in capsys.readouterr().out


def test_runs_without_a_common_player_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs, measure = both(tmp_path, {"a": (1, 1)}, {"b": (1.0, 1.0)})
    assert main(["compare", str(programs), str(measure)]) == 2
    assert "no player in common" in capsys.readouterr().err
