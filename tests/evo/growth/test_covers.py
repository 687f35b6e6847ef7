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
