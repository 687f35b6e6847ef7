"""Going on after a kill at any point or a budget, on an executor that knows the true gains."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from support.search import GROWING, PARENT, Killed, Listed, Search, by_hash, code, of_limits

from archive import Archive
from evo.jobs.job import Evaluation, Trainings
from evo.record.run_folder import check_new, open_archive

Capsys = pytest.CaptureFixture[str]
GROWN = (*GROWING, "growth.max_candidates=3")


@pytest.fixture(scope="module")
def growth(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """A growth in the world of all sorts of games, undisturbed: its run is called "whole"."""
    search = Search(tmp_path_factory.mktemp("grown"))
    assert search.run(by_hash, *GROWN, name="whole") == 0
    return search


class Tired:
    """Lets an archive make so many commits, then kills the run before the next."""

    def __init__(self, commits: int) -> None:
        self.left = commits
        self.commit = Archive.commit

    def __call__(self, archive: Archive, rows: dict[str, Any]) -> int:
        if any(rows.get(table) for table in rows if table != "runs"):
            if self.left == 0:
                raise Killed
            self.left -= 1
        return self.commit(archive, rows)


@pytest.mark.long
def test_a_run_killed_after_every_single_job_ends_the_same(search: Search) -> None:
    """Under the open-ended schedule; the next test's is the paper's."""
    settings = (
        *(*GROWING, "growth.schedule=open_ended", "growth.examined_share=1.0"),
        *("growth.virtual_workers=1", "growth.max_accepted=null", "growth.max_candidates=4"),
        "player.policies_per_pass=3",
    )
    assert search.run(by_hash, *settings, name="whole") == 0
    jobs, whole = len(search.executor.jobs), search.tables("whole")
    played = [job.adapters for job in search.executor.jobs if isinstance(job, Evaluation)]
    widest = max(len(set(adapters)) for adapters in played)
    assert widest == 3
    in_lockstep = [len(j.trainings) for j in search.executor.jobs if isinstance(j, Trainings)]
    assert set(in_lockstep) == {2}, "those of a list of two"

    assert search.run_by_steps(by_hash, *settings, patience=1) >= jobs - 1
    assert search.tables("killed") == whole
    assert search.adapters("killed") == search.adapters("whole")
    verdicts = {row["verdict"] for row in whole["decisions"]}
    assert {"accepted", "refused"} <= verdicts


@pytest.mark.long
def test_a_run_killed_at_every_single_commit_ends_the_same(search: Search, growth: Search) -> None:
    whole = growth.tables("whole")

    kills, code = 0, None
    while code is None:
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            tired = Tired(1)
            patch.setattr(Archive, "commit", lambda archive, rows, one=tired: one(archive, rows))
            code = search.run(by_hash, *GROWN, name="killed", resume=kills > 0)
        kills += code is None
    assert code == 0
    assert kills > 10
    assert search.tables("killed") == whole
    assert search.adapters("killed") == growth.adapters("whole")
    events = [row["event"] for row in search.rows("runs", "killed")]
    assert events[0] == "created"
    assert events[-1] == "finished"
    assert set(events[1:-1]) == {"resumed"}


def test_a_run_killed_after_its_first_commit_has_all_its_initial_games(search: Search) -> None:
    tired = Tired(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Archive, "commit", lambda archive, rows: tired(archive, rows))
        with pytest.raises(Killed):
            search.run(by_hash, *GROWING, search.initial(PARENT, PARENT + 1))
    assert search.run(by_hash, resume=True) == 0
    assert sum(row["scope"] == 0 for row in search.rows("scopes")) == 2


def test_a_run_does_not_go_on_from_another_game_or_with_other_stories(
    search: Search, capsys: Capsys
) -> None:
    texts, parent = search.folder / "texts.txt", search.folder / "parent.xent"
    texts.write_text("\n".join(f"Hen number {n} ran to the barn." for n in range(40)))
    with pytest.raises(Killed):
        search.run(by_hash, *GROWING, f"judge.stories={texts}", patience=2)
    before = search.tables("run")
    for file, key in ((texts, "judge.stories"), (parent, "growth.initial_scope")):
        text = file.read_text()
        file.write_text(text.replace("barn", "mill").replace(code(PARENT), code(PARENT + 1)))
        assert search.run(by_hash, resume=True) == 2
        error = capsys.readouterr().err
        assert re.match(rf"error: {key}: .*{file.name} has changed since the run began", error)
        assert search.tables("run") == before
        assert [row["event"] for row in search.rows("runs")] == ["created"]
        file.write_text(text)
    assert search.run(by_hash, resume=True) == 0


def test_what_a_kill_at_the_very_beginning_leaves_is_no_obstacle(search: Search) -> None:
    """A run may begin in a folder where one was killed before any change of the disk until it had
    begun."""
    growth: dict[str, Any] = {"world": of_limits(), "sampler": Listed([code(7)])}
    assert search.run(**growth, name="imports") == 0
    left: set[str] = set()
    for step in count():
        folder = search.folder / f"killed{step}"
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            _kill_at(patch, step)
            search.run(**growth, name=folder.name)
        if folder.exists():
            left |= {str(path.relative_to(folder)) for path in folder.rglob("*")}
        if (folder / "archive" / "archive.json").exists() and search.rows("runs", folder.name):
            break
        check_new(folder)
        open_archive(folder, resumed=False).close()
    assert left > {"archive/archive.json.tmp", "archive/head.json.tmp", "config.yaml.tmp"}
    assert search.run(**growth, name=folder.name, resume=True) == 0


def _kill_at(patch: pytest.MonkeyPatch, step: int) -> None:
    """Kill the process instead of its ``step``-th change of the disk."""
    calls = count()

    def or_killed(change: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **options: Any) -> Any:
            if next(calls) >= step:
                raise Killed
            return change(*words, **options)

        return call

    for name in ("mkdir", "fsync", "replace"):
        patch.setattr(os, name, or_killed(getattr(os, name)))


@pytest.mark.long
@pytest.mark.parametrize(("name", "step"), [("tokens", 3_000), ("seconds", 80)])
def test_a_budget_raised_step_by_step_leads_to_the_same_end(
    search: Search, growth: Search, capsys: Capsys, name: str, step: int
) -> None:
    assert search.run(by_hash, *GROWN, f"budget.{name}={step}") == 0
    commits, limit = 0, step
    while search.rows("runs")[-1]["event"] == "out_of_budget":
        output = capsys.readouterr().out
        assert re.search(rf"ended    budget\.{name}={limit} is reached: .* tokens", output)
        assert f"resume={search.folder / 'run'} budget.{name}={2 * limit}" in output
        assert search.run(by_hash, resume=True) == 2, "nothing was raised"
        error = capsys.readouterr().err
        assert re.match(rf"error: budget\.{name}: found {limit}, expected more than", error)
        limit, commits = limit + step, commits + 1
        assert search.go_on(by_hash, f"budget.{name}={limit}") == 0
    assert commits >= 2
    assert search.tables("run") == growth.tables("whole")
    events = [row["event"] for row in search.rows("runs")]
    assert events == ["created", *["out_of_budget", "resumed"] * commits, "finished"]


def test_generations_are_raised_like_a_budget(search: Search, capsys: Capsys) -> None:
    free = ("growth.list_size=2", "growth.max_accepts_per_parent=1", "growth.max_candidates=null")
    assert search.run(by_hash, *free, "growth.generations=3", name="whole") == 0
    assert search.run(by_hash, *free, "growth.generations=1") == 0
    output = capsys.readouterr().out
    assert "growth.generations=1 is reached" in output
    assert f"resume={search.folder / 'run'} growth.generations=2" in output
    assert search.go_on(by_hash, "growth.generations=3") == 0
    search.check_went_on("run", "whole")
