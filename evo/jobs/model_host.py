"""The models of a worker: one judge, one base player, and the jobs done with them.

A :class:`ModelHost` is a plain object; ``evo.jobs.executor`` puts one into each Ray actor. A job's
result depends only on the job and the settings, not on earlier jobs.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import torch

from evo.config.models import ModelHostSettings
from evo.jobs.evaluation import (
    RoundScore,
    ScoredPlay,
    SharedMoves,
    Task,
    evaluate_together,
    round_score,
    seated,
    seconds_of_work,
)
from evo.jobs.finetune import Watch, finetune_together
from evo.jobs.job import Finetune, MapText, Outcome, Result, Training
from evo.jobs.lora import AdaptedModel, NotByRowError
from xgl.analysis.static_facts import analyse
from xgl.judge.loading import JudgeStories, load_judge, load_model, load_stories
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language.canonical import BASE, MAIN
from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import out_of_memory
from xgl.lm.sampling import Decoding
from xgl.models.references import JUDGE
from xgl.models.resolve import unsupported_reason
from xgl.players.local import LocalPolicy, rows_at_once
from xgl.runtime.lockstep import Cast, play_rounds
from xgl.runtime.requests import Player, Seeds, StoryRequest, StorySource

log = logging.getLogger("evo")


class ModelHost:
    """Loads the models once and does one job after another."""

    def __init__(self, settings: ModelHostSettings) -> None:
        self.settings = settings
        own = settings.player.model, settings.player.dtype, settings.device_of(settings.player)
        judge, at = settings.judge, settings.device_of(settings.judge)
        player, is_player = load_model(*own), own == (judge.model, judge.dtype, at)
        self.judge = load_judge(
            *(judge.model, at, judge.dtype, judge.tokenizer, judge.key_variable, judge.others),
            memory_bytes=judge.memory_mib << 20,
            lm=replace(player, captured={}) if is_player else None,
        )
        stories = load_stories(judge.stories, self.judge, at, judge.dtype)
        self.stories = Recorder(stories, self.judge)
        self.adapted_model = AdaptedModel(player, settings.player)
        self.count = self.count_for(player)
        self.memory = settings.player.memory_mib << 20
        self._at_once = player.device.type != "cpu"  # there larger batches are no faster
        self.base = self._policy_of(player)
        # models that are loaded already share their weights
        loaded = {judge.model: self.judge.lm, settings.player.model: player, "base": player}
        lm = loaded.get(settings.player.npc) or load_model(settings.player.npc, *own[1:])
        self.npc = self.base if lm is player else self._policy_of(lm)
        self._npcs: dict[str, Player] = {BASE: self.base, "": self.npc}

    def do(self, job: Callable[[ModelHost], Outcome]) -> Result[Outcome]:
        """Do one job; its result depends only on the job, not on earlier ones."""
        self.begin()
        return Result(job(self), tuple(self.stories.texts.values()))

    def begin(self, source: StorySource | None = None) -> None:
        """Forget the scores and stories of the job before; from now on take the texts of maps from
        ``source``, if there is one."""
        self.stories = Recorder(source or self.stories.source, self.judge)
        if isinstance(self.stories.source, JudgeStories):
            self.stories.source.forget()
        for name in ("judge", "second_judge", "bfloat16_judge"):
            if name in self.__dict__:
                getattr(self, name).forget()

    def repeat(
        self,
        player: Player,
        task: Task,
        seeds: Sequence[Seeds],
        rounds: int,
        control: bool = True,
        on_round: Callable[[int], None] = lambda number: None,
    ) -> list[RoundScore]:
        """Repeated play by any player, with the NPCs' model in all other roles, and with its
        control if requested; ``on_round`` is told the number of each round that ends."""
        start, seats = seconds_of_work(), seated(self.cast(task), task, player)
        plays = play_rounds(task.game, task.role, seats, seeds, rounds, control, on_round=on_round)
        seconds = (seconds_of_work() - start) / max(1, len(plays))
        return [round_score(each, task, self.judge.uniform_bits, seconds) for each in plays]

    def evaluate(
        self, task: Task, adapters: Sequence[bytes | None], seeds: Sequence[Sequence[Seeds]]
    ) -> list[list[ScoredPlay]]:
        """Scores of an evaluation, a list for each adapter on its seeds, by shared passes where a
        model's layers read rows one by one."""
        different = list(dict.fromkeys(adapters))
        parts = [(f"{different.index(a)}", own) for a, own in zip(adapters, seeds, strict=True)]
        at, several = self.adapted_model, len(different) > 1
        loaded = at.with_adapters(different) if several else at.with_adapter(different[0])
        with loaded as lm, suppress(NotByRowError):
            return self.play(self.sampler(lm), parts, task)
        return [
            self.evaluate(task, [each], [own])[0] for each, own in zip(adapters, seeds, strict=True)
        ]

    def play(
        self,
        player: Player,
        parts: Sequence[tuple[str, Sequence[Seeds]]],
        task: Task,
        at_once: bool = False,
    ) -> list[list[ScoredPlay]]:
        """:func:`evaluate_together` with this host's judge and other players."""
        on = self.cast(task), task, self.judge.uniform_bits, at_once or self._at_once
        return evaluate_together(player, parts, *on)

    @cached_property
    def second_judge(self) -> TransformerJudge:
        """The second judge, which the settings must name. Moves and stories stay cut where the
        first one cut them, so that both judge the same plays."""
        judge = self.settings.judge
        assert judge.second is not None
        lm = load_model(judge.second, judge.dtype, self.settings.device_of(judge))
        second = TransformerJudge(lm, judge.memory_mib << 20, others=self.judge.others)
        for name in ("count", "truncate", "first_tokens"):
            setattr(second, name, getattr(self.judge, name))
        return second

    @cached_property
    def bfloat16_judge(self) -> TransformerJudge:
        """The judge for rewards: on a CPU, one in float32 is read in bfloat16, which every
        processor computes the same way, those without its instructions slowly."""
        judge = self.judge
        if (judge.lm.device.type, getattr(judge.lm.model, "dtype", None)) != ("cpu", torch.float32):
            return judge
        model = copy.deepcopy(judge.lm.model).to(torch.bfloat16)
        try:
            reason = unsupported_reason(model)
        except RuntimeError as error:  # a layer that is not of one dtype
            if out_of_memory(error):
                raise
            reason = str(error)
        if reason:
            log.warning("rewards are read in float32: in bfloat16 the judge fails (%s)", reason)
            return judge
        lm = replace(judge.lm, model=model, captured={})
        return TransformerJudge(lm, self.settings.judge.memory_mib << 20, others=judge.others)

    def finetune(
        self, trainings: Sequence[Training], watch: Watch = lambda lm, share: None
    ) -> list[Finetune]:
        """An adapter for each of ``trainings``, all in lockstep."""
        own = list[Training]()
        for each in trainings:
            settings = each.settings or self.settings.finetune
            assert settings is not None
            shuffle = settings.shuffle and not each.true_rewards
            own.append(replace(each, settings=replace(settings, shuffle=shuffle)))
        is_fast = any(each.settings.bfloat16_rewards for each in own if each.settings)
        judge = self.bfloat16_judge if is_fast else self.judge

        def cast(task: Task) -> Cast:
            return replace(self.cast(task, one_seed=True), judge=judge)

        exploring = partial(self.sampler, temperature=1.0)
        return finetune_together(self.adapted_model, own, cast, exploring, self.memory, watch)

    def _policy_of(self, lm: LanguageModel) -> LocalPolicy:
        return LocalPolicy(lm, count=self.count_for(lm), memory_bytes=self.memory)

    def count_for(self, lm: LanguageModel) -> Callable[[str], int] | None:
        """Counts judge tokens of a model's moves; None: both make the same tokens of every text."""
        pair = lm.tokenizer, self.judge.lm.tokenizer
        if pair[0] is pair[1]:
            return None
        # one in Python tells nothing of itself
        texts = [t.backend_tokenizer.to_str() for t in pair if hasattr(t, "backend_tokenizer")]
        return None if len(texts) == 2 and texts[0] == texts[1] else self.judge.count

    def sampler(self, lm: LanguageModel, temperature: float | None = None) -> LocalPolicy:
        """The player as a model has it, which may be of several policies; it samples at
        ``player.temperature``, or at ``temperature``."""
        return LocalPolicy(
            lm,
            Decoding(temperature or self.settings.player.temperature),
            batch_rows=rows_at_once(lm) * len(lm.names),
            count=self.count,
            memory_bytes=self.memory,
            keep_caches=True,
        )

    def cast(self, task: Task, one_seed: bool = False) -> Cast:
        """Judge, stories and, for everyone but the role, the NPCs' model (paper §4.1), as
        :class:`~evo.jobs.evaluation.SharedMoves`."""
        players, name = analyse(task.game.program).players, task.game.metadata.npc
        if name not in self._npcs:  # one that the game's metadata name
            judge = self.judge if name in (JUDGE, MAIN) else self.judge.named(name)
            self._npcs[name] = self._policy_of(judge.lm)
        shared = SharedMoves(self._npcs[name], one_seed)
        others: dict[str, Player] = {each: shared for each in players if each != task.role}
        return Cast(self.judge, self.stories, others)


@dataclass(eq=False)
class Recorder:
    """A story source that remembers the stories of one job."""

    source: StorySource
    judge: TransformerJudge
    texts: dict[tuple[int, StoryRequest], MapText] = field(default_factory=dict)
    """Each story once, in the order of the first requests."""

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """The source's stories; the source is asked for each one once."""
        new = [key for key in dict.fromkeys(requests) if key not in self.texts]
        for (map_seed, request), text in zip(new, self.source.story_texts(new), strict=True):
            tokens = self.judge.count(text)
            fact = MapText(map_seed, request.site, text, tokens, request.prompt, request.count)
            self.texts[map_seed, request] = fact
        return [self.texts[key].text for key in requests]
