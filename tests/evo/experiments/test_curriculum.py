"""Players trained on several games of a growth in turn, in a world whose gains are known."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from support.search import FakeExecutor, Listed, Nature, Search, code, of_limits, services

import evo.run
from archive import Archive, Run
from archive.schema import GainKind, TaskId
from archive.statistics.curricula import curriculum_gains
from archive.text import interval, signed
from archive.verification import verify
from archive.views import inspection
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.experiments.curriculum import _check_growth
from evo.jobs.job import Finetune, Job, Result, Training
from xgl.errors import ConfigError

WORLD = of_limits(
    l4=Nature(teaches=0.9, covered=0.1),
    l5=Nature(teaches=0.9, covered=0.95),
    l10=Nature(covered=0.5),
)
HELD_OUT = "curriculum.held_out=[fig_3_01_single_text,fig_4_02_dex_texts]"
PLAYS = 24


@dataclass
class TeachingExecutor(FakeExecutor):
    """Whoever learns a curriculum knows what its first game teaches."""

    def do(self, jobs: Sequence[Job[Any]]) -> Iterator[Result[Any]]:
        for job in jobs:
            if isinstance(job, Training):
                self.jobs.append(job)
                adapter = f"{job.task.game_id} 1.0 {job.task.game.code}".encode()
                curves = [1.0, 2.0], [3.0], [0.5]
                yield Result(Finetune(adapter, *curves, 0.9, 0.0, 900, job.seed % 7, 0.1), ())
            else:
                yield from super().do([job])


@dataclass(frozen=True)
class Study:
    """A growth that accepted one of two candidates, and what was learned of it."""

    grown: Path
    trained: Path
    output: str


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder, executor, output = tmp_path_factory.mktemp("s"), TeachingExecutor(WORLD), StringIO()
    search = Search(folder, sampler=Listed([code(4), code(5)]))
    assert search.run(WORLD, name="grown") == 0
    place = [f"archive.root={folder}", "name=trained", f"curriculum.run={folder / 'grown'}"]
    plays = ["transfer.calibration_plays=8", f"transfer.acceptance_plays=[{PLAYS}]"]
    with redirect_stdout(output):
        overrides = ["+experiment=curriculum", *place, *plays, HELD_OUT]
        assert evo.run.main(overrides, services(executor)) == 0
    return Study(folder / "grown", folder / "trained", output.getvalue())


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return Archive.open(folder).rows(table)


def test_four_curricula_learn_with_equal_tokens_and_seeds(study: Study) -> None:
    curricula = rows(study.trained, "curricula")
    names = {row["curriculum"] for row in curricula}
    assert names >= {"cover", "initial", "random"}
    assert len(curricula) == 3 * len(names)
    learners = [json.loads(row["settings_json"])["finetune"] for row in curricula]
    budgets = {(each["tokens"], each["steps"], each["kl"]) for each in learners}
    assert budgets == {(600000, None, 0.1)}
    for name in names:
        assert len({row["seed"] for row in curricula if row["curriculum"] == name}) == 3
    assert len({row["seed"] for row in curricula}) == 3, "the same for all"
    initial = next(row for row in curricula if row["curriculum"] == "initial")
    [parent] = [row for row in rows(study.grown, "scopes") if row["parent_game_id"] is None][:1]
    assert initial["game_ids"] == [parent["game_id"]]
    sizes = {row["curriculum"]: len(row["game_ids"]) for row in curricula}
    assert sizes["random"] <= sizes["cover"]


def test_gains_are_of_held_out_programs_over_plays_and_seeds(study: Study) -> None:
    output = study.output
    assert "specific gain on held-out programs" in output
    assert "lead of cover" in output
    run_ = Run(archive := Archive.open(study.trained))
    assert [str(fault) for fault in verify(archive).faults] == []
    scores = defaultdict[tuple[str, TaskId], list[float]](list)
    for row in run_.rows("scores", filters=[("purpose", "=", "acceptance")]):
        scores[row["policy_id"], TaskId.of(row)].append(row["score"])
    held_out = {task for _, task in scores}
    by_kind = {kind: curriculum_gains(run_, sorted(held_out), kind) for kind in GainKind}
    [first, *_] = [r for r in run_.rows("curricula") if r["curriculum"] == "cover"]
    archived = inspection.gather(run_)["curricula"]
    assert len(held_out) == 2
    assert {TaskId.of(row) for row in archived if row["game_id"]} == held_out
    for kind, gains in by_kind.items():
        assert {each.shape for each in gains.values()} == {(2, 3, PLAYS)}
        means = {
            row["curriculum"]: row
            for row in archived
            if (row["game_id"], row["kind"]) == (None, kind)
        }
        assert [*means] == [*gains]
        for name, row in means.items():
            assert row["gain"].value == pytest.approx(gains[name].mean())
            lead = None if name == "cover" else gains["cover"].mean() - gains[name].mean()
            assert (row["lead"] and row["lead"].value) == pytest.approx(lead)
    for place, task in enumerate(sorted(held_out)):
        mean = np.mean(scores[first["finetune_id"], task]) - np.mean(scores["base", task])
        assert by_kind[GainKind.TOTAL]["cover"][place, 0].mean() == pytest.approx(mean)
        shown = interval(archived[place]["gain"], partial(signed, digits=2))
        assert all(part in output for part in shown.split())
        assert archived[place]["gain"].value == pytest.approx(mean)


def test_what_was_trained_is_not_trained_again(study: Study) -> None:
    before = {table: rows(study.trained, table) for table in ("curricula", "scores")}
    executor = TeachingExecutor(WORLD)
    assert evo.run.main([f"resume={study.trained}"], services(executor)) == 0
    assert not executor.jobs
    assert {table: rows(study.trained, table) for table in before} == before


def test_a_resumed_run_adds_training_seeds(study: Study, tmp_path: Path) -> None:
    folder, executor = tmp_path / "trained", TeachingExecutor(WORLD)
    copytree(study.trained, folder)
    assert evo.run.main([f"resume={folder}", "curriculum.seeds=4"], services(executor)) == 0
    [seed] = {job.seed for job in executor.jobs if isinstance(job, Training)}
    seeds = [row["seed"] for row in rows(folder, "curricula")]
    assert seeds.count(seed) == len(seeds) / 4


def test_a_growth_of_earlier_code_named_its_models_folder_as_typed(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").mkdir()
    config = load(RunConfig, ["+experiment=curriculum", f"player.model={tmp_path / 'm'}"])
    with Archive.open(study.grown) as archive:
        growth = {**Run(archive).config, "player": {"model": "./m", "npc": "base"}}
        _check_growth(config, archive, growth, {})
        with pytest.raises(ConfigError, match=r"player\.model: found .*, expected embedded, as in"):
            _check_growth(config, archive, Run(archive).config, {})
