"""An exported measure as a task of Inspect (``inspect_ai``); importing this module does not need
it.

A sample is one game on one map: the model plays it for K rounds with its earlier ones in view, as
in ``+experiment=measure``. Its messages are the conversation, retries included. Only the
experiment has the control and the bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from evo.measure.async_rounds import (
    ChatAnswer,
    MeasureHost,
    at_round,
    explanation,
    failures_per_round,
    game_narms,
    host_of,
    news,
    round_facts,
    sample_facts,
)
from xgl.runtime.presentation import Message
from xgl.runtime.requests import Seeds

try:
    from inspect_ai import task as _register
except ModuleNotFoundError:  # nobody asks for the task

    def _register(function: Any) -> Any:
        return function


ROUNDS_KEY = "rounds"
"""Key of a sample's rounds in its store, from solver to scorer."""


@_register
def xent_measure(folder: str, rounds: int = 16, maps: int = 0, judge: str = "") -> Any:
    """A measure of ``archive export --format inspect`` (or xent): ``rounds`` on each of the first
    ``maps`` maps of a game (0: all); ``judge`` instead of the folder's."""
    from inspect_ai import Task
    from inspect_ai.dataset import Sample

    host = host_of(folder, judge)
    by_game = [
        [
            Sample(
                id=f"{member.name}-{seeds.map_seed}",
                input=member.task.game.code,
                metadata=sample_facts(member, seeds),
            )
            for seeds in host.export.seeds(member, maps or None)
        ]
        for member in host.export.members
    ]
    # A map of each game in turn: `--limit` leaves many games.
    samples = [sample for turn in zip_longest(*by_game) for sample in turn if sample is not None]
    return Task(dataset=samples, solver=_solver(host, rounds), scorer=_scorer(host, rounds))


def _solver(host: MeasureHost, rounds: int) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
    from inspect_ai.solver import solver

    kinds = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }

    def chat_messages(messages: Iterable[Message]) -> list[Any]:
        return [kinds[each["role"]](content=each["content"]) for each in messages]

    async def ask(state: Any, asked: list[Message], messages: list[Message]) -> ChatAnswer:
        """The answer; adds what is new in ``messages`` since ``asked``, and the answer, to the
        sample's conversation."""
        output = await get_model().generate(chat_messages(messages))
        full = output.stop_reason == "model_length"
        if not full:
            state.messages += chat_messages(news(asked, messages))
            state.messages += [choice.message for choice in output.choices[:1]]
            state.output, asked[:] = output, messages
        return ChatAnswer(output.completion, output.stop_reason == "max_tokens", full)

    @solver(name="play_rounds")
    def play_rounds() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            facts = state.metadata
            seeds = Seeds(facts["map_seed"], facts["play_seed"])
            state.messages = []
            plays = await host.rounds(facts["game"], seeds, rounds, partial(ask, state, []))
            state.store.set(ROUNDS_KEY, round_facts(host.members[facts["game"]], plays))
            return state

        return solve

    return play_rounds()


def _scorer(host: MeasureHost, rounds: int) -> Any:
    from inspect_ai.scorer import Score, grouped, mean, scorer, stderr

    metrics = [
        grouped(mean(), "game"),
        grouped(stderr(), "game", name_template="{group_name} stderr", all_label="all stderr"),
        _narms(),
        _failures(),
    ]

    @scorer(metrics=metrics, name="arms")
    def bits() -> Any:
        async def score(state: Any, target: Any) -> Any:
            facts = state.store.get(ROUNDS_KEY)
            member = host.members[state.metadata["game"]]
            last = at_round(member.levels, rounds)
            return Score(
                value=max(facts["scores"][:last]),
                answer="\n".join(map(" / ".join, facts["moves"])),
                explanation=explanation(member, facts, last),
                metadata=facts,
            )

        return score

    return bits()


def _narms() -> Any:
    """narms by game, and their mean over games with its standard error."""
    from inspect_ai.scorer import metric

    @metric(name="narms")
    def mean_narms() -> Any:
        def compute(scores: list[Any]) -> dict[str, float]:
            facts = [(each.sample_metadata, each.score.metadata["scores"]) for each in scores]
            by_game = game_narms([(own["game"], bits, own["levels"]) for own, bits in facts])
            values = {f"narms {game}": value for game, value in by_game.items()}
            if not by_game:
                return values
            several = np.array(list(by_game.values()))
            values["narms"] = float(several.mean())
            if len(several) > 1:
                values["narms stderr"] = float(several.std(ddof=1) / np.sqrt(len(several)))
            return values

        return compute

    return mean_narms()


def _failures() -> Any:
    """Failures of the model per round: forfeits, answers without a move, moves that were cut."""
    from inspect_ai.scorer import metric

    @metric(name="failures")
    def per_round() -> Any:
        def compute(scores: list[Any]) -> dict[str, float]:
            return failures_per_round([each.score.metadata for each in scores])

        return compute

    return per_round()
