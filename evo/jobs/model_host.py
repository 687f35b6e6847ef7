"""Where models live: one judge, one base player, and the jobs done with them.

A :class:`Laboratory` is a plain object; ``evo.jobs.executor`` puts one into each Ray actor. A job's
result depends on the job and the settings alone, never on what the laboratory did before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from evo.config.schema import FinetuneConfig, JudgeConfig, PlayerConfig
from evo.jobs.evaluate import Score, Task, evaluate, evaluate_together
from evo.jobs.finetune import Finetune, FinetuneSettings, finetune
from evo.jobs.lora import AdapterBench, LoraSettings, sharing_weights
from evo.jobs.repeated_play import RoundScore, repeat
from xgl.analysis.static_facts import analyse
from xgl.errors import OversizeError
from xgl.judge.engine import EngineSettings, Statistics
from xgl.judge.story_sources import CorpusStories, JudgeStories
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus, resolve
from xgl.players.local import BATCH_ROWS, LocalPolicy
from xgl.runtime.lockstep import Cast
from xgl.runtime.requests import Move, Player, Seeds, StoryRequest, StorySource, Turn


@dataclass(frozen=True)
class LaboratorySettings:
    """What a laboratory loads, and on which device ("cpu", "cuda")."""

    judge: JudgeConfig
    player: PlayerConfig
    finetune: FinetuneConfig | None = None
    """None: nothing is trained."""
    device: str = "cpu"


@dataclass(frozen=True)
class Evaluation:
    """Play ``task`` with each adapter (None: the base player) on each pair of seeds; several
    adapters in one pass."""

    task: Task
    adapters: tuple[bytes | None, ...]
    seeds: tuple[Seeds, ...]


@dataclass(frozen=True)
class Repetition:
    """Play ``task`` for ``rounds`` on each pair of seeds with one adapter, earlier rounds in view,
    and the control."""

    task: Task
    adapter: bytes | None
    seeds: tuple[Seeds, ...]
    rounds: int


@dataclass(frozen=True)
class Training:
    """Fine-tune a new adapter on ``task``."""

    task: Task
    seed: int


Job = Evaluation | Training | Repetition
Told = tuple[int, int, str, int]
"""Map seed, story site, text, judge tokens."""


@dataclass(frozen=True)
class Result:
    """A job's outcome (of an evaluation: scores for each adapter) and the texts of the maps it
    was played on."""

    outcome: list[list[Score]] | list[RoundScore] | Finetune
    told: tuple[Told, ...]
    scoring: Statistics = field(default_factory=Statistics)
    """What the judge was asked and what that took."""


class Laboratory:
    """Loads the models once and does one job after another."""

    def __init__(self, settings: LaboratorySettings) -> None:
        self.settings = settings
        player = load_model(settings.player.model, settings.player.dtype, settings.device)
        judge = sharing_weights(player)
        if _reference(settings.judge) != _reference(settings.player):
            judge = load_model(settings.judge.model, settings.judge.dtype, settings.device)
        self.judge = TransformerJudge(judge, _engine_settings(settings.judge))
        self.stories = Recorder(self._stories(judge), self.judge)
        lora = settings.player
        self.bench = AdapterBench(
            player, LoraSettings(lora.lora_rank, lora.lora_alpha, lora.lora_layers)
        )
        same = same_tokens(player.tokenizer, judge.tokenizer)
        self.count = None if same else self.judge.count
        self.memory = lora.memory_mib << 20
        self.base = BarePlayer(self.bench, self.count, self.memory)

    def do(self, job: Job) -> Result:
        """Do one job; its result hangs on the job alone, not on what was done before."""
        self.begin()
        return Result(
            self._outcome(job), tuple(self.stories.told.values()), self.judge.engine.statistics
        )

    def begin(self) -> None:
        """Forget what was scored and told for the job before."""
        self.stories.clear()
        self.judge.forget()
        self.judge.engine.statistics = Statistics()

    def tells(self, source: StorySource) -> None:
        """Maps come from ``source`` from now on."""
        self.stories = Recorder(source, self.judge)

    def _outcome(self, job: Job) -> list[list[Score]] | list[RoundScore] | Finetune:
        match job:
            case Training():
                return self._train(job)
            case Repetition():
                return self._repeat(job)
            case Evaluation():
                return self._evaluate(job)

    def _repeat(self, job: Repetition) -> list[RoundScore]:
        with self.bench.wearing(job.adapter) as lm:
            return self.repeat(self._policy(lm), job.task, job.seeds, job.rounds)

    def repeat(
        self, player: Player, task: Task, seeds: Sequence[Seeds], rounds: int
    ) -> list[RoundScore]:
        """Repeated play by any player, the others' roles played by the base player."""
        cast = self._cast(task)
        return repeat(player, cast, task, seeds, rounds, most_bits=self.judge.uniform_bits)

    def _evaluate(self, job: Evaluation) -> list[list[Score]]:
        on = self._cast(job.task), job.task, job.seeds
        if len(job.adapters) == 1:
            with self.bench.wearing(job.adapters[0]) as lm:
                return [evaluate(self._policy(lm), *on, self.judge.uniform_bits)]
        names = tuple(map(str, range(len(job.adapters))))
        with self.bench.together(dict(zip(names, job.adapters, strict=True))) as lm:
            player = self._policy(lm, len(names))
            return evaluate_together(player, names, *on, self.judge.uniform_bits)

    def _policy(self, lm: LanguageModel, several: int = 1) -> LocalPolicy:
        rows = BATCH_ROWS * several
        return LocalPolicy(lm, batch_rows=rows, count=self.count, memory_bytes=self.memory)

    def _train(self, job: Training) -> Finetune:
        assert self.settings.finetune is not None
        told = {k: v for k, v in vars(self.settings.finetune).items() if k != "replicates"}
        settings = FinetuneSettings(**told)
        on = self._cast(job.task), job.task
        return finetune(self.bench, *on, settings, job.seed, self.count, self.memory)

    def _cast(self, task: Task) -> Cast:
        """Everyone but the role is played by the base player (paper §4.1)."""
        players = analyse(task.game.program).players
        others: dict[str, Player] = {name: self.base for name in players if name != task.role}
        return Cast(self.judge, self.stories, others)

    def _stories(self, judge: LanguageModel) -> StorySource:
        if self.settings.judge.stories == "judge":
            return JudgeStories(judge, self.judge.truncate)
        texts = [story.text for story in corpus.stories("held_out")]
        return CorpusStories(texts, self.judge.truncate)


class BarePlayer:
    """The base player, also while an adapter is worn."""

    def __init__(
        self, bench: AdapterBench, count: Callable[[str], int] | None, memory_bytes: int
    ) -> None:
        self.bench = bench
        self.policy = LocalPolicy(bench.base, count=count, memory_bytes=memory_bytes)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        with self.bench.bare():
            return self.policy.moves(turns)


class Recorder:
    """A story source that remembers what it told during one job."""

    def __init__(self, source: StorySource, judge: TransformerJudge) -> None:
        self.source, self.judge = source, judge
        self.told: dict[tuple[int, StoryRequest], Told] = {}

    def clear(self) -> None:
        self.told = {}
        if isinstance(self.source, JudgeStories):
            self.source.forget()

    def tell(self, asked: list[tuple[int, StoryRequest]]) -> list[str]:
        texts = self.source.tell(asked)
        for (map_seed, request), text in zip(asked, texts, strict=True):
            if (map_seed, request) not in self.told:
                told = (map_seed, request.site, text, self.judge.count(text))
                self.told[map_seed, request] = told
        return texts


def single_threaded() -> None:
    """One thread a worker: floating-point sums must not depend on the machine's cores."""
    torch.set_num_threads(1)


def same_tokens(one: Any, other: Any) -> bool:
    """Whether two tokenizers make the same tokens of every text."""
    return one is other or one.backend_tokenizer.to_str() == other.backend_tokenizer.to_str()


def _engine_settings(judge: JudgeConfig) -> EngineSettings:
    return EngineSettings(
        batch_tokens=judge.batch_tokens,
        memory_bytes=judge.memory_mib << 20,
        score_cache_bytes=judge.remembered_mib << 20,
        prefix_cache_bytes=judge.roots_mib << 20,
    )


def _reference(section: JudgeConfig | PlayerConfig) -> tuple[str, str]:
    return section.model, section.dtype


def load_model(reference: str, dtype: str, device: str) -> LanguageModel:
    """A model to read with; its weights ask for no gradient. Raises ModelNotFound."""
    model, tokenizer = resolve.load(reference, dtype=dtype, device=device)
    model.requires_grad_(False)
    return LanguageModel(model, tokenizer, torch.device(device))
