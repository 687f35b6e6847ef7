"""Every number of a run that stands in several places is one number."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.example import EXAMPLE
from support.search import GROWING, Nature, Search, World, by_hash

from archive import Archive
from archive.__main__ import main
from archive.notebook import Run
from archive.report.page import page
from archive.report.summary import RunReport, gather_report
from archive.run import Run as ArchivedRun
from archive.schema import TaskId
from archive.statistics.scripts import comparison_of
from archive.text import bounds
from archive.verification import verify
from xgl import Game

Capsys = pytest.CaptureFixture[str]

ROOT = Path(__file__).parents[2]
LOOKS = ("transfer.acceptance_plays=[16,32,64]", "transfer.selection_plays=[8,16,32]")


OPEN = (
    *("growth.schedule=open_ended", "growth.max_accepted=4"),
    *("growth.max_candidates=30", "growth.list_size=3"),
)


def faint(game: Game) -> Nature:
    """Gains so small that a test needs several looks, and that plays go on after a decision."""
    nature = by_hash(game)
    own = 2.0 if nature.own else 0.0
    return replace(nature, own=own, artifact=False, lucky={}, scripted=1.0)


GROWTHS: dict[str, tuple[World, tuple[str, ...]]] = {
    "Algorithm 1": (by_hash, GROWING),
    "open-ended": (faint, (*OPEN, *LOOKS, "seed=2", "transfer.gain=specific")),
}


@dataclass(frozen=True)
class Seen:
    """One run with what its commands, pages and tables say."""

    folder: Path
    report: RunReport
    html: str

    def rows(self, table: str) -> list[dict[str, Any]]:
        return Archive.open(self.folder).rows(table)

    @property
    def accepted(self) -> list[dict[str, Any]]:
        return [row for row in self.rows("decisions") if row["verdict"] == "accepted"]

    def says(self, capsys: Capsys, *words: str) -> Any:
        command, *more = words
        capsys.readouterr()
        assert main([command, str(self.folder), *more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module", params=[*GROWTHS, "the example"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = EXAMPLE
    if request.param in GROWTHS:
        search = Search(tmp_path_factory.mktemp("growth"))
        world, settings = GROWTHS[request.param]
        assert search.run(world, *settings) == 0
        folder = search.folder / "run"
    with Archive.open(folder / "archive") as archive:
        assert verify(archive).faults == []
        run = ArchivedRun(archive)
        report = gather_report(run)
        return Seen(folder, report, page(report))


def test_of_an_acceptance(seen: Seen, capsys: Capsys, tmp_path: Path) -> None:
    """Generation, γ, gains and lead over scripts are those of its row of decisions."""
    assert seen.accepted
    state = seen.says(capsys, "inspect")
    newest = state["scopes"][max(state["scopes"])]
    scope = Run.open(seen.folder, backend="pyarrow").scope().to_pylist()
    assert main(["export", str(seen.folder), str(tmp_path / "games")]) == 0
    files = [file.read_text() for file in (tmp_path / "games").iterdir()]
    for row in seen.accepted:
        game_id, facts = row["game_id"], (row["generation"], row["gamma"])
        [card] = [each for each in seen.report.games if each.task_id.game_id == game_id]
        sheet, members = seen.says(capsys, "show", game_id), seen.rows("scopes")
        text = next(file for file in files if f"# game_id: {game_id}\n" in file)
        places = {
            "scopes": [m for m in members if m["game_id"] == game_id],
            "show": [*sheet["scopes"], *sheet["decisions"]],
            "inspect": [m for m in newest if m["game_id"] == game_id],
            "notebook": [m for m in scope if m["game_id"] == game_id],
        }
        for place, several in places.items():
            assert {(m["generation"], m["gamma"]) for m in several} == {facts}, place
        assert (card.member.generation, card.member.gamma, card.no_bits) == (*facts, "")
        assert f"# generation: {facts[0]}\n# gamma: {facts[1]:.6g}\n" in text
        assert f"generation {facts[0]}</span>" in seen.html
        own = seen.says(capsys, "decisions", "--why", game_id)[0]["steps"][0]
        assert vars(getattr(card.own, row["gain_kind"])).items() <= own.items(), "both bounds"
        assert f"{bounds(card.own.total)} bits a play in all" in seen.html
        for kind in ("total", "specific"):
            assert state["accepted"][game_id][f"{kind}_gain"] == row[f"{kind}_gain"]
            assert getattr(card.own, kind).low == pytest.approx(row[f"{kind}_gain_low"])
        if (beside := comparison_of(row)) is not None:
            assert card.scripts == beside
            [decided] = [each for each in sheet["decisions"] if each["run_id"] == row["run_id"]]
            assert decided["beyond_scripts"] == beside.total.value


def test_of_a_verdict(seen: Seen, capsys: Capsys) -> None:
    """Each value of a decision that is taken again is that of the row."""
    rows = seen.says(capsys, "decisions")
    of_each_reason = {row["reason"]: row["game_id"] for row in rows}
    for game_id in {*of_each_reason.values(), *(row["game_id"] for row in seen.accepted)}:
        for why in seen.says(capsys, "decisions", "--why", game_id):
            assert why["row"] in rows
            check_values(why["row"], {step["question"]: step for step in why["steps"]})


def check_values(row: dict[str, Any], steps: dict[str, dict[str, Any]]) -> None:
    if not steps or not row["decided"]:
        return
    values = {question: step["value"] for question, step in steps.items()}
    assert values["learns its own game"] == pytest.approx(row["own_gain"])
    column = "captured" if row["definition"] == "captured" else "captured_def37"
    if "helps its parent" in steps:
        assert values["helps its parent"] == pytest.approx(row[column])
        if column == "captured":
            assert steps["helps its parent"]["plays"] == row["captured_plays"]
    shares = [value for q, value in values.items() if q.startswith("is not taught by")]
    if known := [share for share in shares if share is not None]:
        assert max(known) == pytest.approx(row["gamma"])
    for game, ratio in (("parent_game_id", "cross_ratio"), ("gamma_game_id", "gamma_cross_ratio")):
        question = f"is no copy of {str(row[game])[:8]} (C·γ)"
        if question in values:
            assert values[question] == pytest.approx(row[ratio])


def test_of_a_pair(seen: Seen, capsys: Capsys) -> None:
    """Matrix, report, notebook and cards have one value for each pair of games."""
    pairs = seen.says(capsys, "matrix")["pairs"]
    frame = Run.open(seen.folder, backend="pyarrow").transfer_matrix().to_pylist()
    in_frame = {
        tuple(TaskId(row[end], row[f"{end}_role"]).key for end in ENDS): row for row in frame
    }
    cells = {(one.key, other.key): cell for (one, other), cell in seen.report.matrix.cells.items()}
    for pair in pairs:
        key = pair["source"], pair["target"]
        values = cells[key].values
        for name in ("gain", "captured", "def37"):
            value = pair[name]["value"]
            assert in_frame[key][name] == value == getattr(values, name).value
    assert len(pairs) == len(seen.report.matrix.cells)


ENDS = ("source", "target")


def test_of_a_cover(seen: Seen, capsys: Capsys, tmp_path: Path) -> None:
    """The command, the notebook and an exported measure have one Δ."""
    cover = seen.says(capsys, "cover", "--eta", "0.1", "--skip-unplayable")
    delta, members = cover["cover"]["delta"], [id for id, _ in cover["cover"]["members"]]
    rows = Run.open(seen.folder, backend="pyarrow").cover(0.1, skip_unplayable=True).to_pylist()
    assert [row["game_id"] for row in rows] == members
    if seen.folder != EXAMPLE:
        return  # its maps have one text each
    out = tmp_path / "measure"
    options = ("--eta", "0.1", "--skip-unplayable", "--no-scores")
    assert main(["export", str(seen.folder), str(out), "--format", "xent", *options]) == 0
    facts = json.loads((out / "measure.json").read_text())
    assert facts["delta"] in (delta, None)
    assert sorted({each["game_id"] for each in facts["members"]}) == sorted(members)
    of_base = {"policy_id": "base", "purpose": "calibration", "outcome": "finished"}
    for each in facts["members"]:  # of at most 16 tokens of moves
        own = (of_base | {name: each[name] for name in ("game_id", "role")}).items()
        low = min(row["score"] for row in seen.rows("scores") if own <= row.items())
        assert low - 16 <= each["floor"] <= low - 4
    assert facts["scope"] == max(row["scope"] for row in seen.rows("scopes"))
    files = tmp_path / "files"
    assert main(["export", str(seen.folder), str(files), *options[:3]]) == 0
    assert len([*files.iterdir()]) == len(members)
