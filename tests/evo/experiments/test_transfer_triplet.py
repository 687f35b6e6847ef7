"""The reference experiment on a executor that knows the true gains."""

from __future__ import annotations

import pytest
from support.search import Killed, Listed, Nature, Search, code, of_limits

from archive import Archive
from archive.statistics.intervals import UNDEFINED, Interval
from evo.experiments.transfer_triplet import figure, short_name, with_interval

WORLD = of_limits(l8=Nature(teaches=0.6), l9=Nature(own=5.0, covered=0.3))
FEW = ["finetune.replicates=2", "transfer.acceptance_plays=[24]", "game.dialect=xent"]


def study(search: Search, *overrides: str) -> int:
    (search.folder / "one.xent").write_text(code(8))
    (search.folder / "two.xent").write_text(code(9))
    scope = f"growth.initial_scope=[{search.folder / 'one.xent'},{search.folder / 'two.xent'}]"
    kind = ["+experiment=transfer_triplet", scope, *FEW, *overrides]
    return search.run(WORLD, *kind, sampler=Listed([]), only=True)


def test_every_fine_tune_plays_every_game_on_the_same_fresh_maps(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(search) == 0
    rows = [row for row in search.rows("scores") if row["purpose"] == "acceptance"]
    map_sets: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        map_sets.setdefault((row["policy_id"], row["game_id"]), set()).add(row["map_seed"])
    finetunes = search.rows("finetunes")
    assert len(finetunes) == 4
    assert len(map_sets) == (1 + 4) * 2
    assert len(set(map(frozenset, map_sets.values()))) == 1
    output = capsys.readouterr().out
    titles = ("total gain", "specific gain", "captured, C, of specific", "more than from second")
    for title in (*titles, "Definition 37, V"):
        assert title in output
    assert output.count("+1.00 [+1.00, +1.00] *") == 2 * 2, "a game on itself, by C and by V"
    assert "Kept: " not in output
    assert (search.folder / "run" / "curves.svg").read_text().startswith("<svg")


def test_a_killed_study_goes_on(search: Search) -> None:
    study(search, "name=whole")
    with pytest.raises(Killed):
        kill_study(search)
    assert search.run(WORLD, sampler=Listed([]), name="killed", resume=True) == 0
    assert search.tables("killed") == search.tables("whole")
    with Archive.open(search.folder / "killed" / "archive") as archive:
        assert [row["event"] for row in archive.rows("runs")][-1] == "finished"


def kill_study(search: Search) -> None:
    scope = f"growth.initial_scope=[{search.folder / 'one.xent'},{search.folder / 'two.xent'}]"
    kind = ["+experiment=transfer_triplet", scope, *FEW]
    search.run(WORLD, *kind, sampler=Listed([]), only=True, name="killed", patience=7)


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("fig_4_02_single_text", "single_text"),
        ("rival", "rival"),
        ("games/fig_mine.xgl", "fig_mine"),
    ],
)
def test_short_names(entry: str, name: str) -> None:
    assert short_name(entry) == name


def test_a_value_is_starred_where_its_interval_is_above_nothing() -> None:
    assert with_interval(Interval(2.0, 1.0, 3.0)) == "+2.00 [+1.00, +3.00] *"
    assert with_interval(Interval(2.0, -1.0, 5.0)) == "+2.00 [−1.00, +5.00]"
    assert with_interval(UNDEFINED) == "undefined"


def test_curves_have_a_line_for_each_fine_tune() -> None:
    chart = figure({"one": [[1.0, 2.0, 3.0], [0.0, 1.0]], "flat": [[2.0, 2.0]], "none": [[]]})
    lines = [each for each in chart.children if each.tag == "polyline"]
    points = {
        kind: [
            len(line.attributes["points"].split())
            for line in lines
            if line.attributes["class_"].endswith("thin") == (kind == "thin")
        ]
        for kind in ("thin", "bold")
    }
    assert points == {"thin": [3, 2, 2], "bold": [3, 2, 2]}
    assert chart.attributes["width"] > 3 * 250
