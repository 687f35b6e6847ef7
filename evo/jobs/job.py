"""Jobs, their outcomes, and executors: what a run sends to its workers and gets back.

This module loads no model library; only a worker, where a :class:`~evo.jobs.model_host.ModelHost`
does the jobs, needs one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from archive.report.contents import BestPlay
from evo.config.models import FinetuneConfig, JudgeConfig, PlayerConfig
from evo.jobs.evaluation import ScoredPlay, Task
from evo.jobs.repeated_play import RoundScore
from xgl.judge.statistics import Statistics
from xgl.runtime.requests import Seeds

if TYPE_CHECKING:
    from evo.jobs.model_host import ModelHost

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class ModelHostSettings:
    """The models that a host loads, and the device ("cpu", "cuda")."""

    judge: JudgeConfig
    player: PlayerConfig
    finetune: FinetuneConfig | None = None
    """None: nothing is trained."""
    device: str = "cpu"


class Job(ABC, Generic[Outcome]):
    """One piece of work for a model host; ``Outcome`` is the type of its result."""

    trains: ClassVar[bool] = False
    """Whether it belongs to the workers that fine-tune, if these are a separate pool."""
    name: ClassVar[str]
    """Name of the job in messages."""
    task: Task

    @abstractmethod
    def outcome(self, host: ModelHost) -> Outcome:
        """Do the job."""

    def without_adapters(self) -> tuple[Self, tuple[bytes | None, ...]]:
        """The job without its adapters, and the adapters: they are sent to a worker separately."""
        return self, ()

    def with_adapters(self, adapters: tuple[bytes | None, ...]) -> Self:
        """The job with its adapters again."""
        return self


@dataclass(frozen=True)
class Finetune:
    """A trained adapter and the record of its training; curves have one entry a step.

    ``curve`` is the mean score (bits), ``entropy`` the policy's mean entropy (bits a token),
    ``distinct_moves`` and ``forfeit_rate`` shares of the last step's plays, None without a step.
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

    @property
    def tokens(self) -> int:
        """Processed tokens 𝒯: prompts and moves of the trained player, over all rollouts."""
        return self.prompt_tokens + self.generated_tokens


@dataclass(frozen=True)
class Evaluation(Job[list[list[ScoredPlay]]]):
    """Play ``task`` with each adapter (None: the base player) on each pair of seeds, several
    adapters in one pass; the outcome is the scores (adapters, seeds)."""

    name: ClassVar[str] = "an evaluation"
    task: Task
    adapters: tuple[bytes | None, ...]
    seeds: tuple[Seeds, ...]

    def outcome(self, host: ModelHost) -> list[list[ScoredPlay]]:
        return host.evaluate(self)

    def without_adapters(self) -> tuple[Self, tuple[bytes | None, ...]]:
        return replace(self, adapters=()), self.adapters

    def with_adapters(self, adapters: tuple[bytes | None, ...]) -> Self:
        return replace(self, adapters=adapters)


@dataclass(frozen=True)
class ScriptedEvaluation(Job[list[list[ScoredPlay]]]):
    """Play ``task`` by each of ``scripts`` (names) on each pair of seeds, all in one pass; the
    outcome is the scores (scripts, seeds)."""

    name: ClassVar[str] = "the scripts' plays"
    task: Task
    scripts: tuple[str, ...]
    seeds: tuple[Seeds, ...]

    def outcome(self, host: ModelHost) -> list[list[ScoredPlay]]:
        return host.evaluate_scripts(self)


@dataclass(frozen=True)
class Repetition(Job[list[RoundScore]]):
    """Play ``task`` for ``rounds`` on each pair of seeds with one adapter (None: the base player),
    earlier rounds in view, and the control."""

    name: ClassVar[str] = "the repeated play"
    task: Task
    adapter: bytes | None
    seeds: tuple[Seeds, ...]
    rounds: int

    def outcome(self, host: ModelHost) -> list[RoundScore]:
        with host.policy(self.adapter) as player:
            return host.repeat(player, self.task, self.seeds, self.rounds)


@dataclass(frozen=True)
class Training(Job[Finetune]):
    """Fine-tune a new adapter on ``task``."""

    name: ClassVar[str] = "the fine-tune"
    trains: ClassVar[bool] = True
    task: Task
    seed: int
    true_rewards: bool = False
    """Whether its rewards stay as they are even under ``finetune.shuffle``."""

    def outcome(self, host: ModelHost) -> Finetune:
        return host.finetune(self)


@dataclass(frozen=True)
class CurriculumTraining(Job[Finetune]):
    """Fine-tune a new adapter on ``task`` and ``others`` in turn, under settings of its own."""

    name: ClassVar[str] = "the curriculum"
    trains: ClassVar[bool] = True
    task: Task
    others: tuple[Task, ...]
    seed: int
    settings: FinetuneConfig

    def outcome(self, host: ModelHost) -> Finetune:
        return host.finetune_together(self)


@dataclass(frozen=True)
class SecondScore:
    """One play under another judge, bits; None if an ensure refused the moves."""

    score: float | None
    permuted_score: float | None
    seconds: float


@dataclass(frozen=True)
class Rescoring(Job[list[SecondScore]]):
    """Score moves that were made on ``seeds`` again, by the settings' second judge: each map's own,
    and the next map's."""

    name: ClassVar[str] = "another judge's scores"
    task: Task
    seeds: tuple[Seeds, ...]
    moves: tuple[tuple[str, ...], ...]

    def outcome(self, host: ModelHost) -> list[SecondScore]:
        return host.score_again(self)


@dataclass(frozen=True)
class TokenScoring(Job[tuple[BestPlay, ...]]):
    """Score archived plays of ``task`` again, token by token; the outcome is the plays with their
    terms, or without terms if they cannot be repeated."""

    name: ClassVar[str] = "the bits of the best plays"
    task: Task
    plays: tuple[BestPlay, ...]

    def outcome(self, host: ModelHost) -> tuple[BestPlay, ...]:
        return host.score_tokens(self)


@dataclass(frozen=True)
class MapText:
    """One text of a map: its story site, and its length in judge tokens."""

    map_seed: int
    site: int
    text: str
    tokens: int


@dataclass(frozen=True)
class Result(Generic[Outcome]):
    """Outcome of a job, and the texts of the maps it was played on."""

    outcome: Outcome
    map_texts: tuple[MapText, ...]
    scoring: Statistics = field(default_factory=Statistics)
    """Counters of the judge's work."""


class Executor(Protocol):
    """Does jobs: many in order, or one by one while workers are free."""

    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        """Results in the order of the jobs, each as early as possible; raises
        :class:`WorkersLostError`."""

    def has_room(self, trains: bool) -> bool:
        """Whether a worker is free for a job that trains, or for one that does not."""

    def begin(self, job: Job[Any]) -> int:
        """Give a job to a free worker; returns its number."""

    def next_event(self) -> tuple[int, Result[Any]] | None:
        """Wait for one worker: the number of a job that it has done, and its result; None if the
        worker has only become ready. Raises :class:`WorkersLostError`."""

    def close(self) -> None:
        """Stop the workers."""


class SerialExecutor(ABC):
    """An executor in this process: a job is done when its result is requested."""

    _job: Job[Any] | None = None
    _number = 0

    @abstractmethod
    def do(self, jobs: Sequence[Job[Outcome]]) -> Iterator[Result[Outcome]]:
        """Results in the order of the jobs."""

    def has_room(self, trains: bool) -> bool:
        """Whether no job is begun."""
        return self._job is None

    def begin(self, job: Job[Any]) -> int:
        """Remember the job."""
        self._job, self._number = job, self._number + 1
        return self._number

    def next_event(self) -> tuple[int, Result[Any]] | None:
        """Do the job."""
        assert self._job is not None
        job, self._job = self._job, None
        [result] = self.do([job])
        return self._number, result


class ClusterError(Exception):
    """Ray did not start."""


class WorkersLostError(Exception):
    """A job's worker died more often than the job is retried, or no worker started."""
