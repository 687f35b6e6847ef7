"""A run as data frames, beside what the archive and its commands say."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.example import FINETUNES
from support.rated import build, draw_scores

from archive import LookupFailedError, NotAnArchiveError
from archive.errors import CoverError
from archive.notebook import Run


@pytest.fixture(scope="module")
def run(grown_run: Path) -> Run:
    return Run.open(grown_run, backend="pyarrow")


@pytest.fixture
def both_kinds(grown_run: Path, tmp_path: Path) -> Path:
    """A folder whose ``runs`` hold a scope growth and, newer, a measure."""
    scores = draw_scores(0, {"ann": (1.0,), "bob": (2.0,)})
    shutil.copytree(grown_run, tmp_path / "runs" / "grown")
    build(tmp_path / "runs" / "measured" / "archive", scores, (0,), experiment="measure")
    return tmp_path


OF_A_GROWTH: tuple[Callable[[Run], object], ...] = (
    lambda run: run.scope(),
    lambda run: run.transfer_matrix(),
    lambda run: run.cover(0.3),
    lambda run: run.plays(run.table("rounds")["game_id"][0].as_py()),
    lambda run: run.report("report.html"),
)


def test_what_a_measure_lacks_is_one_sentence_with_the_kind_that_has_it(both_kinds: Path) -> None:
    run = Run.open(both_kinds / "runs" / "measured", backend="pyarrow")
    for ask in OF_A_GROWTH:
        with pytest.raises(LookupFailedError, match=r"a run .*of \+experiment=scope_growth"):
            ask(run)
    for wrong in ("nowhere", "nowhere/archive"):
        with pytest.raises(NotAnArchiveError, match="expected a run folder or its archive"):
            Run.open(both_kinds / wrong)


def test_frames_are_of_the_library_that_is_asked_for(grown_run: Path) -> None:
    kinds = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
    for backend, kind in kinds.items():
        frame = Run.open(grown_run, backend=backend).curves()
        assert isinstance(frame, kind)
        assert frame.shape == (sum(row["steps"] for row in FINETUNES), 8)
    assert isinstance(Run.open(grown_run).curves(), pd.DataFrame)


def test_a_cover_needs_a_share_from_zero_up(run: Run) -> None:
    for eta in (-1.0, math.nan):
        with pytest.raises(CoverError, match=f"eta: found {eta}, expected a number from 0 up"):
            run.cover(eta)


def test_a_run_shows_itself_and_hides_no_markup(run: Run, hostile_run: Path) -> None:
    assert "scope_growth-seed0" in run._repr_html_()
    hostile = Run.open(hostile_run)
    html = hostile._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
