"""Accepted games against core-hours (benchmarks/yield.py)."""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from archive import Archive
from xgl.diagram.svg import render

EXAMPLE = Path(__file__).parents[1] / "docs" / "example" / "run"
growth_yield: Any = import_module("yield")  # a keyword is no name


def test_a_run_is_read_from_its_archive() -> None:
    growth = growth_yield.read_growth(EXAMPLE, "open_ended", 0)
    with Archive.open(EXAMPLE) as archive:
        accepted = [row for row in archive.rows("decisions") if row["verdict"] == "accepted"]
        assert growth.counts["fine-tunes"] == archive.count("finetunes")
    assert len(growth.acceptance_hours) == len(accepted) == 2
    assert 0 < growth.acceptance_hours[0] <= growth.acceptance_hours[1] <= growth.hours
    assert growth.counts["of generation 2"] == growth.counts["of 3 and later"] == 0


def test_a_curve_rises_by_one_where_a_game_joins_and_goes_to_the_end() -> None:
    growth = growth_yield.Growth("open_ended", 7, 2.0, (0.5, 1.0), {}, 0.0)
    svg = render(growth_yield.curves([growth]))
    [points] = re.findall(r'points="([^"]+)"', svg)
    corners = [tuple(map(float, pair.split(","))) for pair in points.split()]
    xs = [x for x, _ in corners]
    start, end = xs[0], xs[-1]
    assert [(x - start) / (end - start) for x in xs] == pytest.approx([0, 0.25, 0.25, 0.5, 0.5, 1])
    heights = [corners[0][1] - y for _, y in corners]
    assert [height / heights[-1] for height in heights] == pytest.approx([0, 0, 0.5, 0.5, 1, 1])
    assert "open-ended, seed 7" in svg


def test_runs_that_are_there_are_read_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "open_ended-seed0")
    figure = tmp_path / "curves.svg"
    line = ["yield.py", "--root", str(tmp_path), "--seeds", "0", "--figure", str(figure)]
    monkeypatch.setattr("sys.argv", line)
    growth_yield.main()
    assert "| open_ended | 0 |" in capsys.readouterr().out
    assert figure.read_text(encoding="utf-8").startswith("<svg")
