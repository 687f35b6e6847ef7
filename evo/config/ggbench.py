"""Settings of ``+experiment=gg_bench``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from evo.config.compose import check_resumable, compose_as, from_archive, with_overrides
from evo.config.measure import ChatConfig
from evo.config.schema import BudgetConfig, NamedRun
from xgl.settings import Count, Flag, Positive, settings

NAME = "gg_bench"
ROLLOUT = 2048
"""Steps of the learner between two updates (Table 4 of the paper)."""
QUARTERS = 4

RESUMABLE = ("ggbench.players", "ggbench.workers", "ggbench.chat.", "budget.", "estimate")
"""Settings that a resumed run may change."""


@settings
class TrainConfig:
    """Self-play: PPO as in Table 4, by default over legal moves only."""

    steps: Annotated[int, Strict(), Field(ge=QUARTERS * ROLLOUT)] = 24576
    """Steps of the learner on each game, in four quarters of whole rollouts of 2,048 steps. The
    paper's 1,000,000 would be rounded up."""
    masked: Flag = True
    """Choose only among legal moves (MaskablePPO); false, as in the paper: the learner learns
    legality from a reward of −10."""
    games: Count = 16
    """Games played at once."""


@settings
class OpponentConfig:
    """The opponent: a checkpoint that searches, beats random moves, and is beaten by a stronger
    agent."""

    simulations: Count = 100
    """Simulations in a search for one move (section 2.2)."""
    ladder: tuple[Count, ...] = (400, 1600)
    """Simulations of stronger agents, tried in this order after equal searches and perfect play."""
    selection: Annotated[int, Strict(), Field(ge=2)] = 6
    """Games of each pair, with seats in turn."""
    confirmation: Annotated[int, Strict(), Field(ge=2)] = 30
    """Fresh games of the chosen pair, and games of each checkpoint against random moves."""
    most_positions: Count = 60000
    """Most positions of a game that is solved exactly."""


@settings
class GGBenchConfig:
    """Games that are programs, their opponents and players."""

    games: tuple[str, ...] = ()
    """Names of included games, or folders; empty: all included games or, with an author, only the
    author's."""
    author: str | None = None
    """Chat model that writes games: chat:MODEL or chat:MODEL@URL; null: none."""
    count: Count = 10
    """Games that the author writes."""
    author_tokens: Count = 8192
    """Most tokens of each text that the author writes, reasoning included."""
    filter_model: str | None = None
    """Chat model whose own games are the timeout filter of section 2.3: chat:MODEL or
    chat:MODEL@URL; null: only random moves and searches."""
    filter_plays: Count = 10
    """Games of this model on each game that passed the filters before."""
    players: tuple[str, ...] = ("random", "greedy", "mcts", "optimal", "embedded")
    """random; greedy, the last checkpoint; mcts or mcts@N, a search with random roll-outs; optimal,
    where a game is solved; a local model; chat:MODEL or chat:MODEL@URL."""
    plays: Annotated[int, Strict(), Field(ge=1)] = 30
    """Plays of each player on each game, with seats in turn."""
    attempts: Count = 5
    """Most requests to a chat model for one move; then the play ends by its fault."""
    workers: Count | None = None
    """Processes that train; null: one for each core, at most 8."""
    seconds: Positive = 3600.0
    """Time limit of one game's filters, or of one of its jobs, in seconds."""
    train: TrainConfig = TrainConfig()
    opponent: OpponentConfig = OpponentConfig()
    chat: ChatConfig = ChatConfig()


@settings
class GGBenchRunConfig(NamedRun):
    """Everything that a run of gg-bench depends on."""

    experiment: Literal["gg_bench"]
    """Name of the experiment."""
    estimate: Flag = False
    """Only print the estimated requests, tokens and dollars, and stop."""
    ggbench: GGBenchConfig = GGBenchConfig()
    budget: BudgetConfig = BudgetConfig()

    def science_hash(self) -> str:
        """Hash of what results depend on: not of players, prices, workers and budgets."""
        facts = {"seed": self.seed, **asdict(self.ggbench)}
        free = ["chat", "players", "workers", "seconds"]
        if self.ggbench.filter_model is None:
            free += ["filter_model", "filter_plays"]
        if self.ggbench.author is None:
            free += ["author", "count", "author_tokens"]
        for name in free:
            del facts[name]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def load(arguments: Sequence[str]) -> GGBenchRunConfig:
    """The settings of a run, from its command line; raises :class:`ConfigError`."""
    return compose_as(GGBenchRunConfig, [NAME], [_long(each) for each in arguments])


def resume(archived_settings: dict[str, Any], overrides: Sequence[str]) -> GGBenchRunConfig:
    """The archived settings, changed where they may change; raises :class:`ConfigError`."""
    check_resumable(overrides, RESUMABLE, "players, workers, chat, budget.* and estimate")
    if not overrides:
        return from_archive(GGBenchRunConfig, archived_settings)
    fresh = asdict(load([f"+experiment={NAME}", *overrides]))
    return from_archive(GGBenchRunConfig, with_overrides(archived_settings, fresh, overrides))


def _long(argument: str) -> str:
    """Prices' keys are models, which no default can name."""
    return f"++{argument}" if argument.startswith("ggbench.chat.prices") else argument
