"""Requests of a run: plays, fine-tunes and repeated play that its archive may lack.

A request knows whether the ledger holds its results, what they cost or may be expected to cost,
which job makes them, and which rows they become. Plays of several policies on the same game are one
job, and so are several fine-tunes.

Expected durations are in tokens that the player reads and writes. The virtual order of a run
(``evo.growth.virtual_order``) is computed from them, so they depend only on settings and on
calibration plays, never on a clock. The closer they are to real durations, the less real workers
wait for the virtual ones. The constants were fitted on the jobs of three growths on two cores (by
``benchmarks/durations.py`` of 34b36b4b).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from archive import Purpose
from archive.plays import floor_of
from archive.schema import BASE_POLICY, SCRIPT_POLICY, PlaysKey
from evo.config.schema import BLOCK
from evo.jobs.evaluation import RANDOM_MOVES, ScoredPlay, Task, play_row, round_rows, with_floor
from evo.jobs.job import (
    Evaluation,
    Finetune,
    Job,
    Repetition,
    Result,
    ScriptedEvaluation,
    StoredAdapter,
    Training,
    Trainings,
    UnlikelyMoves,
)
from evo.record.budget import Cost
from evo.record.display import FINE_TUNING, training_note
from evo.record.ledger import Ledger, Row
from xgl.runtime.requests import Seeds

if TYPE_CHECKING:
    from evo.record.collector import Collector as RunFacts  # what a request needs of its run

SeedSet = tuple[Seeds, ...]
Tables = dict[str, list[Row]]
UNKNOWN_TOKENS = 100.0
"""Tokens of one play of a game that is not calibrated yet."""
JUDGED_PLAY = 70.0
"""Time of an evaluated play beyond that of its tokens: the judge, with permuted moves too."""
SCRIPTED_PLAY = 65.0
"""Time of a script's play: the judge alone."""
TRAINED_TOKEN = 1.45
"""Time of a token of a fine-tune: sampling, the judge, and the gradient."""
NO_COLUMNS = ("adapter", "state", "watched_plays")
"""What a fine-tune holds beside the columns of its row."""


@dataclass(frozen=True)
class Request(ABC):
    """A fact that the ledger may lack. ``policy_id``: of the player, or of the adapter to train."""

    policy_id: str
    task: Task = field(hash=False)
    trains: ClassVar[bool] = False
    joins: ClassVar[bool] = False
    """Whether it can share a job with others of its kind, whatever game they are of."""

    @property
    @abstractmethod
    def stage(self) -> str:
        """Its stage, as the display names it."""

    @abstractmethod
    def rows(self, ledger: Ledger) -> list[Row]:
        """Its results in the ledger; empty if one of them is missing."""

    def known(self, ledger: Ledger) -> bool:
        """Whether the ledger holds all its results."""
        return bool(self.rows(ledger))

    def cost(self, ledger: Ledger) -> Cost:
        """The cost of its results, which the ledger holds."""
        return sum(map(Cost.of, self.rows(ledger)), Cost())

    @abstractmethod
    def duration(self, facts: RunFacts) -> float:
        """Its expected duration."""

    @abstractmethod
    def job(self, facts: RunFacts, together: Sequence[Any]) -> Job[Any]:
        """The job that makes its results and those of the requests that are done ``together``."""

    @abstractmethod
    def tables(self, facts: RunFacts, together: Sequence[Any], result: Result[Any]) -> Tables:
        """Rows of the job's result, by table."""

    def notes(self, result: Result[Any]) -> list[str]:
        """The result in words: that of each fine-tune, or nothing."""
        return [""]


@dataclass(frozen=True)
class PlayRequest(Request):
    """One policy on one game on given seeds."""

    purpose: Purpose
    seeds: SeedSet

    @property
    def key(self) -> PlaysKey:
        """Key under which the ledger holds the plays."""
        return PlaysKey(self.policy_id, self.task.id, self.purpose)

    @property
    def stage(self) -> str:
        """The scripts', or the purpose of the plays."""
        return "scripts" if self.key.scripted else self.purpose

    def rows(self, ledger: Ledger) -> list[Row]:
        scores = ledger.scores.get(self.key, {})
        rows = [scores[each] for each in self.seeds if each in scores]
        return rows if len(rows) == len(self.seeds) else []

    def known(self, ledger: Ledger) -> bool:
        return not self.seeds or super().known(ledger)

    def duration(self, facts: RunFacts) -> float:
        one = SCRIPTED_PLAY if self.key.scripted else JUDGED_PLAY + tokens_of(facts, self.task)
        return len(self.seeds) * one

    def job(self, facts: RunFacts, together: Sequence[PlayRequest]) -> Job[Any]:
        """Of a calibration, which fixes the floor, the task has none."""
        calibrating = self.purpose is Purpose.CALIBRATION and not self.key.scripted
        task = self.task if calibrating else facts.task_with_floor(self.task)
        if self.key.scripted:
            names = (each.policy_id.removeprefix(SCRIPT_POLICY) for each in together)
            return ScriptedEvaluation(task, tuple(names), self.seeds)
        adapters = tuple(facts.adapter(each.policy_id) for each in together)
        return Evaluation(task, adapters, tuple(each.seeds for each in together))

    def tables(self, facts: RunFacts, together: Sequence[Any], result: Result[Any]) -> Tables:
        """The scores; of a calibration with the floor that they fix put in."""
        rows: list[Row] = []
        for each, plays in zip(together, result.outcome, strict=True):
            if self.purpose is Purpose.CALIBRATION:
                floor = self._floor(plays)
                plays = [with_floor(play, floor) for play in plays]
            rows += [play_row(each.policy_id, each.task, self.purpose, play) for play in plays]
        return {"scores": rows, "maps": facts.map_rows(result, self.purpose)}

    def _floor(self, plays: Sequence[ScoredPlay]) -> float:
        bits = [(play.outcome, play.score) for play in plays]
        return floor_of(bits, self.task.game, self.task.role)


@dataclass(frozen=True)
class UnlikelyRequest(PlayRequest):
    """The best, or the median, of random moves on given seeds: both are one job, which candidates
    of several roles share. ``floor``: bits of an unfinished play."""

    floor: float = field(default=0.0, compare=False)

    def duration(self, facts: RunFacts) -> float:
        return len(self.seeds) * SCRIPTED_PLAY * RANDOM_MOVES / 2

    def job(self, facts: RunFacts, together: Sequence[PlayRequest]) -> Job[Any]:
        names = (each.policy_id.removeprefix(SCRIPT_POLICY) for each in together)
        return UnlikelyMoves(self.task, tuple(names), self.seeds)

    def _floor(self, plays: Sequence[ScoredPlay]) -> float:
        return self.floor


@dataclass(frozen=True)
class TrainingRequest(Request):
    """One fine-tune on a game; ``repetition`` numbers its training ``seed``, ``settings`` is the
    JSON of what it depends on besides. ``true_rewards``: even under ``finetune.shuffle``;
    ``share``: of its budget; ``continues``: the fine-tune of a smaller share that it goes on
    from."""

    repetition: int
    seed: int
    settings: str = field(repr=False)
    true_rewards: bool = False
    share: float = 1.0
    continues: str | None = None
    stage: ClassVar[str] = FINE_TUNING
    trains: ClassVar[bool] = True
    joins: ClassVar[bool] = True

    def rows(self, ledger: Ledger) -> list[Row]:
        row = ledger.finetunes.get(self.policy_id)
        return [row] if row else []

    def duration(self, facts: RunFacts) -> float:
        """That of its part of the budget of tokens, or less if the plays of its rounds and steps
        need less. At most a quarter of the budget is for the moves of the warm start."""
        settings, tokens = facts.config.finetune, tokens_of(facts, self.task)
        part = self.share - (facts.config.growth.first_rung if self.continues else 0.0)
        if settings.steps is None:
            return TRAINED_TOKEN * settings.tokens * part
        budget, warm = settings.tokens or math.inf, settings.warm_start
        needed = 0.0 if self.continues else min(warm.maps * warm.rollouts * tokens, budget / 4)
        needed += part * settings.steps * settings.maps * settings.rollouts * tokens
        return TRAINED_TOKEN * min(needed, budget * part)

    def job(self, facts: RunFacts, together: Sequence[TrainingRequest]) -> Job[Any]:
        trainings = tuple(each.training(facts) for each in together)
        return trainings[0] if len(trainings) == 1 else Trainings(trainings[0].task, trainings)

    def training(self, facts: RunFacts) -> Training:
        """The job of this fine-tune alone."""
        paused, ledger = None, facts.ledger
        if self.continues:
            paused = StoredAdapter(ledger.finetunes[self.continues]["state_hash"], ledger.archive)
        task = facts.task_with_floor(self.task)
        return Training(task, self.seed, self.true_rewards, self.share, paused)

    def tables(self, facts: RunFacts, together: Sequence[Any], result: Result[Any]) -> Tables:
        pairs = zip(together, _finetunes(result), strict=True)
        rows = [each.row(facts, finetune) for each, finetune in pairs]
        return {"finetunes": rows, "maps": facts.map_rows(result, Purpose.TRAINING)}

    def row(self, facts: RunFacts, finetune: Finetune) -> Row:
        """Its row of ``finetunes``."""
        archive, state = facts.ledger.archive, finetune.state
        return {
            "finetune_id": self.policy_id,
            **self.task.id._asdict(),
            "replicate": self.repetition,
            "seed": self.seed,
            "share": self.share,
            "continues": self.continues,
            "state_hash": None if state is None else archive.put_adapter(state),
            "steps": len(finetune.curve),
            "adapter_hash": archive.put_adapter(finetune.adapter),
            "settings_json": self.settings,
            "tokens": finetune.tokens,
            **{name: value for name, value in vars(finetune).items() if name not in NO_COLUMNS},
        }

    def notes(self, result: Result[Any]) -> list[str]:
        return [training_note(each.curve) for each in _finetunes(result)]


@dataclass(frozen=True)
class WatchedTrainingRequest(TrainingRequest):
    """A fine-tune that plays ``tasks`` while it learns, on the seeds of each of ``checkpoints``,
    whose maps the archive holds. These plays are of weights that were left behind, and so of a
    purpose of their own."""

    tasks: tuple[Task, ...] = ()
    checkpoints: tuple[SeedSet, ...] = ()
    joins: ClassVar[bool] = False

    def job(self, facts: RunFacts, together: Sequence[Request]) -> Job[Any]:
        tasks = tuple(map(facts.task_with_floor, self.tasks))
        return replace(self.training(facts), watched=tasks, checkpoints=self.checkpoints)

    def tables(self, facts: RunFacts, together: Sequence[Any], result: Result[Any]) -> Tables:
        rows = [
            play_row(self.policy_id, task, Purpose.CHECKPOINT, each)
            for plays_by_task in result.outcome.watched_plays
            for task, plays in zip(self.tasks, plays_by_task, strict=True)
            for each in plays
        ]
        return {**super().tables(facts, together, result), "scores": rows}


@dataclass(frozen=True)
class RoundsRequest(Request):
    """Repeated play of a game by the base player, ``rounds`` on each of the seeds."""

    seeds: SeedSet
    rounds: int
    stage: ClassVar[str] = "few-shot"

    def rows(self, ledger: Ledger) -> list[Row]:
        return ledger.rounds.get(PlaysKey(BASE_POLICY, self.task.id, Purpose.CALIBRATION), [])

    def duration(self, facts: RunFacts) -> float:
        """Each round has its control."""
        one = JUDGED_PLAY + tokens_of(facts, self.task)
        return 2 * self.rounds * len(self.seeds) * one

    def job(self, facts: RunFacts, together: Sequence[Request]) -> Repetition:
        return Repetition(facts.task_with_floor(self.task), self.seeds, self.rounds)

    def tables(self, facts: RunFacts, together: Sequence[Any], result: Result[Any]) -> Tables:
        rows = round_rows(BASE_POLICY, self.task, Purpose.CALIBRATION, result.outcome)
        return {"rounds": rows, "maps": facts.map_rows(result, Purpose.CALIBRATION)}


def _finetunes(result: Result[Any]) -> list[Finetune]:
    """The fine-tunes of a job that makes one or several."""
    return result.outcome if isinstance(result.outcome, list) else [result.outcome]


def tokens_of(facts: RunFacts, task: Task) -> float:
    """Mean tokens of a play of a game, as known."""
    return facts.play_tokens.get(task.id, UNKNOWN_TOKENS)


def jobs_of(
    requests: Sequence[Request], most: int, alike: bool = False
) -> list[tuple[Request, ...]]:
    """The requests grouped as jobs do them: fine-tunes, of any games, at most ``most`` together;
    plays of the same game together, of at most ``most`` policies and of each at most ``BLOCK`` or
    those of one request; scripts, any number, only on the same seeds, and so policies where
    ``most`` is 1 or all are to be ``alike``, since a model writes the texts of their maps and in a
    larger batch might write others; all others one by one. Plays stand last.

    Groups of plays stand in the order of their first plays. A group is committed as a whole, since
    the numbers of a batch depend on its size; so a resumed run makes the same groups in the same
    order.
    """
    groups: list[list[Any]] = []
    filling: dict[tuple[Any, ...], list[Any]] = {}
    for each in sorted(requests, key=lambda each: isinstance(each, PlayRequest)):
        key: tuple[Any, ...] = (TrainingRequest,) if each.joins else (each,)
        if isinstance(each, PlayRequest):
            own_seeds = each.seeds if each.key.scripted or most == 1 or alike else ()
            key = each.key[1:], each.key.scripted, own_seeds
        if key not in filling or not _has_room(filling[key], each, most):
            filling[key] = []
            groups.append(filling[key])
        filling[key].append(each)
    return [tuple(each) for each in groups]


def _has_room(group: Sequence[Any], request: Request, most: int) -> bool:
    if isinstance(request, PlayRequest):
        if request.key.scripted:
            return True
        if own := [len(each.seeds) for each in group if each.policy_id == request.policy_id]:
            return sum(own) + len(request.seeds) <= BLOCK
    return len({each.policy_id for each in group}) < most
