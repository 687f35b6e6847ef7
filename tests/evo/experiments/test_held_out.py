"""Candidates of growths learned again and played on held-out programs, in a world whose gains are
known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.search import (
    FakeExecutor,
    Killed,
    Listed,
    Nature,
    Search,
    code,
    limit,
    of_limits,
    services,
)

import evo.run
from archive import Archive
from archive.__main__ import main as read
from archive.schema import GainKind
from archive.statistics.studies.captured_gains import Worth
from archive.statistics.studies.growth_candidates import playable_candidates
from archive.statistics.studies.held_out_plays import counting_programs, held_out_of
from archive.verification import verify
from evo.jobs.job import CurriculumTraining, Evaluation, Finetune, Job, Result, Training
from xgl import game, parse
from xgl.library import find

WORLD = of_limits(
    l4=Nature(teaches=0.9), l5=Nature(teaches=0.1), l6=Nature(teaches=0.1), l7=Nature(own=0.0)
)
OUTSIDE = {4: 0.6, 5: 0.3, 6: 0.1}
"""By the limit of a candidate, what it teaches of a held-out program, whose own limit is 10."""
PROGRAMS = "held_out.programs=[fig_3_01_single_text,fig_4_02_dex_texts]"
MAPS, MORE_MAPS = 24, 40


@dataclass
class LongerExecutor(FakeExecutor):
    """Also does fine-tunes with a budget of their own."""

    def do(self, jobs: Sequence[Job[Any]]) -> Iterator[Result[Any]]:
        for job in jobs:
            if not isinstance(job, CurriculumTraining):
                yield from super().do([job])
                continue
            if self.patience is not None and len(self.jobs) >= self.patience:
                raise Killed
            self.jobs.append(job)
            adapter = f"{job.task.game_id} 1.0 {job.task.game.code}".encode()
            finetune = Finetune(adapter, [1.0, 2.0], [3.0], [0.5], 0.9, 0.0, 900, job.seed % 7, 0.1)
            yield Result(finetune, ())

    def _gain(self, job: Evaluation, adapter: bytes | None, target: Nature, purpose: str) -> float:
        if adapter is None or limit(job.task.game) != 10:
            return super()._gain(job, adapter, target, purpose)
        game_id, _, text = adapter.decode().split(" ", 2)
        source_limit = limit(game(parse(text, job.task.game.dialect), job.task.game.metadata))
        return target.own * (1.0 if game_id == job.task.game_id else OUTSIDE[source_limit])


@pytest.fixture(scope="module")
def finished_growth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A growth that accepted one of three playable candidates."""
    folder = tmp_path_factory.mktemp("held_out")
    search = Search(folder, sampler=Listed([code(4), code(5), code(6), code(7)]))
    assert search.run(WORLD, name="grown") == 0
    return folder / "grown"


@pytest.fixture
def growth_folder(finished_growth: Path, tmp_path: Path) -> Path:
    """It, in a folder of its own."""
    return Path(shutil.copytree(finished_growth, tmp_path / "grown"))


def arguments(growth_folder: Path, *more: str, name: str = "taught") -> list[str]:
    place = [
        f"archive.root={growth_folder.parent}",
        f"name={name}",
        f"held_out.runs=[{growth_folder}]",
    ]
    small = ["transfer.calibration_plays=8", f"held_out.maps={MAPS}", PROGRAMS]
    small.append(f"held_out.reference.plays={MORE_MAPS}")
    keys = {each.split("=")[0] for each in more}
    defaults = [each for each in (*place, *small) if each.split("=")[0] not in keys]
    return ["+experiment=held_out", *defaults, *more]


def run(growth_folder: Path, *more: str, name: str = "taught") -> LongerExecutor:
    executor = LongerExecutor(WORLD)
    assert evo.run.main(arguments(growth_folder, *more, name=name), services(executor)) == 0
    return executor


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    with Archive.open(folder / "archive") as archive:
        return archive.rows(table)


def test_every_playable_candidate_is_learned_again_whatever_its_verdict(
    growth_folder: Path,
) -> None:
    executor = run(growth_folder)
    game_rows = rows(growth_folder.parent / "taught", "held_out_games")
    candidates = [row for row in game_rows if row["program"] is None]
    with Archive.open(growth_folder) as archive:
        run_id = archive.rows("runs")[0]["run_id"]
        playable = playable_candidates(archive, run_id)
    assert [each.row() for each in playable] == [
        {key: value for key, value in row.items() if key != "run_id"} for row in candidates
    ]
    assert len(candidates) == 3
    assert sum(row["verdict"] == "accepted" for row in candidates) == 1
    [initial] = [row for row in rows(growth_folder, "scopes") if row["parent_game_id"] is None][:1]
    assert initial["game_id"] not in {row["game_id"] for row in candidates}
    trainings = [job for job in executor.jobs if isinstance(job, Training)]
    assert len(trainings) == 3 * 2
    growth_seeds = {row["seed"] for row in rows(growth_folder, "finetunes")}
    assert len({job.seed for job in trainings}) == 2
    assert not growth_seeds & {job.seed for job in trainings}, "seeds that no growth used"
    references = [job for job in executor.jobs if isinstance(job, CurriculumTraining)]
    assert len(references) == 2 * 3
    [learner] = {job.settings for job in references}
    assert (learner.tokens, learner.steps, learner.maps, learner.rollouts) == (500000, None, 8, 16)
    assert (learner.warm_start.rounds, learner.averaged_share) == (0, 0.0), "REINFORCE alone"
    tokens = [
        json.loads(row["settings_json"])["finetune"]["tokens"]
        for row in rows(growth_folder.parent / "taught", "finetunes")
    ]
    assert sorted(tokens) == [150000] * 6 + [500000] * 6


def test_everybody_plays_the_same_maps_which_nothing_else_plays(growth_folder: Path) -> None:
    """References and the base player play more beside."""
    run(growth_folder)
    scores = rows(growth_folder.parent / "taught", "scores")
    map_sets: dict[tuple[str, str], set[int]] = {}
    for row in scores:
        if row["purpose"] == "held_out":
            map_sets.setdefault((row["policy_id"], row["game_id"]), set()).add(row["map_seed"])
    everything = set.union(*map_sets.values())
    common_maps = set.intersection(*map_sets.values())
    assert (len(everything), len(common_maps)) == (MORE_MAPS, MAPS)
    assert all(maps in (common_maps, everything) for maps in map_sets.values())
    many = [policy for (policy, _), maps in map_sets.items() if maps == everything]
    assert len(many) == 2 * (1 + 3), "on two programs the base player and three references each"
    others = {
        row["map_seed"]
        for row in (*rows(growth_folder, "scores"), *scores)
        if row["purpose"] != "held_out"
    }
    assert not everything & others


def test_what_was_found_is_shown_and_read_again_from_the_archive(
    growth_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(growth_folder)
    output = capsys.readouterr().out
    assert "specific gain on held-out programs" in output
    assert "It is not shown that accepted games teach more outside their family" in output
    folder = growth_folder.parent / "taught"
    with Archive.open(folder) as archive:
        assert [str(fault) for fault in verify(archive).faults] == []
        run_id = archive.rows("runs")[0]["run_id"]
        result, programs = held_out_of(archive, run_id), counting_programs(archive, run_id)
    assert programs == [
        total.program
        for total, specific in zip(*result.references.values(), strict=True)
        if total.counts and specific.counts
    ]
    assert result.seeds == 2
    assert result.primary is not None
    assert result.primary.accepted == pytest.approx(0.6, abs=0.1)
    assert result.primary.refused == pytest.approx(0.2, abs=0.1), "mean of 0.1 and 0.3"
    assert result.primary.test.p_value == pytest.approx(1 / 3), "one of three was taken, the best"
    assert result.primary.test.exact
    assert set(result.answers) == set(Worth)
    assert read(["held-out", str(folder)]) == 0
    again = capsys.readouterr().out
    assert "one-sided p = 0.333 (3 choices, all)" in " ".join(again.split())
    assert read(["held-out", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == 2
    figure_path = folder / "taught.svg"
    assert read(["held-out", str(folder), "--figure", str(figure_path)]) == 0
    assert f"C {result.primary.accepted:.2f}</title>" in figure_path.read_text(encoding="utf-8")
    assert read(["held-out", str(folder), "--figure", str(figure_path)]) == 2
    assert "expected a new file" in capsys.readouterr().err
    program = result.references[GainKind.TOTAL][0].program
    assert read(["held-out", str(folder), "--program", program, "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert [each["program"] for each in one["references"]["total"]] == [program]
    assert one["seeds"] == 2
    assert read(["held-out", str(folder), "--program", "chess"]) == 2
    assert f"found no program 'chess', expected one of {program}" in capsys.readouterr().err
    assert read(["held-out", str(growth_folder)]) == 2
    assert "expected a run of +experiment=held_out" in capsys.readouterr().err


@pytest.mark.long
def test_a_killed_run_goes_on_where_it_was_without_its_growths(growth_folder: Path) -> None:
    whole = run(growth_folder, name="whole")
    with pytest.raises(Killed):
        evo.run.main(
            arguments(growth_folder, name="killed"), services(LongerExecutor(WORLD, patience=17))
        )
    growth_folder.rename(growth_folder.with_name("elsewhere"))
    executor = LongerExecutor(WORLD)
    assert evo.run.main([f"resume={growth_folder.parent / 'killed'}"], services(executor)) == 0
    assert len(executor.jobs) == len(whole.jobs) - 17
    for table in ("finetunes", "scores", "held_out_games", "games", "maps"):
        one, other = (rows(growth_folder.parent / name, table) for name in ("whole", "killed"))
        assert [row | {"run_id": ""} for row in one] == [row | {"run_id": ""} for row in other]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["held_out.runs=[]"], "held_out.runs: found none, expected the folders of scope growths"),
        (["held_out.runs=[nowhere]"], "nowhere"),
        (["held_out.programs=[no_such]"], "held_out.programs: no_such"),
        (["player.model=smollm2"], "player.model: found smollm2, expected embedded"),
        (["held_out.maps=1"], "held_out.maps"),
    ],
)
def test_mistakes_are_one_sentence(
    growth_folder: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert evo.run.main(arguments(growth_folder, *more), services(FakeExecutor(WORLD))) == 2
    output = capsys.readouterr().err
    assert message in output
    assert output.count("\n") == 1


def test_a_growth_given_twice_is_refused(
    growth_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = arguments(growth_folder, f"held_out.runs=[{growth_folder},{growth_folder}]")
    assert evo.run.main(twice, services(FakeExecutor(WORLD))) == 2
    assert "is given twice, expected once" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([7], "holds no candidate that a fine-tune surely learned"),
        ([5, 6], "found 0 accepted among 2 playable candidates in 1 lists"),
    ],
)
def test_growths_that_hold_no_choice_are_refused(
    tmp_path: Path, limits: list[int], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    search = Search(tmp_path, sampler=Listed([code(each) for each in limits]))
    assert search.run(WORLD, name="grown") == 0
    capsys.readouterr()
    assert evo.run.main(arguments(tmp_path / "grown"), services(FakeExecutor(WORLD))) == 2
    assert message in capsys.readouterr().err


def test_a_program_that_a_growth_has_met_is_not_held_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    search = Search(tmp_path, sampler=Listed([code(4), code(5)]))
    initial = tmp_path / "single_text.xent"
    initial.write_text(find("fig_3_01_single_text").text)
    assert search.run(WORLD, f"growth.initial_scope=[{initial}]", name="grown") == 0
    capsys.readouterr()
    assert evo.run.main(arguments(tmp_path / "grown"), services(FakeExecutor(WORLD))) == 2
    assert "held_out.programs: single_text was met by" in capsys.readouterr().err


@pytest.mark.long
def test_the_embedded_player_learns_and_plays(growth_folder: Path) -> None:
    """Real fine-tunes with both budgets, of games whose verdicts came from the known world."""
    small = [
        "finetune.tokens=8000",
        "held_out.reference.tokens=20000",
        "held_out.reference.count=1",
        "held_out.reference.rollouts=4",
        "held_out.reference.plays=12",
        "held_out.seeds=1",
        "held_out.maps=8",
        "cluster.workers=1",
    ]
    process = subprocess.run(
        [sys.executable, "-m", "evo.run", *arguments(growth_folder, *small)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    output = " ".join(process.stdout.split())
    assert any(
        each in output
        for each in ("Nothing can be said", "is not shown that", "Accepted games teach")
    )
    folder = growth_folder.parent / "taught"
    with Archive.open(folder) as archive:
        assert [str(fault) for fault in verify(archive).faults] == []
        finetunes = archive.rows("finetunes")
        held_out = archive.rows("scores", filters=[("purpose", "=", "held_out")])
    programs = {row["game_id"] for row in rows(folder, "held_out_games") if row["program"]}
    for row in finetunes:
        budget = 20000 if row["game_id"] in programs else 8000
        assert row["tokens"] >= budget or row["steps"] == 17, "16 steps and the warm start"
    assert len(finetunes) == 3 + 2
    scripts = {row["policy_id"] for row in held_out if row["policy_id"].startswith("script:")}
    assert len(held_out) == 8 * 2 * (len(scripts) + 3) + 12 * 2 * (1 + 1)
