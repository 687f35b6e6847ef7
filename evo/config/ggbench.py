"""Settings of ``+experiment=gg_bench``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, Strict

from evo.config.measure import ChatConfig
from evo.config.schema import BudgetConfig, NamedRun
from xgl.settings import Count, Flag, Positive, Role, settings

NAME = "gg_bench"
ROLLOUT = 2048
"""Steps of the learner between two updates (Table 4 of the paper)."""
QUARTERS = 4


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
    """Simulations of stronger agents, tried in this order after equal searches."""
    selection: Annotated[int, Strict(), Field(ge=2)] = 6
    """Games of each pair, with seats in turn."""
    confirmation: Annotated[int, Strict(), Field(ge=2)] = 30
    """Fresh games of the chosen pair, and games of each checkpoint against random moves."""


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
    players: Annotated[tuple[str, ...], Role.RESUMABLE] = ("random", "greedy", "mcts", "embedded")
    """random; greedy, the last checkpoint; mcts or mcts@N, a search with random roll-outs; a local
    model; chat:MODEL or chat:MODEL@URL."""
    plays: Annotated[int, Strict(), Field(ge=1)] = 30
    """Plays of each player on each game, with seats in turn."""
    attempts: Count = 5
    """Most requests to a chat model for one move; then the play ends by its fault."""
    workers: Annotated[Count | None, Role.RESUMABLE] = None
    """Processes that train; null: one for each core, at most 8."""
    seconds: Annotated[Positive, Role.RESUMABLE] = 3600.0
    """Time limit of one game's filters, or of one of its jobs, in seconds."""
    train: TrainConfig = TrainConfig()
    opponent: OpponentConfig = OpponentConfig()
    chat: Annotated[ChatConfig, Role.RESUMABLE] = ChatConfig()


@settings
class GGBenchRunConfig(NamedRun):
    """Everything that a run of gg-bench depends on."""

    experiment: Literal["gg_bench"]
    """Name of the experiment."""
    ggbench: GGBenchConfig = GGBenchConfig()
    budget: BudgetConfig = BudgetConfig()

    @staticmethod
    def words(words: Sequence[str]) -> Sequence[str]:
        """Prices' keys are models, which no default can name."""
        mappings = ("ggbench.chat.prices", "ggbench.chat.extra_body")
        return [f"++{w}" if w.startswith(mappings) else w for w in words]
