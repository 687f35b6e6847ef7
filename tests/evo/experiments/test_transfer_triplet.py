"""The reference experiment on a executor that knows the true gains."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.search import Killed, Listed, Nature, Search, of_limits

from archive.__main__ import main as archive_main
from archive.plays import PURPOSES
from evo.experiments.transfer_triplet import CHECKPOINT_PLAYS, CHECKPOINTS
from evo.jobs.evaluation import evaluation_seeds
from evo.jobs.job import Evaluation, Training

WORLD = of_limits(l8=Nature(teaches=0.6), l9=Nature(own=5.0, covered=0.3))
FEW = ["finetune.replicates=2", "transfer.acceptance_plays=[24]", "game.dialect=xent"]


def study(search: Search, *overrides: str, **how: Any) -> int:
    kind = ["+experiment=transfer_triplet", search.initial(8, 9), *FEW, *overrides]
    return search.run(WORLD, *kind, sampler=Listed([]), only=True, **how)


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
    assert output.count("Gain in bits") == output.count("V (Def. 37)") == 2
    assert "total gains" in output
    assert "specific gains (about the map" in output
    assert "Kept: " not in output
    # while each was trained, every game was evaluated
    rows = [row for row in search.rows("scores") if row["purpose"] == "checkpoint"]
    policies = {row["finetune_id"] for row in search.rows("finetunes")}
    plays = CHECKPOINTS * CHECKPOINT_PLAYS
    counted = {row["purpose"] for row in search.rows("scores") if row["policy_id"] in policies}
    assert counted & {*PURPOSES} == {"acceptance"}, "no value comes from weights left behind"
    by_pair = Counter((row["policy_id"], row["game_id"]) for row in rows)
    assert set(by_pair.values()) == {plays}
    assert len(by_pair) == (len(policies) + 1) * 2
    assert len({row["map_seed"] for row in rows}) == plays, "maps of their own"
    figure = (search.folder / "run" / "evaluations.svg").read_text()
    assert figure.count("<polyline") == 2 * 2 * (2 + 1), "of each fine-tune, and their mean"
    assert search.faults() == []
    *_, last = output.splitlines()
    command = shlex.split(last.partition("python -m archive ")[2])
    assert command, last
    assert archive_main(command) == 0


def test_a_killed_study_goes_on(search: Search) -> None:
    study(search, "name=whole")
    with pytest.raises(Killed):
        study(search, name="killed", patience=7)
    assert search.run(WORLD, sampler=Listed([]), name="killed", resume=True) == 0
    assert search.tables("killed") == search.tables("whole")
    assert search.rows("runs", "killed")[-1]["event"] == "finished"


def test_checkpoints_see_the_model_as_it_learns(
    make_model_host: Callable[..., Any], make_task: Callable[..., Any]
) -> None:
    task, other = make_task(), make_task("assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))\n")
    checkpoints = [tuple(evaluation_seeds("selection", 1, 3, 3 * n)) for n in range(4)]
    job = Training(task, 1, watched=(task, other), checkpoints=tuple(checkpoints))
    host = make_model_host(tokens=1000, learning_rate=0.05)
    finetune = host.do(job).outcome
    plays = finetune.watched_plays
    assert finetune.adapter == host.do(Training(task, 1)).outcome.adapter, "looking changes nothing"
    assert [[len(each) for each in by_task] for by_task in plays] == [[3, 3]] * 4
    at_end = Evaluation(other, (finetune.adapter,), (checkpoints[3],))
    [last] = host.do(at_end).outcome
    assert [play.moves for play in plays[3][1]] == [play.moves for play in last]
    [first] = host.do(Evaluation(other, (finetune.adapter,), (checkpoints[0],))).outcome
    assert [play.moves for play in plays[0][1]] != [play.moves for play in first]
