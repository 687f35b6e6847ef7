"""The cover that a search archives with each scope, and the command that asks for others."""

from __future__ import annotations

import json

import pytest
from support.search import Listed, Nature, Search, code, of_limits

from archive.__main__ import main

WORLD = of_limits(l7=Nature(teaches=0.7, covered=0.1))


def run_search(search: Search) -> str:
    """A run whose scope has two games: the second teaches 0.7 of the first, the first 0.1 of it."""
    assert search.run(WORLD, "growth.eta=0.4", sampler=Listed([code(7)])) == 0
    return str(search.folder / "run")


def test_each_generation_has_its_cover(search: Search) -> None:
    run_search(search)
    covers, scopes = search.rows("covers"), search.rows("scopes")
    assert {row["scope"] for row in covers} == {row["scope"] for row in scopes} == {0, 1}
    first, second = [row for row in scopes if row["scope"] == 1]
    (last,) = [row for row in covers if row["scope"] == 1]
    assert last["game_id"] == second["game_id"]
    assert sorted(last["covers"]) == sorted([first["game_id"], second["game_id"]])
    assert (last["eta"], last["definition"], last["exact"]) == (0.4, "captured", True)
    assert last["delta"] == pytest.approx(0.7, abs=0.05)
    assert last["unknown"] == 0
    (initial,) = [row for row in covers if row["scope"] == 0]
    assert (initial["game_id"], initial["delta"]) == (first["game_id"], 1.0)


def test_the_command_answers_as_the_run_did(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_search(search)
    capsys.readouterr()
    assert main(["cover", run, "--eta", "0.4", "--json", "--sweep"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (row,) = [row for row in search.rows("covers") if row["scope"] == 1]
    assert answer["cover"]["members"] == [[row["game_id"], "black"]]
    assert answer["cover"]["delta"] == row["delta"]
    assert answer["confident"]["cover"]["members"] == answer["cover"]["members"]
    assert 0.4 <= answer["confident"]["cover"]["delta"] < row["delta"]
    sizes = [len(step["cover"]["members"]) for step in answer["sweep"]]
    assert (sizes[0], sizes[-1]) == (1, 2)
    assert sizes == sorted(sizes)


def test_people_are_shown_members_and_the_sweep(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_search(search)
    capsys.readouterr()
    assert main(["cover", run, "--eta", "0.9", "--sweep"]) == 0
    output = capsys.readouterr().out
    for part in ("The fewest games that teach each one at least 0.9", "(C, specific gain)",
                 "2 games of 2 teach all 2; the least taught has 1.000 (Δ): optimal",
                 "Every value is known.", "With 95% confidence", "Covers by η", "█"):  # fmt: skip
        assert part in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--eta", "1.5"], "found η 1.5, expected at most 1:"),
        (["--eta", "much"], "--eta: found much, expected a number from 0 up"),
        (["--eta", "nan"], "--eta: found nan"),
        (["--confidence", "1"], "--confidence: found 1, expected a number between 0.5 and 1"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    search: Search, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    run = run_search(search)
    capsys.readouterr()
    assert main(["cover", run, *(part.format(run=run) for part in arguments)]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert message in output.err
