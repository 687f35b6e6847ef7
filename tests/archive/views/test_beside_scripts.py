"""Where a reader meets scripted players: inspect, show, decisions --why, the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archive import Archive
from archive.__main__ import main
from archive.text import number


def output_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a command prints, on one line."""
    capsys.readouterr()
    assert main([str(each) for each in arguments]) == 0
    return " ".join(capsys.readouterr().out.replace("│", " ").split())


def decisions(folder: Path) -> list[dict[str, Any]]:
    with Archive.open(folder / "archive") as archive:
        return archive.rows("decisions")


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")


@pytest.mark.usefixtures("wide")
def test_inspect_says_how_far_each_accepted_game_is_beyond_scripts(
    kept_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [row] = [each for each in decisions(kept_run) if each["verdict"] == "accepted"]
    text = output_of(capsys, "inspect", kept_run)
    gains = number(row["total_gain"]), number(row["specific_gain"])
    assert "gains {} bits a play, {} of them about the map".format(*gains) in text
    assert f"{number(row['beyond_scripts'])} [{number(row['beyond_scripts_low'])}, " in text
    assert "above the best fixed rule, content_words" in text


@pytest.mark.usefixtures("wide")
def test_why_asks_about_scripts_where_the_run_does(
    kept_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [row] = decisions(kept_run.parent / "apply_script_gate")
    assert row["reason"] == "no more than a script"
    text = output_of(
        capsys, "decisions", kept_run.parent / "apply_script_gate", "--why", row["game_id"]
    )
    assert "earns more than any script" in text
    assert "Not passed: earns more than any script, and so about the map." in text
    assert "Taken again from the scores: refused, no more than a script." in text
    assert "earns more" not in output_of(capsys, "decisions", kept_run, "--why", row["game_id"])


def test_the_report_has_the_comparison(kept_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(kept_run), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "the best fixed rule, content words, gains +" in text
    assert (
        "a trained player surely earns more than every fixed rule, such as repeating the text, on"
        in text
    )
    assert "plays by fixed rules" in text
