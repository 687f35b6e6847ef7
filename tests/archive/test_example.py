"""The finished run under docs/example: today's code reads it, and it is what its page says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from archive import Archive, Run, Verdict
from archive.__main__ import main
from archive.report.gathering import gather_report
from archive.verification import verify

FOLDER = Path(__file__).parents[2] / "docs" / "example"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python -m archive (\S+ docs/example/run[^#\n]*)", PAGE, re.MULTILINE)


def test_every_decision_follows_from_its_scores() -> None:
    with Archive.open(FOLDER / "run") as archive:
        assert verify(archive).faults == []


def test_the_page_names_what_was_accepted() -> None:
    with Archive.open(FOLDER / "run") as archive:
        rows = [r for r in archive.rows("decisions") if r["verdict"] == Verdict.ACCEPTED]
    values = {(f"{row['captured']:.2f}", f"{row['gamma']:.2f}") for row in rows}
    assert values == set(re.findall(r"\(C ([\d.]+), γ ([\d.]+)\)", PAGE))


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_answer(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.strip()


def test_its_report_has_the_bits_of_its_best_plays(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(FOLDER / "run"), "-o", str(page)]) == 0
    assert page.read_text(encoding="utf-8").count('class="tokens"') == 18


def test_its_report_tells_scopes_from_generations() -> None:
    with Archive.open(FOLDER / "run") as archive:
        report = gather_report(Run(archive))
    assert [size for size, _ in report.scope_sizes] == [1, 2, 3]
    assert report.generations == (0, 1), "both new games are children of the first"


def test_it_is_small() -> None:
    """A clone carries it."""
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    assert size < 6e6


def test_a_cover_names_the_values_that_are_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    """They are not 0: a value of 0 is known, and is not named."""
    command = ["cover", str(FOLDER / "run"), "--from", "finetuned", "--skip-unplayable"]
    assert main([*command, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    with Archive.open(FOLDER / "run") as archive:
        rows = archive.rows("scores", ["policy_id", "game_id"], [("purpose", "!=", "training")])
        own = {row["finetune_id"]: row["game_id"] for row in archive.rows("finetunes")}
    played = {(own[r["policy_id"]], r["game_id"]) for r in rows if r["policy_id"] in own}
    unknown_pairs = {(source[0], target[0]) for source, target in answer["unknown"]}
    assert unknown_pairs
    assert not unknown_pairs & played
    assert main(command) == 0
    text = capsys.readouterr().out
    assert (
        f"{len(unknown_pairs)} of 21 values were not measured, and count for nothing here: " in text
    )
    for source, target in unknown_pairs:
        assert f"{source[:12]} on {target[:12]}" in text
