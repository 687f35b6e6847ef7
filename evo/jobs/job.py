"""Jobs, their results, and executors: what a run sends to its workers. A job is a function of a
model host; plain functions go to processes without models.

This module loads no model library; only a worker, where a :class:`~evo.jobs.model_host.ModelHost`
does the jobs, needs one.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from archive import Archive
from archive.report.games import BestPlay, replayed_plays
from evo.config.models import FinetuneConfig
from evo.jobs.evaluation import (
    RoundScore,
    ScoredPlay,
    Task,
    replay,
    search_unlikely_moves,
    seconds_of_work,
)
from xgl.errors import XGLError
from xgl.players.scripts import ScriptPlayer
from xgl.runtime.lockstep import play_together
from xgl.runtime.requests import Play, Seeds

if TYPE_CHECKING:
    from evo.jobs.model_host import ModelHost
    from xgl.lm.language_model import LanguageModel

Outcome = TypeVar("Outcome")


# -- what jobs return: values that a worker sends to the process that drives a run ----------------


@dataclass(frozen=True)
class Finetune:
    """A trained adapter and the record of its training; curves have one entry a step.

    ``curve`` is the mean score (bits), ``entropy`` the policy's mean entropy (bits a token),
    ``distinct_moves`` and ``forfeit_rate`` shares of the plays of the last step on the last game,
    None without one. ``state``: what it goes on from, if it paused before the end of its budget;
    curves are those since its beginning, tokens and seconds those since its last pause.
    ``watched_plays``: what it played while it learned (checkpoints, tasks, seeds).
    """

    adapter: bytes
    curve: list[float]
    entropy: list[float]
    grad_norm: list[float]
    distinct_moves: float | None
    forfeit_rate: float | None
    prompt_tokens: int
    generated_tokens: int
    seconds: float
    state: bytes | None = None
    watched_plays: list[list[list[ScoredPlay]]] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Processed tokens 𝒯: prompts and moves of the trained player, over all rollouts."""
        return self.prompt_tokens + self.generated_tokens


@dataclass(frozen=True)
class SecondScore:
    """One play under another judge, bits; None if an ensure refused the moves."""

    score: float | None
    permuted_score: float | None
    seconds: float


@dataclass(frozen=True)
class MapText:
    """One text of a map: its story site, its length in judge tokens, the prompt that asked for it,
    and how many maps the game has; 0: any number."""

    map_seed: int
    site: int
    text: str
    tokens: int
    prompt: str = ""
    count: int = 0


@dataclass(frozen=True)
class Result(Generic[Outcome]):
    """Outcome of a job, and the texts of the maps it was played on."""

    outcome: Outcome
    map_texts: tuple[MapText, ...]


# -- jobs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StoredAdapter:
    """An adapter of an archive by its ``digest`` (SHA-256): a job that waits holds no more."""

    digest: str
    archive: Archive = field(repr=False, compare=False)


Adapter = bytes | StoredAdapter | None
"""An adapter of a job; None: the base player."""


def content(adapter: Adapter) -> bytes | None:
    """The bytes of a job's adapter, read now if it is stored. Raises
    :class:`archive.ArchiveError`."""
    if isinstance(adapter, StoredAdapter):
        return adapter.archive.get_adapter(adapter.digest)
    return adapter


@dataclass(frozen=True)
class Job(ABC, Generic[Outcome]):
    """One piece of work, as a function of a model host; ``Outcome`` is the type of its result."""

    trains: ClassVar[bool] = False
    """Whether it is a fine-tune."""
    name: ClassVar[str]
    """Name of the job in messages."""
    task: Task

    @abstractmethod
    def __call__(self, host: ModelHost) -> Outcome:
        """Do the job."""

    def with_adapters(self, change: Callable[[Any], Any]) -> Self:
        """The job with each of its adapters changed: they are sent to a worker separately."""
        return self


@dataclass(frozen=True)
class Evaluation(Job[list[list[ScoredPlay]]]):
    """Play ``task`` with each adapter (None: the base player) on its own pairs of seeds, all in
    shared passes; the outcome is the scores, by adapter. One that has several sets of seeds stands
    there several times."""

    name: ClassVar[str] = "an evaluation"
    adapters: tuple[Adapter, ...]
    seeds: tuple[tuple[Seeds, ...], ...]

    def __call__(self, host: ModelHost) -> list[list[ScoredPlay]]:
        return host.evaluate(self.task, [*map(content, self.adapters)], self.seeds)

    def with_adapters(self, change: Callable[[Any], Any]) -> Self:
        return replace(self, adapters=tuple(map(change, self.adapters)))


@dataclass(frozen=True)
class ScriptedEvaluation(Job[list[list[ScoredPlay]]]):
    """Play ``task`` by each of ``scripts`` (names) on each pair of seeds, all in one pass; the
    outcome is the scores (scripts, seeds)."""

    name: ClassVar[str] = "the scripts' plays"
    scripts: tuple[str, ...]
    seeds: tuple[Seeds, ...]

    def __call__(self, host: ModelHost) -> list[list[ScoredPlay]]:
        parts = [(script, self.seeds) for script in self.scripts]
        # scripts say much that is the same, which one pass reads once
        return host.play(ScriptPlayer(host.judge.count), parts, self.task, at_once=True)


@dataclass(frozen=True)
class UnlikelyMoves(ScriptedEvaluation):
    """Play ``task`` with random tokens; the outcome is the best and the median play of each map."""

    name: ClassVar[str] = "random moves"

    def __call__(self, host: ModelHost) -> list[list[ScoredPlay]]:
        return search_unlikely_moves(host.judge, host.cast(self.task), self.task, self.seeds)


@dataclass(frozen=True)
class Repetition(Job[list[RoundScore]]):
    """Play ``task`` for ``rounds`` on each pair of seeds by the base player, earlier rounds in
    view, and the control."""

    name: ClassVar[str] = "the repeated play"
    seeds: tuple[Seeds, ...]
    rounds: int

    def __call__(self, host: ModelHost) -> list[RoundScore]:
        player = host.sampler(host.adapted_model.base)
        return host.repeat(player, self.task, self.seeds, self.rounds)


@dataclass(frozen=True)
class Training(Job[Finetune]):
    """Fine-tune a new adapter on ``task`` and ``others`` in turn, or go on with one that paused."""

    name: ClassVar[str] = "the fine-tune"
    trains: ClassVar[bool] = True
    seed: int
    true_rewards: bool = False
    """Whether its rewards stay as they are even under ``finetune.shuffle``."""
    share: float = 1.0
    """Of its budget, at which it pauses."""
    paused: Adapter = None
    """The state that it goes on from."""
    others: tuple[Task, ...] = ()
    settings: FinetuneConfig | None = None
    """Settings other than the run's."""
    watched: tuple[Task, ...] = ()
    """Games that it plays while it learns."""
    checkpoints: tuple[tuple[Seeds, ...], ...] = ()
    """Their seeds after each of as many equal parts of the budget."""

    def __call__(self, host: ModelHost) -> Finetune:
        plays: list[list[list[ScoredPlay]]] = []

        def watch(lm: LanguageModel, share: float) -> None:
            while len(plays) < int(share * len(self.checkpoints)):
                player, parts = host.sampler(lm), [("", self.checkpoints[len(plays)])]
                plays.append([host.play(player, parts, each)[0] for each in self.watched])

        [finetune] = host.finetune([self], watch)
        apart = sum(play.seconds for at in plays for own in at for play in own)  # rows of their own
        return replace(finetune, watched_plays=plays, seconds=finetune.seconds - apart)

    def with_adapters(self, change: Callable[[Any], Any]) -> Self:
        return replace(self, paused=change(self.paused))


@dataclass(frozen=True)
class Trainings(Job[list[Finetune]]):
    """Several fine-tunes in lockstep, of which ``task`` is the first one's; the outcomes are
    theirs, up to rounding."""

    name: ClassVar[str] = "the fine-tunes"
    trains: ClassVar[bool] = True
    trainings: tuple[Training, ...]

    def __call__(self, host: ModelHost) -> list[Finetune]:
        return host.finetune(self.trainings)

    def with_adapters(self, change: Callable[[Any], Any]) -> Self:
        return replace(self, trainings=tuple(t.with_adapters(change) for t in self.trainings))


@dataclass(frozen=True)
class Rescoring(Job[list[SecondScore]]):
    """Score moves that were made on ``seeds`` again, by the settings' second judge: each map's own,
    and the next map's."""

    name: ClassVar[str] = "another judge's scores"
    seeds: tuple[Seeds, ...]
    moves: tuple[tuple[str, ...], ...]

    def __call__(self, host: ModelHost) -> list[SecondScore]:
        start, cast = seconds_of_work(), replace(host.cast(self.task), judge=host.second_judge)
        own, permuted = (
            [*map(self._bits, play_together([replay(cast, self.task, self.seeds, some)])[0])]
            for some in (self.moves, (*self.moves[1:], *self.moves[:1]))
        )
        seconds = (seconds_of_work() - start) / max(1, len(own))
        return [SecondScore(*scores, seconds) for scores in zip(own, permuted, strict=True)]

    def _bits(self, play: Play) -> float | None:
        role = self.task.role
        return play.scores.get(role, 0.0) if play.outcome_for(role) == "finished" else None


@dataclass(frozen=True)
class TokenScoring(Job[tuple[BestPlay, ...]]):
    """Score archived plays of ``task`` again, token by token; the outcome is the plays with their
    terms, or without terms if they cannot be repeated."""

    name: ClassVar[str] = "the bits of the best plays"
    plays: tuple[BestPlay, ...]

    def __call__(self, host: ModelHost) -> tuple[BestPlay, ...]:
        try:
            return replayed_plays(self.task.game, self.task.role, self.plays, host.judge)
        except (XGLError, ValueError):  # the report says it of the play
            return self.plays


class Executor(Protocol):
    """Does jobs: many in order, or one by one while workers are free."""

    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        """Results in the order of the jobs, each as early as possible; raises
        :class:`WorkersLostError`."""

    def has_room(self) -> bool:
        """Whether a worker is free."""

    def begin(self, job: Job[Any]) -> int:
        """Give a job to a free worker; returns its number."""

    def next_event(self) -> tuple[int, Result[Any]] | None:
        """Wait for one worker: the number of a job that it has done, and its result; None if the
        worker has only become ready. Raises :class:`WorkersLostError`."""

    def close(self) -> None:
        """Stop the workers."""


class WorkersLostError(Exception):
    """A job's worker died more often than the job is retried, no worker started, or Ray did not
    start or has lost a process that it needs."""


# -- processes that compute plain functions side by side, without models ---------------------------

MOST_WORKERS = 8
"""Where a user sets no number: a list of candidates keeps no more than a few busy."""
MOST_LOSSES = 2
"""Times that a job's processes may be lost before the run ends."""
PR_SET_PDEATHSIG = 1
Key = TypeVar("Key")
Value = TypeVar("Value")


def end_with_parent() -> None:
    """Let this worker process end when the run is killed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Workers:
    """``count`` processes; None: one for each core, at most eight. ``setting``: the key by which a
    user sets ``count``.

    If one dies (for example, killed by the system for its memory), the pool is lost; the jobs whose
    results are not taken yet begin again in a new one. A job is a function of its arguments, so
    only time is lost.
    """

    def __init__(self, count: int | None, setting: str) -> None:
        self.count = count or min(os.cpu_count() or 1, MOST_WORKERS)
        self.setting = setting
        self._pool: ProcessPoolExecutor | None = None

    def compute(
        self, jobs: Sequence[tuple[Key, Callable[[], Value]]]
    ) -> Iterator[tuple[Key, Value]]:
        """Each job's key and result. Raises what a job raises, and :class:`WorkersLostError`."""
        if min(self.count, len(jobs)) <= 1:
            for key, job in jobs:
                yield key, job()
            return
        waiting, losses = deque(jobs), 0
        while waiting:
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self.count, context, initializer=end_with_parent)
            try:
                for future in [self._pool.submit(job) for _, job in waiting]:
                    result, losses = future.result(), 0
                    yield waiting.popleft()[0], result
            except BrokenProcessPool as error:
                losses += 1
                self.close()
                if losses > MOST_LOSSES:
                    raise WorkersLostError(
                        f"worker processes died {losses} times, which may be for want of memory "
                        f"(fewer: {self.setting})"
                    ) from error

    def close(self) -> None:
        """Stop the processes; running jobs are lost."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                with suppress(OSError):
                    process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
