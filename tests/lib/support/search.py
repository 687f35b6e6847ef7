"""A executor that knows the true gains of every game, and a search run on it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

import evo.run
from archive import TABLES, Archive, Purpose
from archive.report.games import BestPlay, ScoredText
from archive.verification import verify
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs import job as work
from evo.jobs.evaluation import RoundScore, ScoredPlay, evaluation_seeds
from evo.runner import Services
from meta_sampler import MetaSampler, Outcome, Proposal, Provenance, make
from xgl import Game, ProgramError, game, parse
from xgl.random_streams import seed as named_seed, stream
from xgl.runtime.requests import Play, Seeds

PARENT = 8
"""Games are told apart by the limit of their elicit; this one is the initial scope."""
PURPOSES = defaultdict(
    lambda: Purpose.ACCEPTANCE,  # whose seeds are others for each list
    {seeds.map_seed: purpose for purpose in Purpose for seeds in evaluation_seeds(purpose, 0, 300)},
)
SMALL = [
    "+experiment=scope_growth",
    "transfer.calibration_plays=8",
    "transfer.selection_plays=[8,16]",
    "transfer.acceptance_plays=[16,32]",
    "transfer.attempts=1",
    "growth.generations=1",
    "growth.schedule=paper",
    "game.token_bits=true",
]
"""The worlds' luck follows from the ids of games, and so from their metadata."""


PAUSED = "@pause"
"""Ends the name of the adapter of a fine-tune that paused."""
GROWING = ("growth.generations=2", "growth.list_size=2", "growth.max_candidates=7")
"""Of a growth in which games are accepted and refused."""


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
    tokens: int = 10
    """Of one play."""
    artifact: bool = False
    """Whether the best moves are no longer the best under ε-clipping."""
    few_shot: bool = True
    """Whether repeated play improves."""
    unlucky: bool = False
    """Whether the fine-tune under run seed 0's first training seed learns nothing."""
    scripted: float = 5.0
    """What content words gain, in bits."""
    weak: float = 1.0
    """Share that such a fine-tune learns of what the others do."""
    survives: float = 1.0
    """Share of every gain on it that another judge sees."""
    flat: bool = False
    """Whether what the base player says does not matter to it."""
    lucky: dict[str, Any] = field(default_factory=dict)
    """Truths of another kind on selection plays."""
    at_pause: dict[str, Any] = field(default_factory=dict)
    """Truths of another kind of its fine-tune before the whole budget."""

    def at(self, purpose: str) -> Nature:
        return replace(self, **self.lucky) if purpose == Purpose.SELECTION else self


World = Callable[[Game], Nature]


class SerialExecutor(ABC):
    """An executor in this process: a job is done when its result is requested."""

    _job: work.Job[Any] | None = None
    _number = 0

    @abstractmethod
    def do(
        self, jobs: Sequence[work.Job[work.JobOutcome]]
    ) -> Iterator[work.Result[work.JobOutcome]]:
        """Results in the order of the jobs."""

    def has_room(self) -> bool:
        """Whether no job is begun."""
        return self._job is None

    def begin(self, job: work.Job[Any]) -> int:
        """Remember the job."""
        self._job, self._number = job, self._number + 1
        return self._number

    def next_event(self) -> tuple[int, work.Result[Any]] | None:
        """Do the job."""
        assert self._job is not None
        job, self._job = self._job, None
        [result] = self.do([job])
        return self._number, result


@dataclass
class FakeExecutor(SerialExecutor):
    """Does jobs by looking up the truth and adding noise that depends on the job alone."""

    world: World
    jobs: list[work.Job[Any]] = field(default_factory=list)
    games: dict[bytes, Game] = field(default_factory=dict)
    """Of its adapters."""
    patience: int | None = None
    """Jobs after which it is killed."""

    def do(self, jobs: Sequence[work.Job[Any]]) -> Iterator[work.Result[Any]]:
        for job in jobs:
            if self.patience is not None and len(self.jobs) >= self.patience:
                raise Killed
            self.jobs.append(job)
            yield self._result(job)

    def close(self) -> None:
        pass

    def _result(self, job: work.Job[Any]) -> work.Result[Any]:
        done: dict[type[work.Job[Any]], Callable[[Any], work.Result[Any]]] = {
            work.Training: self._train,
            work.Trainings: self._train_together,
            work.Repetition: self._repeat,
            work.Evaluation: self._evaluate,
            work.ScriptedEvaluation: self._evaluate_scripts,
            work.Rescoring: self._rescore,
            work.TokenScoring: lambda job: work.Result(tuple(map(_by_token, job.plays)), ()),
        }
        return next(do(job) for kind, do in done.items() if isinstance(job, kind))

    def _repeat(self, job: work.Repetition) -> work.Result[Any]:
        rise = self.world(job.task.game).few_shot
        counts = Play("finished", {}, {}, (), 0).move_counts("black")
        scores = [
            RoundScore(
                *(each, s := float(k * rise), s, "finished", None, ("m",), 9, 0.5, s, None),
                *(k, control, k - 1, 2, counts),
            )
            for k in range(1, job.rounds + 1)
            for control in ((False, True) if k > 1 else (False,))
            for each in job.seeds
        ]
        return work.Result(scores, ())

    def _train(self, job: work.Training) -> work.Result[Any]:
        first, nature = job.seed == named_seed("training", 0), self.world(job.task.game)
        is_lost = first and nature.unlucky
        share = nature.weak if first else 1.0
        who = f"{job.task.game_id}{PAUSED if job.share < 1 else ''}"
        adapter = f"{who} {share} {'' if is_lost else job.task.game.code}".encode()
        state = b"state of " + adapter if job.share < 1 else None
        before = f"state of {who}{PAUSED}{adapter.decode()[len(who) :]}"
        assert work.content(job.paused) in (None, before.encode())
        curves = [1.0, 2.0], [3.0, 2.5], [0.5, 0.4]
        plays = [  # all is learned at once
            [
                self._evaluate(work.Evaluation(each, (adapter,), (s,))).outcome[0]
                for each in job.watched
            ]
            for s in job.checkpoints
        ]
        finetune = work.Finetune(adapter, *curves, 0.9, 0.0, 900, 100, 0.25, state, plays)
        return work.Result(
            finetune, (work.MapText(2 * named_seed(job.seed), 0, "a training text", 3),)
        )

    def _train_together(self, job: work.Trainings) -> work.Result[Any]:
        results = [*map(self._train, job.trainings)]
        texts = chain(*(each.map_texts for each in results))
        return work.Result([each.outcome for each in results], tuple(dict.fromkeys(texts)))

    def _evaluate(self, job: work.Evaluation) -> work.Result[Any]:
        parts = [*zip(map(work.content, job.adapters), job.seeds, strict=True)]
        scores = [[self._score(job, a, each) for each in seeds] for a, seeds in parts]
        maps = dict.fromkeys(each.map_seed for seeds in job.seeds for each in seeds)
        texts = (work.MapText(each, 0, f"text {each}", 2) for each in maps)
        return work.Result(scores, tuple(texts))

    def _evaluate_scripts(self, job: work.ScriptedEvaluation) -> work.Result[Any]:
        """A script that says nothing plays as the base player does; the others are worse, but for
        content words, which earn what is true of the game."""
        as_base = work.Evaluation(job.task, (None,), (job.seeds,))
        base = self._evaluate(as_base).outcome[0]
        script_gain = self.world(job.task.game).scripted
        gains = {"nothing": 0.0, "content_words": script_gain}
        scores = [[_plus(each, gains.get(name, -1.0)) for each in base] for name in job.scripts]
        return work.Result(scores, ())

    def _rescore(self, job: work.Rescoring) -> work.Result[Any]:
        """Another judge, with luck and noise of its own; who made a move stands in it."""
        scores = []
        for seeds, (move,) in zip(job.seeds, job.moves, strict=True):
            who = move.removeprefix("move of ")
            adapter = None if who == "base" else who.encode()
            target = self.world(job.task.game).at(PURPOSES[seeds.map_seed])
            luck = stream("other luck", job.task.game_id, seeds.map_seed).normal(0, 3)
            noise = stream("other noise", who, job.task.game_id, seeds.map_seed).normal(0, 0.7)
            evaluation = work.Evaluation(job.task, (adapter,), (job.seeds,))
            gain = self._gain(evaluation, adapter, target, PURPOSES[seeds.map_seed])
            scores.append(work.SecondScore(luck + noise + target.survives * gain, luck - 1.0, 0.5))
        return work.Result(scores, ())

    def _score(self, job: work.Evaluation, adapter: bytes | None, seeds: Seeds) -> ScoredPlay:
        target = self.world(job.task.game).at(PURPOSES[seeds.map_seed])
        cost = target.tokens, 0.5
        if target.constant:
            return ScoredPlay(seeds, 1.0, 1.0, "finished", 1.0, ("m",), *cost)
        if stream("forfeit", job.task.game_id, seeds.map_seed).random() < target.forfeits:
            floor = job.task.floor
            return ScoredPlay(seeds, floor, float("-inf"), "forfeit", floor, ("m",), *cost)
        who = adapter.decode() if adapter else "base"
        luck = stream("map", job.task.game_id, seeds.map_seed).normal(0, 3)
        noise = stream("noise", who, job.task.game_id, seeds.map_seed).normal(0, 0.7)
        score = luck + noise + self._gain(job, adapter, target, PURPOSES[seeds.map_seed])
        moves, permuted_score = (f"move of {who}",), luck - 1.0
        if target.flat and adapter is None:
            permuted_score = score - 0.5
        clipped_score = 2 * permuted_score - score if target.artifact else score
        clipped = clipped_score, permuted_score
        return ScoredPlay(seeds, score, score, "finished", permuted_score, moves, *cost, *clipped)

    def _gain(
        self, job: work.Evaluation, adapter: bytes | None, target: Nature, purpose: str
    ) -> float:
        if adapter is None:
            return 0.0
        who, strength, text = adapter.decode().split(" ", 2)
        game_id, is_paused = who.removesuffix(PAUSED), who.endswith(PAUSED)
        if not text:
            return 0.0
        if game_id == job.task.game_id:
            its = replace(target, **target.at_pause) if is_paused else target
            return float(strength) * its.own
        if adapter not in self.games:
            self.games[adapter] = game(parse(text, "xent"), job.task.game.metadata)
        source = self.world(self.games[adapter]).at(purpose)
        source = replace(source, **source.at_pause) if is_paused else source
        share = source.teaches if limit(job.task.game) == PARENT else target.covered
        return float(strength) * share * target.own


def _plus(play: ScoredPlay, bits: float) -> ScoredPlay:
    """The same play with a higher score, by a player that costs no tokens."""
    if play.outcome != "finished":
        return replace(play, tokens=0)
    return replace(play, score=play.score + bits, raw_score=play.raw_score + bits, tokens=0)


def _by_token(play: BestPlay) -> BestPlay:
    """All bits are those of the second of two tokens."""
    return replace(play, terms=(ScoredText("xed(t | s)", ("a", " b"), (play.score,)),))


def limit(game_: Game) -> int:
    """Of a game's first elicit."""
    match = re.search(r"elicit\(\w+, (\d+)\)", game_.code)
    return int(match[1]) if match else 0


@dataclass
class Listed(MetaSampler):
    """A meta-sampler that always proposes the same texts."""

    texts: Sequence[str]
    told: list[Outcome] = field(default_factory=list)
    name: str = "listed"

    def propose(
        self, parent: Game, scope: Sequence[Game], n: int, seed: int, role: str = "black"
    ) -> list[Proposal]:
        return [self._proposal(text, parent) for text in self.texts]

    def _proposal(self, text: str, parent: Game) -> Proposal:
        origin = Provenance(self.name, ("edit",), (parent.game_id,))
        try:
            game_ = game(parse(text, "xent"), parent.metadata)
        except ProgramError as error:
            return Proposal(text, None, tuple(map(str, error.problems)), origin)
        return Proposal(text, game_, (), origin)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        self.told += outcomes


@dataclass
class Search:
    """Runs the entry in ``folder`` with an executor of ``world`` in place of Ray's."""

    folder: Path
    executor: FakeExecutor = field(default_factory=lambda: FakeExecutor(lambda _: Nature()))
    sampler: MetaSampler | None = None
    """Of the run that was begun last; None: the one that its settings name."""

    def run(
        self,
        world: World,
        *overrides: str,
        sampler: MetaSampler | None = None,
        patience: int | None = None,
        name: str = "run",
        resume: bool = False,
        only: bool = False,
    ) -> int:
        """``only``: with these overrides alone, without the small growth's."""
        self.executor = FakeExecutor(world, patience=patience)
        self.sampler = sampler or self.sampler
        if resume:
            return self._main(f"resume={self.folder / name}")
        (self.folder / "parent.xent").write_text(code(PARENT))
        place = [f"archive.root={self.folder}", f"name={name}"]
        scope = f"growth.initial_scope=[{self.folder / 'parent.xent'}]"
        before = [] if only else [*SMALL, scope]
        return self._main(*before, *place, *overrides)

    def initial(self, *limits: int) -> str:
        """The setting of an initial scope of the games with these limits."""
        files = [self.folder / f"{limit}.xent" for limit in limits]
        for file, limit in zip(files, limits, strict=True):
            file.write_text(code(limit))
        return f"growth.initial_scope=[{','.join(map(str, files))}]"

    def run_by_steps(
        self, world: World, *overrides: str, patience: int, sampler: MetaSampler | None = None
    ) -> int:
        """A run called "killed" that is killed after so many jobs and resumed, until a session gets
        to the end; returns how often that was."""
        options: Any = {"patience": patience, "name": "killed", "sampler": sampler}
        for kills in range(500):
            with suppress(Killed):
                assert self.run(world, *overrides, resume=kills > 0, **options) == 0
                return kills
        raise AssertionError("the run never ends")

    def go_on(self, world: World, *overrides: str, name: str = "run") -> int:
        """Resume with settings that a resumed run may change."""
        self.executor = FakeExecutor(world)
        return self._main(f"resume={self.folder / name}", *overrides)

    def _main(self, *arguments: str) -> int:
        with patch("evo.config.compose.load", load_config):
            return evo.run.main(arguments, services(self.executor, self.sampler))

    def faults(self, name: str = "run") -> list[str]:
        """What ``archive verify`` finds wrong."""
        return [str(fault) for fault in verify(Archive.open(self.folder / name)).faults]

    def decisions(
        self, world: World, *overrides: str, sampler: MetaSampler
    ) -> list[dict[str, Any]]:
        """Those of a run to its end, in which ``archive verify`` finds no fault."""
        assert self.run(world, *overrides, sampler=sampler) == 0
        assert self.faults() == []
        return self.rows("decisions")

    def rows(self, table: str, name: str = "run") -> list[dict[str, Any]]:
        return Archive.open(self.folder / name).rows(table)

    def adapters(self, name: str = "run") -> list[str]:
        return Archive.open(self.folder / name).adapters()

    def check_went_on(self, part: str, whole: str) -> None:
        """A run that ended early and was resumed has the tables of the uninterrupted one."""
        part_tables, whole_tables = self.tables(part), self.tables(whole)
        for tables in (part_tables, whole_tables):
            assert tables.pop("scored_texts"), "of the plays that are best at each end"
        assert part_tables == whole_tables

    def tables(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """All that the science is in."""
        names = [table for table in TABLES if table != "runs"]
        return {
            table: [{k: v for k, v in row.items() if k != "run_id"} for row in rows]
            for table, rows in ((table, self.rows(table, name)) for table in names)
        }


PLACES = ("archive.root", "growth.initial_scope", "name")


@cache
def _load_config(*overrides: str) -> RunConfig:
    return load(RunConfig, overrides)


def load_config(kind: type[Any], overrides: Sequence[str]) -> Any:
    """What :func:`load` gives. Hydra takes an eighth of a second each time, so it is asked once for
    runs that differ in their places alone."""
    if kind is not RunConfig:
        return load(kind, overrides)
    places = dict(each.split("=", 1) for each in overrides if each.split("=")[0] in PLACES)
    config = _load_config(*(each for each in overrides if each.split("=")[0] not in PLACES))
    if root := places.get("archive.root"):
        config = replace(config, archive=replace(config.archive, root=root))
    if scope := places.get("growth.initial_scope"):
        files = tuple(scope.strip("[]").split(","))
        config = replace(config, growth=replace(config.growth, initial_scope=files))
    return replace(config, name=places["name"]) if "name" in places else config


def services(executor: work.Executor, sampler: MetaSampler | None = None) -> Services:
    """With ``executor`` in place of Ray's; the settings choose the sampler where none is given."""
    return Services(
        executor=lambda *_: executor, sampler=make if sampler is None else lambda *_: sampler
    )


def of_limits(**natures: Nature) -> World:
    """The nature of each game by its limit, ``l7=…``; all others are ordinary."""
    return lambda game_: natures.get(f"l{limit(game_)}", Nature())


def by_hash(game_: Game) -> Nature:
    """A world with all sorts of games."""
    if limit(game_) == PARENT and game_.code == code(PARENT).strip():
        return Nature()
    return _nature_of(game_.game_id)


@cache
def _nature_of(game_id: str) -> Nature:
    draw = stream("nature", game_id).random(6)
    return Nature(
        own=0.0 if draw[0] < 0.1 else 10.0,
        teaches=0.2 + 0.8 * float(draw[1]),
        covered=float(draw[2]) * 0.9,
        forfeits=0.6 if draw[3] < 0.1 else 0.0,
        lucky={"teaches": 0.7} if draw[4] < 0.3 else {},
        tokens=5 + int(11 * draw[5]),
    )
