"""An exported measure as a task of Inspect (``inspect_ai``).

A sample is one game on one map: the model plays it for K rounds with its earlier ones in view, as
in ``+experiment=measure``. Its messages are the conversation, retries included. Only the
experiment has the control and the bootstrap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import inspect_ai
import numpy as np
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, grouped, mean, metric, scorer, stderr
from inspect_ai.solver import solver

from archive.statistics.rounds import arms, narms
from evo.measure.folder import levels_hold, read
from xgl.analysis.static_facts import analyse
from xgl.errors import ConfigError, OversizeError
from xgl.files import user_path
from xgl.players.chat import Ask, asked_move
from xgl.runtime.episode import Episode, EpisodeQueue
from xgl.runtime.lockstep import visible_items
from xgl.runtime.presentation import Message
from xgl.runtime.requests import Play, Rounds, Seeds

ROUNDS_KEY = "rounds"
"""Key of a sample's rounds in its store, from solver to scorer."""
RoundFacts = dict[str, Any]
"""Details of a sample: for each round its score, outcome and moves."""


# -- rounds of a model that answers later ----------------------------------------------------------


class MeasureHost:
    """A measure with its judge, or another, whose model plays all roles except the measured one."""

    def __init__(self, folder: str, judge: str = "") -> None:
        """Raises :class:`~xgl.errors.ConfigError` and ModelNotFoundError."""
        from xgl.judge.loading import load_judge
        from xgl.players.local import LocalPolicy

        self.export = read(user_path(folder), judge or None)
        self.judge = load_judge(self.export.judge)
        self.others = LocalPolicy(self.judge.lm)
        base = judge or self.export.judge_name
        self.members = {
            each.name: each if levels_hold(each, base) else replace(each, levels=None)
            for each in self.export.members
        }
        self.queue = EpisodeQueue()

    async def rounds(
        self, name: str, seeds: Seeds, count: int, ask: Ask, keep: Callable[[RoundFacts], object]
    ) -> None:
        """``count`` rounds of a game on one map; ``keep`` is given the facts of what
        was played, before the first round and after each: a limit of Inspect may end a sample."""
        task = self.members[name].task
        role, floor = task.role, task.floor
        if not np.isfinite(floor):  # the folder has no levels; the same on every map
            floor = -float(analyse(task.game.program, task.game.metadata, role).move_tokens)
        facts: RoundFacts = {"scores": [floor] * count, "outcomes": ["unplayed"] * count}
        facts["moves"] = [[]] * count
        keep(facts)
        earlier: Rounds = ()
        for at in range(count):
            play = await self._play(name, seeds, earlier, ask)
            earlier = (*earlier, visible_items(task.game, play, role))
            facts["scores"][at] = play.score_for(role, floor)
            facts["outcomes"][at] = play.outcome_for(role)
            facts["moves"][at] = play.accepted_moves(role)
            keep(facts)

    async def _play(self, name: str, seeds: Seeds, earlier: Rounds, ask: Ask) -> Play:
        task, stories = self.members[name].task, self.members[name].stories
        assert stories is not None, "a folder holds the texts of its maps"
        others = [each for each in analyse(task.game.program).players if each != task.role]
        episode = Episode(
            task.game,
            seeds.map_seed,
            self.judge,
            stories,
            play_seed=seeds.play_seed,
            players=dict.fromkeys(others, self.others),
            memory={task.role: earlier},
        )
        await self.queue.start(episode)
        while episode.turn is not None:
            await self.queue.step(episode, await asked_move(episode.turn, ask))
        return episode.play


def news(asked: Sequence[Message], messages: Sequence[Message]) -> Sequence[Message]:
    """What a conversation has not shown of the messages of a request. A retry goes on where the
    request before, ``asked``, was answered; any other repeats the rules."""
    if asked and len(messages) > len(asked) and messages[: len(asked)] == asked:
        return messages[len(asked) + 1 :]  # without the answer
    return [each for each in messages if not (asked and each["role"] == "system")]


@inspect_ai.task
def xent_measure(folder: str, rounds: int = 16, maps: int = 0, judge: str = "") -> Any:
    """A measure of ``archive export --format inspect`` (or xent): ``rounds`` on each of the first
    ``maps`` maps of a game (0: all); ``judge`` instead of the folder's."""
    if rounds < 1 or maps < 0:
        found = f"found rounds={rounds}, maps={maps}"
        raise ConfigError(f"{found}, expected 1 or more rounds, 0 or more maps")
    host = MeasureHost(folder, judge)
    samples = [
        Sample(
            id=f"{member.name}-{seeds.map_seed}",
            input=member.task.game.code,
            metadata={"game": member.name, "role": member.task.role, **asdict(seeds)},
        )
        for member in host.export.members
        for seeds in member.seeds(maps or None)
    ]
    # A map of each game in turn: `--limit` leaves many games.
    samples.sort(key=lambda sample: sample.metadata["play_seed"])
    return inspect_ai.Task(
        dataset=samples, solver=_solver(host, rounds), scorer=_scorer(host, rounds)
    )


def _solver(host: MeasureHost, rounds: int) -> Any:
    kind = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}

    def chat_messages(messages: Sequence[Message]) -> list[Any]:
        return [kind[each["role"]](content=each["content"]) for each in messages]

    async def ask(
        state: Any, asked: list[Message], messages: list[Message], _: int
    ) -> tuple[str, bool] | OversizeError:
        """The answer; adds what is new in ``messages`` since ``asked``, and the answer, to the
        sample's conversation."""
        output = await get_model().generate(chat_messages(messages))
        if output.stop_reason == "model_length":
            return OversizeError("the view is longer than the model's window")
        state.messages += chat_messages(news(asked, messages))
        state.messages += [choice.message for choice in output.choices[:1]]
        state.output, asked[:] = output, messages
        return output.completion, output.stop_reason == "max_tokens"

    @solver(name="play_rounds")
    def play_rounds() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            facts = state.metadata
            seeds = Seeds(facts["map_seed"], facts["play_seed"])
            state.messages = []
            keep = partial(state.store.set, ROUNDS_KEY)
            await host.rounds(facts["game"], seeds, rounds, partial(ask, state, []), keep)
            return state

        return solve

    return play_rounds()


def _scorer(host: MeasureHost, rounds: int) -> Any:
    metrics = [
        grouped(mean(), "game"),
        grouped(stderr(), "game", name_template="{group_name} stderr", all_label="all stderr"),
        _narms(host),
    ]

    @scorer(metrics=metrics, name="arms")
    def bits() -> Any:
        async def score(state: Any, target: Any) -> Any:
            facts = state.store.get(ROUNDS_KEY)
            levels = host.members[state.metadata["game"]].levels
            last = min(levels.k_m, rounds) if levels else rounds  # ℓ
            return Score(
                value=max(facts["scores"][:last]),
                answer="\n".join(map(" / ".join, facts["moves"])),
                metadata=facts,
            )

        return score

    return bits()


def _narms(host: MeasureHost) -> Any:
    """narms by game (Def. 42), and their mean over games with its standard error. The maps of a
    game are its samples; a game without levels has no such score."""

    @metric(name="narms")
    def mean_narms() -> Any:
        def compute(scores: list[Any]) -> dict[str, float]:
            bits: defaultdict[str, list[list[float]]] = defaultdict(list)
            for each in scores:
                bits[each.sample_metadata["game"]].append(each.score.metadata["scores"])
            values = {
                f"narms {game}": narms(arms(np.array(rows)), own, min(own.k_m, len(rows[0])))
                for game, rows in bits.items()
                if (own := host.members[game].levels)
            }
            several = np.array(list(values.values()))
            if len(several):
                values["narms"] = float(several.mean())
            if len(several) > 1:
                values["narms stderr"] = float(several.std(ddof=1) / np.sqrt(len(several)))
            return values

        return compute

    return mean_narms()
