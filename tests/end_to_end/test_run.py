"""A run in processes of its own, and what can be done with it afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from support.rated import build, draw_scores

from archive import Archive, Run
from xgl import parse

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "how-to" / "notebook.ipynb"
QUIET = "ignore:IProgress not found"
"""What tqdm says where Jupyter's widgets are not installed."""


def test_a_run_begins_on_its_workers_and_its_budget_ends_it(commands: Any) -> None:
    settings = ("cluster.workers=1", "budget.tokens=1")
    process = commands("evo.run", *commands.tiny("short", *settings))
    assert process.returncode == 0, process.stderr
    assert "Traceback" not in process.stderr + process.stdout
    assert "budget.tokens=1 is reached" in process.stdout
    assert "python -m evo.run resume=runs/short budget.tokens=" in process.stdout
    with Archive.open(commands.folder / "runs" / "short" / "archive") as archive:
        assert [row["event"] for row in archive.rows("runs")] == ["created", "out_of_budget"]
        assert {row["policy_id"] for row in archive.rows("scores")} == {"base"}


@pytest.mark.long
def test_a_run_and_what_comes_after_it(first: Any) -> None:
    commands, output = first
    assert "Traceback" not in output
    for part in ("Kept: ", "fine-tuning", "archive inspect runs/first", "export runs/first"):
        assert part in output
    verification = commands("archive", "verify", "runs/first")
    assert verification.returncode == 0, verification.stdout
    inspection = commands("archive", "inspect", "runs/first", "--json")
    assert inspection.returncode == 0, inspection.stderr
    counts = json.loads(inspection.stdout)["rows"]
    assert counts["decisions"] == 2
    assert counts["scored_texts"] > 0

    export = commands("archive", "export", "runs/first", "games")
    assert export.returncode == 0, export.stderr
    files = sorted((commands.folder / "games").glob("*.xent"))
    assert files
    for file in files:
        parse(file.read_text(), "xent")


@pytest.mark.long
def test_the_notebook_runs_on_a_finished_run(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a kernel of its own, opened from docs/ after a measure; every cell gives what the page
    shows it to give, as far as kinds of output go: another run has other numbers."""
    page = nbformat.read(NOTEBOOK, as_version=4)
    output_kinds = [_kinds(cell) for cell in page.cells]
    opened = page.cells[1].source
    page.cells[1].source = opened.replace('"../example/run"', "")
    assert page.cells[1].source != opened
    output_kinds[1].add("stdout")  # which run is the last
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHONWARNINGS", QUIET)
    scores = draw_scores(0, {"ann": (1.0,)})
    folder = first[0].folder
    build(folder / "runs" / "last" / "archive", scores, experiment="measure")
    (folder / "docs").mkdir()
    place = {"metadata": {"path": str(folder / "docs")}}
    NotebookClient(page, timeout=90, kernel_name="python3", resources=place).execute()
    assert [_kinds(cell) for cell in page.cells] == output_kinds
    assert sum("text/html" in kinds for kinds in output_kinds) > 5
    run_id = Run(Archive.open(folder / "runs" / "first")).run_id
    assert run_id in str(page.cells[1].outputs)


def _kinds(cell: Any) -> set[str]:
    outputs = cell.get("outputs", [])
    return {kind for output in outputs for kind in output.get("data", {output.get("name")})}
