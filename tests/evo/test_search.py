"""The search from the entry down, on a workshop that knows the true gains: every verdict, the
rows behind it, and going on after a kill at any point."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import evo.run
from archive import TABLES, Archive, Purpose
from evo.evaluate import Score, evaluation_seeds
from evo.finetune import Finetune
from evo.laboratory import Evaluation, Job, Result, Training
from meta_sampler import Outcome, Proposal, Provenance
from xgl import Game, ProgramError, game, parse
from xgl.random import seed as named_seed
from xgl.random import stream
from xgl.requests import Seeds

PARENT = 8
"""Games are told apart by the limit of their elicit; this one is the initial scope."""
PURPOSES = {
    seeds.map_seed: purpose for purpose in Purpose for seeds in evaluation_seeds(purpose, 0, 300)
}
SMALL = [
    "+experiment=scope_growth",
    "transfer.calibration_plays=8",
    "transfer.selection_plays=16",
    "transfer.acceptance_plays=[16,32]",
    "growth.generations=1",
]


class Killed(Exception):  # noqa: N818  # what happened, no error of the system
    """Stands in for kill -9: nothing in the system catches it."""


def code(limit: int) -> str:
    return f"assign(s=story())\nelicit(t, {limit})\nreward(xed(t | s))\n"


@dataclass(frozen=True)
class Nature:
    """What is true of one game: gains in bits, transfer as shares of the target's own gain."""

    own: float = 10.0
    teaches: float = 0.6
    covered: float = 0.2
    forfeits: float = 0.0
    constant: bool = False
    lucky: dict[str, float] = field(default_factory=dict)
    """Truths of another kind on selection plays."""

    def at(self, purpose: str) -> Nature:
        return replace(self, **self.lucky) if purpose == Purpose.SELECTION else self


World = Callable[[Game], Nature]


@dataclass
class FakeWorkshop:
    """Does jobs by looking up the truth and adding noise that hangs on the job alone."""

    world: World
    jobs: list[Job] = field(default_factory=list)
    games: dict[bytes, Game] = field(default_factory=dict)
    patience: int | None = None
    """Jobs after which it is killed."""

    def do(self, jobs: Sequence[Job]) -> Iterator[Result]:
        for job in jobs:
            if self.patience is not None and len(self.jobs) >= self.patience:
                raise Killed
            self.jobs.append(job)
            yield self._train(job) if isinstance(job, Training) else self._evaluate(job)

    def close(self) -> None:
        pass

    def _train(self, job: Training) -> Result:
        adapter = f"{job.task.game_id} {job.task.game.code}".encode()
        made = Finetune(adapter, [1.0, 2.0], [3.0, 2.5], [0.5, 0.4], 0.9, 0.0, 900, 100, 0.25)
        return Result(made, ((2 * named_seed(job.seed), 0, "a training text", 3),))

    def _evaluate(self, job: Evaluation) -> Result:
        scores = [self._score(job, each) for each in job.seeds]
        told = tuple((each.map_seed, 0, f"text {each.map_seed}", 2) for each in job.seeds)
        return Result(scores, told)

    def _score(self, job: Evaluation, seeds: Seeds) -> Score:
        target = self.world(job.task.game).at(PURPOSES[seeds.map_seed])
        if target.constant:
            return Score(seeds, 1.0, 1.0, "finished", 1.0, ("m",), 10, 0.5)
        if stream("forfeit", job.task.game_id, seeds.map_seed).random() < target.forfeits:
            floor = job.task.floor
            return Score(seeds, floor, float("-inf"), "forfeit", floor, ("m",), 10, 0.5)
        who = job.adapter.decode() if job.adapter else "base"
        luck = stream("map", job.task.game_id, seeds.map_seed).normal(0, 3)
        noise = stream("noise", who, job.task.game_id, seeds.map_seed).normal(0, 0.7)
        score = luck + noise + self._gain(job, target, PURPOSES[seeds.map_seed])
        return Score(seeds, score, score, "finished", luck - 1.0, (f"move of {who}",), 10, 0.5)

    def _gain(self, job: Evaluation, target: Nature, purpose: str) -> float:
        if job.adapter is None:
            return 0.0
        game_id, _, text = job.adapter.decode().partition(" ")
        if game_id == job.task.game_id:
            return target.own
        source = self.world(game(parse(text, "xent"), job.task.game.metadata)).at(purpose)
        share = source.teaches if _limit(job.task.game) == PARENT else target.covered
        return share * target.own


def _limit(played: Game) -> int:
    found = re.search(r"elicit\(\w+, (\d+)\)", played.code)
    return int(found[1]) if found else 0


@dataclass
class Listed:
    """A meta-sampler that always proposes the same texts."""

    texts: Sequence[str]
    told: list[Outcome] = field(default_factory=list)

    def propose(self, parent: Game, scope: Sequence[Game], n: int, seed: int) -> list[Proposal]:
        return [self._proposal(text, parent) for text in self.texts]

    def _proposal(self, text: str, parent: Game) -> Proposal:
        origin = Provenance("listed", ("edit",), (parent.game_id,))
        try:
            made = game(parse(text, "xent"), parent.metadata)
        except ProgramError as error:
            return Proposal(text, None, tuple(map(str, error.problems)), origin)
        return Proposal(text, made, (), origin)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        self.told += outcomes


@dataclass
class Search:
    """Runs the entry in ``folder`` with a workshop of ``world`` in place of Ray's."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    workshop: FakeWorkshop = field(default_factory=lambda: FakeWorkshop(lambda _: Nature()))

    def run(
        self,
        world: World,
        *overrides: str,
        sampler: Listed | None = None,
        patience: int | None = None,
        name: str = "run",
        resume: bool = False,
    ) -> int:
        self.workshop = FakeWorkshop(world, patience=patience)
        self.monkeypatch.setattr(evo.run, "RayWorkshop", lambda *_: self.workshop)
        if sampler is not None:
            self.monkeypatch.setattr(evo.run, "make", lambda *_: sampler)
        if resume:
            return evo.run.main([f"resume={self.folder / name}"])
        (self.folder / "parent.xent").write_text(code(PARENT))
        place = [f"archive.root={self.folder}", f"name={name}"]
        scope = f"growth.initial_scope=[{self.folder / 'parent.xent'}]"
        return evo.run.main([*SMALL, scope, *place, *overrides])

    def rows(self, table: str, name: str = "run") -> list[dict[str, Any]]:
        with Archive.open(self.folder / name / "archive") as archive:
            return archive.rows(table)

    def adapters(self, name: str = "run") -> list[str]:
        with Archive.open(self.folder / name / "archive") as archive:
            return archive.adapters()

    def tables(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """All that the science is in."""
        kept = [table for table in TABLES if table != "runs"]
        return {
            table: [{k: v for k, v in row.items() if k != "run_id"} for row in rows]
            for table, rows in ((table, self.rows(table, name)) for table in kept)
        }


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    return Search(tmp_path, monkeypatch)


def of_limits(**natures: Nature) -> World:
    """The nature of each game by its limit, ``l7=…``; all others are ordinary."""
    return lambda played: natures.get(f"l{_limit(played)}", Nature())


# -- verdicts --------------------------------------------------------------------------------------

VERDICTS = [
    (Nature(forfeits=1.0), "refused", "never feasible", True, None),
    (Nature(forfeits=0.6), "refused", r"forfeit rate 0\.\d+ above 0.25", True, None),
    (Nature(constant=True), "refused", "constant score", True, None),
    (Nature(own=0.0), "refused", "not playable", True, "selection"),
    (Nature(own=-3.0), "refused", "not playable", True, "selection"),
    (Nature(teaches=0.0), "refused", "does not help its parent", True, "selection"),
    (Nature(teaches=-0.5), "refused", "does not help its parent", True, "selection"),
    (Nature(covered=1.1), "refused", "covered by the scope", True, "selection"),
    (Nature(), "accepted", "helps and is new", True, "acceptance"),
    (Nature(covered=-0.5), "accepted", "helps and is new", True, "acceptance"),
    (
        Nature(teaches=0.31, lucky={"teaches": 0.6}),
        "undecided",
        "help to its parent not settled",
        False,
        "acceptance",
    ),
    (
        Nature(covered=0.79, lucky={"covered": 0.2}),
        "undecided",
        "coverage not settled",
        False,
        "acceptance",
    ),
    (
        Nature(own=0.0, lucky={"own": 10.0}),
        "undecided",
        "own gain not confirmed",
        False,
        "acceptance",
    ),
    (
        Nature(teaches=0.0, lucky={"teaches": 0.6}),
        "refused",
        "does not help its parent",
        True,
        "acceptance",
    ),
    (
        Nature(covered=1.0, lucky={"covered": 0.2}),
        "refused",
        "covered by the scope",
        True,
        "acceptance",
    ),
]


@pytest.mark.parametrize(("nature", "verdict", "reason", "decided", "purpose"), VERDICTS)
def test_verdicts(
    search: Search, nature: Nature, verdict: str, reason: str, decided: bool, purpose: str | None
) -> None:
    sampler = Listed([code(7)])
    assert search.run(of_limits(l7=nature), "growth.list_size=1", sampler=sampler) == 0
    [row] = search.rows("decisions")
    assert (row["verdict"], row["decided"], row["purpose"]) == (verdict, decided, purpose)
    assert re.fullmatch(reason, row["reason"])
    assert (row["finetune_id"] is None) == (purpose is None)
    assert (row["generation"], row["round"], row["index"]) == (0, 0, 0)
    assert row["plays"] > 0
    assert row["tokens"] == 10 * row["plays"] + (1000 if row["finetune_id"] else 0)
    sizes = [sum(r["generation"] == k for r in search.rows("scopes")) for k in (0, 1)]
    assert sizes == [1, 2 if verdict == "accepted" else 1]
    assert [each.accepted for each in sampler.told] in ([], [verdict == "accepted"])
    _check_adapters(search, row)


def _check_adapters(search: Search, row: dict[str, Any]) -> None:
    """The scope's are kept, those of the refused dropped."""
    made = {each["finetune_id"]: each["adapter_hash"] for each in search.rows("finetunes")}
    refused = set() if row["verdict"] == "accepted" else {row["finetune_id"]}
    kept = {digest for name, digest in made.items() if name not in refused}
    assert set(search.adapters()) == kept


def test_every_adapter_is_kept_on_demand(search: Search) -> None:
    world = of_limits(l7=Nature(teaches=0.0))
    search.run(world, "growth.list_size=1", "archive.keep=all", sampler=Listed([code(7)]))
    made = search.rows("finetunes")
    assert len(made) == 2
    assert search.adapters() == sorted(row["adapter_hash"] for row in made)


def test_the_newest_of_a_list_is_taken(search: Search) -> None:
    world = of_limits(l7=Nature(covered=0.6), l6=Nature(covered=0.1), l5=Nature(covered=0.4))
    search.run(world, "growth.list_size=3", sampler=Listed([code(7), code(6), code(5)]))
    found = {row["index"]: (row["verdict"], row["reason"]) for row in search.rows("decisions")}
    newer = ("refused", "another of its list was newer")
    assert found == {0: newer, 1: ("accepted", "helps and is new"), 2: newer}


def test_an_accepted_row_tells_the_whole_story(search: Search) -> None:
    search.run(of_limits(), "growth.list_size=1", sampler=Listed([code(7)]))
    [row] = search.rows("decisions")
    may_be_null: set[str] = set()
    assert {name for name, value in row.items() if value is None} <= may_be_null
    assert row["captured_low"] <= row["captured"] <= row["captured_high"]
    assert row["captured"] == pytest.approx(0.6, abs=0.1)
    assert row["captured_low"] >= row["alpha1"]
    assert row["gamma"] == pytest.approx(0.2, abs=0.1)
    assert row["gamma_high"] <= 1 - row["alpha2"]
    assert row["own_gain"] == pytest.approx(10, abs=1)
    assert row["specific_share"] == pytest.approx(1, abs=0.01)
    parent = next(r["game_id"] for r in search.rows("scopes") if r["generation"] == 0)
    assert row["parent_game_id"] == row["gamma_game_id"] == parent
    member = next(r for r in search.rows("scopes") if r["accepted_in"] == 1)
    assert (member["gamma"], member["parent_game_id"]) == (row["gamma"], parent)


def test_acceptance_is_on_fresh_maps(search: Search) -> None:
    search.run(of_limits(), "growth.list_size=1", sampler=Listed([code(7)]))
    seen: dict[str, set[int]] = {}
    for row in search.rows("scores"):
        seen.setdefault(row["purpose"], set()).add(row["map_seed"])
    assert set(seen) == {"calibration", "selection", "acceptance"}
    assert sum(map(len, seen.values())) == len(set.union(*seen.values()))
    assert len(seen["acceptance"]) == 16, "the first look was enough"


def test_an_open_question_gets_more_plays_until_the_cap(search: Search) -> None:
    nature = Nature(teaches=0.31, lucky={"teaches": 0.6})
    search.run(of_limits(l7=nature), "growth.list_size=1", sampler=Listed([code(7)]))
    acceptance = [row for row in search.rows("scores") if row["purpose"] == "acceptance"]
    assert len({row["map_seed"] for row in acceptance}) == 32
    keys = [(row["policy_id"], row["game_id"], row["map_seed"]) for row in acceptance]
    assert len(keys) == len(set(keys))


def test_cheap_stages_come_first(search: Search) -> None:
    """What calibration refuses is not fine-tuned; what cannot pass is not crossed."""
    for nature, trained in ((Nature(constant=True), 1), (Nature(own=0.0), 2)):
        name = f"run{trained}"
        sampler = Listed([code(7)])
        search.run(of_limits(l7=nature), "growth.list_size=1", sampler=sampler, name=name)
        assert sum(isinstance(job, Training) for job in search.workshop.jobs) == trained
        parent = next(row["game_id"] for row in search.rows("scopes", name))
        crossed = [
            row
            for row in search.rows("scores", name)
            if row["game_id"] == parent and len({r["policy_id"] for r in [row]} - {"base"})
        ]
        policies = {row["policy_id"] for row in crossed}
        assert len(policies) == 1, "only the parent's own adapter played the parent"


def test_proposals_have_their_fates(search: Search) -> None:
    texts = [
        "reward(xed(s |\n",
        code(PARENT),
        code(7),
        "assign(s=story())\nelicit(t, 3)\nreward(xed(s | s))\n",
        code(7),
    ]
    search.run(of_limits(), "growth.list_size=1", sampler=Listed(texts))
    first = [row for row in search.rows("proposals") if row["round"] == 0][:5]
    fates = [row["outcome"] for row in first]
    assert fates == ["invalid", "seen", "candidate", "degenerate", "seen"]
    assert first[0]["errors"]
    assert first[0]["game_id"] is None
    assert [row["text"] for row in first] == texts
    assert len({row["proposal_id"] for row in search.rows("proposals")}) == len(
        search.rows("proposals")
    )


def test_gains_and_floors_are_of_the_base_players_calibration(search: Search) -> None:
    nature = Nature(forfeits=0.1)
    search.run(of_limits(l7=nature), "growth.list_size=1", sampler=Listed([code(7)]))
    rows = [row for row in search.rows("scores") if row["outcome"] == "forfeit"]
    calibration = [
        row["score"]
        for row in search.rows("scores")
        if row["purpose"] == "calibration"
        and row["game_id"] == rows[0]["game_id"]
        and row["outcome"] == "finished"
    ]
    assert {row["score"] for row in rows} == {min(calibration) - 7}
    assert {row["raw_score"] for row in rows} == {float("-inf")}


@pytest.mark.parametrize(
    ("nature", "reason"),
    [(Nature(own=0.0), "not playable"), (Nature(forfeits=1.0), "never feasible")],
)
def test_an_initial_game_that_cannot_be_learned_stops_the_run_by_name(
    search: Search, capsys: pytest.CaptureFixture[str], nature: Nature, reason: str
) -> None:
    assert search.run(of_limits(l8=nature), sampler=Listed([])) == 2
    shown = capsys.readouterr().err
    assert re.match(rf"error: growth.initial_scope: .*{reason}", shown)
    assert shown.count("error:") == 1


# -- kills -----------------------------------------------------------------------------------------


def by_hash(played: Game) -> Nature:
    """A world with all sorts of games."""
    draw = stream("nature", played.game_id).random(6)
    if _limit(played) == PARENT and played.code == code(PARENT).strip():
        return Nature()
    return Nature(
        own=0.0 if draw[0] < 0.1 else 10.0,
        teaches=float(draw[1]),
        covered=float(draw[2]) * 1.2,
        forfeits=0.6 if draw[3] < 0.1 else 0.0,
        lucky={"teaches": 0.7} if draw[4] < 0.3 else {},
    )


GROWING = ("growth.generations=2", "growth.list_size=2", "growth.max_candidates=5")


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


def _finish_by_steps(search: Search, start: Callable[[bool], int]) -> int:
    """Kill and resume until a session gets to the end; returns how often that was."""
    for kills in range(500):
        try:
            assert start(kills > 0) == 0
        except Killed:
            continue
        return kills
    raise AssertionError("the run never ends")


def test_a_run_killed_after_every_single_job_ends_the_same(search: Search) -> None:
    assert search.run(by_hash, *GROWING, name="whole") == 0
    jobs, whole = len(search.workshop.jobs), search.tables("whole")

    def start(resume: bool) -> int:
        return search.run(by_hash, *GROWING, patience=1, name="killed", resume=resume)

    assert _finish_by_steps(search, start) >= jobs - 1
    assert search.tables("killed") == whole
    assert search.adapters("killed") == search.adapters("whole")
    verdicts = {row["verdict"] for row in whole["decisions"]}
    assert {"accepted", "refused"} <= verdicts


def test_a_run_killed_at_every_single_commit_ends_the_same(search: Search) -> None:
    assert search.run(by_hash, *GROWING, "seed=0", name="whole") == 0
    whole = search.tables("whole")

    def start(resume: bool) -> int:
        with pytest.MonkeyPatch.context() as patch:
            tired = Tired(1)
            patch.setattr(Archive, "commit", lambda archive, rows: tired(archive, rows))
            return search.run(by_hash, *GROWING, "seed=0", name="killed", resume=resume)

    assert _finish_by_steps(search, start) > 10
    assert search.tables("killed") == whole
    assert search.adapters("killed") == search.adapters("whole")
    events = [row["event"] for row in search.rows("runs", "killed")]
    assert events[0] == "created"
    assert events[-1] == "finished"
    assert set(events[1:-1]) == {"resumed"}


def test_a_finished_run_has_nothing_left_to_do(search: Search) -> None:
    search.run(by_hash, *GROWING)
    before = search.tables("run")
    assert search.run(by_hash, resume=True) == 0
    assert search.workshop.jobs == []
    assert search.tables("run") == before


def test_an_interrupt_leaves_what_is_committed_and_says_how_to_go_on(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(played: Game) -> Nature:
        if len(search.workshop.jobs) == 5:
            raise KeyboardInterrupt
        return by_hash(played)

    assert search.run(stop, *GROWING) == 130
    assert f"python -m evo.run resume={search.folder / 'run'}" in capsys.readouterr().out
    assert search.rows("runs")[-1]["event"] == "interrupted"
    assert search.rows("scores")
    assert search.run(by_hash, resume=True) == 0
    search.run(by_hash, *GROWING, name="whole")
    assert search.tables("run") == search.tables("whole")


def test_a_run_does_not_go_on_from_another_game(
    search: Search, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Killed):
        search.run(by_hash, *GROWING, patience=2)
    before = search.tables("run")
    (search.folder / "parent.xent").write_text(code(PARENT + 1))
    assert search.run(by_hash, resume=True) == 2
    assert re.match(
        r"error: growth\.initial_scope: \S+parent\.xent has changed since", capsys.readouterr().err
    )
    assert search.tables("run") == before
    assert [row["event"] for row in search.rows("runs")] == ["created"]


def test_another_seed_is_another_search(search: Search) -> None:
    search.run(by_hash, *GROWING, name="one")
    PURPOSES.update(
        {s.map_seed: p for p in Purpose for s in evaluation_seeds(p, 1, 300)}  # run seed 1
    )
    search.run(by_hash, *GROWING, "seed=1", name="two")
    texts = [[row["text"] for row in search.rows("proposals", name)] for name in ("one", "two")]
    assert texts[0] != texts[1]
