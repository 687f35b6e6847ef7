"""The counts of a null control (benchmarks/growths.py), on an archive made up here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from growths import NULL_HEADS, null_counts, null_row
from scipy import stats
from support.rows import row as archive_row

from archive import Archive, Purpose, Reason

LISTS = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2}
"""The list of each candidate; of the last one nothing is decided yet."""
REASONS = {
    "a": Reason.NO_HEADROOM,
    "b": Reason.NOT_LEARNED,
    "c": Reason.NOT_ABOUT_MAP,
    "d": Reason.NEW_AND_USEFUL,
}


def build(folder: Path, shuffle: bool = True) -> Path:
    proposals = [proposal(name, number, "candidate") for name, number in LISTS.items()]
    proposals += [proposal("b", 7, "seen"), proposal("d", 8, "passed_over")]
    finetunes = [
        archive_row("finetunes", run_id="r", finetune_id=name * 2, game_id=name, seed=seed)
        for name, seed in (("initial", 5), ("b", 5), ("c", 5), ("d", 6))
    ]
    decisions = [
        archive_row(
            "decisions",
            run_id="r",
            game_id=name,
            reason=reason,
            verdict=reason.verdict,
            purpose=Purpose.ACCEPTANCE if name == "d" else Purpose.SELECTION,
            total_gain_low={"b": -1.0, "c": 0.5, "d": 2.0}.get(name),
            specific_gain_low={"b": -1.0, "c": -0.5, "d": 1.0}.get(name),
        )
        for name, reason in REASONS.items()
    ]
    config = json.dumps({"finetune": {"shuffle": shuffle}})
    with Archive.create(folder / "archive") as archive:
        archive.commit(
            {
                "runs": [archive_row("runs", run_id="r", config_json=config)],
                "proposals": proposals,
                "finetunes": finetunes,
                "decisions": decisions,
            }
        )
    return folder


def proposal(name: str, number: int, outcome: str) -> dict[str, Any]:
    return archive_row(
        "proposals",
        run_id="r",
        game_id=name,
        parent_game_id="initial",
        round=number,
        outcome=outcome,
    )


def test_lists_are_those_that_candidates_were_proposed_in(tmp_path: Path) -> None:
    assert null_counts(build(tmp_path)) == {
        "training seeds": 2,
        "lists": 2,
        "candidates": 4,
        "fine-tuned": 3,
        "gained": 2,
        "gained specifically": 1,
        "tested": 1,
        "accepted": 1,
        "lists with a fine-tune": 2,
        "lists accepting": 1,
    }


def test_the_bound_is_of_lists_with_a_fine_tune(tmp_path: Path) -> None:
    folders = [build(tmp_path / "a"), build(tmp_path / "b")]
    cells = [cell.strip() for cell in null_row(folders).strip("| ").split("|")]
    found = dict(zip(NULL_HEADS, cells, strict=True))
    assert (found["runs"], found["lists with a fine-tune"], found["accepted"]) == ("2", "4", "2")
    rate = float(found[NULL_HEADS[-1]].rstrip("%")) / 100
    assert stats.binom.cdf(2, 4, rate) == pytest.approx(0.05, abs=1e-3)
