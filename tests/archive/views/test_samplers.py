"""The funnel and the cost of each meta-sampler, on rows known by heart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive import Archive, Run
from archive.__main__ import main
from archive.views.samplers import gather

PARENT = "aaaa11110000ffff"
A = "assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))"
B = A.replace("4", "5")
C = "assign(s=story(), t=story())\nelicit(x, 8)\nreward(xed(s | x) - xed(t | x))"


@pytest.fixture
def proposals_run(run_folder: Path, make_row: Callable[..., dict[str, Any]]) -> Path:
    def proposal(index: int, text: str, outcome: str, **changes: Any) -> dict[str, Any]:
        usual = {"proposal_id": str(index), "parent_game_id": PARENT, "index": index, "text": text}
        usual |= {"outcome": outcome, "sampler": "chat", "tokens": 10, "seconds": 0.5}
        return make_row("proposals", **(usual | {"dollars": 0.25} | changes))

    def decision(game_id: str, verdict: str, **changes: Any) -> dict[str, Any]:
        usual = {"parent_game_id": PARENT, "verdict": verdict, "tokens": 1000}
        return make_row("decisions", **({"game_id": game_id} | usual | changes))

    with Archive.open(run_folder / "archive", "a") as archive:
        archive.commit(
            {
                "proposals": [
                    proposal(0, "no program", "invalid"),
                    proposal(1, A, "candidate", game_id="g1", distance=2, nearest_game_id=PARENT),
                    proposal(2, B, "candidate", game_id="g2", distance=1, nearest_game_id="g1"),
                    proposal(3, C, "candidate", game_id="g3", distance=9, nearest_game_id=PARENT),
                    proposal(4, A, "seen", game_id="g1", distance=0, nearest_game_id="g1"),
                    proposal(5, C, "unsound"),
                    proposal(6, B, "candidate", game_id="g4", sampler="mutate", distance=4),
                ],
                "decisions": [
                    decision("g1", "refused"),
                    decision("g2", "refused", finetune_id="f2", own_gain_low=-0.5),
                    decision("g3", "accepted", finetune_id="f3", own_gain_low=0.5),
                ],
            }
        )
    return run_folder


def test_each_sampler_has_its_funnel_and_its_cost(proposals_run: Path) -> None:
    with Archive.open(proposals_run / "archive") as archive:
        chat, mutate = gather(Run(archive))
    assert chat["sampler"] == "chat"
    assert list(chat["funnel"].values()) == [6, 5, 4, 3, 2, 1, 1]
    assert (chat["tokens"], chat["seconds"], chat["dollars"]) == (60, 3.0, 1.5)
    assert chat["judged_tokens"] == 3000
    assert list(mutate["funnel"].values()) == [1, 1, 1, 1, 0, 0, 0]


def test_the_command_prints_them(proposals_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["samplers", str(proposals_run)]) == 0
    output = capsys.readouterr().out
    assert "accepted" in output
    assert "mutate" in output
    assert main(["samplers", str(proposals_run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["funnel"]["accepted"] == 1


def test_a_run_without_proposals_has_no_samplers(run_folder: Path) -> None:
    with Archive.open(run_folder / "archive") as archive:
        assert gather(Run(archive)) == []
    assert main(["samplers", str(run_folder)]) == 0
