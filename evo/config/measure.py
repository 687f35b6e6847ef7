"""Settings of runs that compare players: ``+experiment=measure`` and ``+experiment=gg_bench``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from evo.config.compose import quoted, split_override
from evo.config.models import Mebibytes, Others, Several, find_gpus
from evo.config.schema import AnyRun, BudgetConfig, NamedRun, PaidBudget, RunName
from xgl.chat.settings import Requests
from xgl.files import user_path
from xgl.settings import Count, Dtype, Flag, Natural, NonNegative, Positive, Role, Text, settings

NAME = "measure"

Price = tuple[NonNegative, NonNegative]


@settings
class ChatConfig(Requests):
    """Settings of all chat players."""

    prices: Annotated[dict[str, Price], Role.RESUMABLE] = Field(default_factory=dict)
    """Dollars per million tokens of prompt and of answer, by model: {gpt-4o-mini: [0.15, 0.6]}."""


@settings
class MeasureConfig:
    """The measure, and how it is played."""

    folder: Annotated[str | None, Role.RESUMABLE] = None
    """Folder of an exported measure: python -m archive export RUN FOLDER --format xent; or an
    expanded benchmark configuration of the authors' engine, a .json file. A resumed run finds it
    where it lies now."""
    games: tuple[str, ...] = ()
    """Without a folder: the games, names of the library or files, with :role for another main
    player, as in measure=[single_text,message:bob,my/game.xent]. Their maps follow from the seed,
    and the base player sets their levels."""
    rounds: Count = 16
    """K: rounds on each map. 1: scores of single plays, and normalised ones where the folder has
    levels."""
    maps: Several | None = None
    """Maps of each game, the first ones of the folder; null: all, and 20 of named games."""
    control: Flag = True
    """Whether every round except the first is also played with another map's rounds in view: a gain
    above this control was learned from the map. false: half the plays, and no control."""
    m: Count | None = None
    """Levels between the base's first round and its last (Def. 42); null: the folder's, or 4."""
    base: Text | None = None
    """The base player M that normalises scores, a local reference; null: the levels in the folder
    or, for a game without levels, the judge's model as player."""
    judge: Annotated[Text | None, Role.RESUMABLE] = None
    """Local reference of a judge that replaces the folder's; null: the folder's, and embedded for
    games that are named. A resumed run may name only the judge that it began with."""
    others: Others = Field(default_factory=dict)
    """Models under the judge by name, as in {weak: FOLDER}, which games name (like
    judge.others)."""
    dtype: Dtype = "auto"
    """Number type of local models: float32, bfloat16, or auto, which a new run puts into words:
    bfloat16 on a GPU, else float32. It stays when a run is resumed elsewhere."""
    device: Annotated[Literal["auto", "cpu", "cuda"], Role.RESUMABLE] = "auto"
    """cpu, cuda, or auto: a GPU where there is one."""
    memory_mib: Annotated[Mebibytes | None, Role.RESUMABLE] = None
    """MiB that one batch of moves of a local model may take, and as much one pass of the judge, and
    views that a later round continues. null: an eighth of a GPU's memory, 1024 without one."""
    ceiling_calls: Annotated[Natural, Role.RESUMABLE] = 0
    """Judge calls of each of two solvers that search each map for the best possible score; a call
    is one play of one candidate. 0: no search, and the best known scores are those of the folder
    and of what was played."""
    chat: ChatConfig = ChatConfig()


Names = Annotated[tuple[str, ...], AfterValidator(lambda n: (*dict.fromkeys(n),)), Role.RESUMABLE]


@settings
class MeasureRunConfig(AnyRun):
    """Everything that a measuring run depends on."""

    facts = ("digest", "judge_model")
    experiment: Literal["measure"]
    """Name of the experiment."""
    name: Annotated[RunName | None, Role.FOLDER] = None
    """Run folder below archive.root; null: measure-FOLDER, after the exported folder or the first
    game."""
    players: Annotated[Names, Field(min_length=1)] = ("embedded",)
    """Models that are measured; player=NAME for a single one."""
    measure: MeasureConfig = MeasureConfig()
    budget: Annotated[PaidBudget, Role.RESUMABLE] = PaidBudget()

    def __post_init__(self) -> None:
        if self.measure.folder and self.measure.games:
            raise ValueError("measure.games: found games and a folder, expected one of them")
        if not (self.measure.folder or self.measure.games):
            raise ValueError(
                "measure.folder: found none, expected games, as in measure=[single_text,rival], or "
                "a folder written by python -m archive export RUN FOLDER --format xent"
            )

    @staticmethod
    def found_here(words: Sequence[str]) -> Sequence[str]:
        own = dict(map(split_override, words))
        device = own.get("measure.device", "auto").strip("'\"")
        on_gpu = device == "cuda" or (device == "auto" and find_gpus()[0] > 0)
        return (f"measure.dtype={'bfloat16' if on_gpu else 'float32'}",)

    @property
    def export_folder(self) -> Path:
        assert self.measure.folder is not None
        return user_path(self.measure.folder)

    @property
    def run_name(self) -> str:
        if self.measure.folder:
            folder = os.path.realpath(self.export_folder)
            return self.name or f"{NAME}-{Path(folder).name.removesuffix('.json')}"
        first, *others = self.measure.games
        more = f"-and-{len(others)}" if others else ""
        stem = Path(first).stem.replace(":", "-")
        return self.name or f"{NAME}-{stem}{more}"

    @property
    def source(self) -> str:
        """Where the games come from, in words."""
        return self.measure.folder or ", ".join(self.measure.games)

    @property
    def folder(self) -> Path:
        return user_path(self.archive.root) / self.run_name

    @staticmethod
    def words(words: Sequence[str]) -> Sequence[str]:
        """``measure=FOLDER``, ``measure=[GAME,…]`` and ``player=NAME`` are short for
        ``measure.folder=``, ``measure.games=`` and ``players=[NAME]``."""
        return AnyRun.words([_long(w) for w in words if not _AUTO.fullmatch(w)])


_AUTO = re.compile(r"\+*measure\.dtype=[\"']?auto[\"']?")


def _long(argument: str) -> str:
    key, _, value = argument.partition("=")
    match key:
        case "measure" if value.startswith("["):
            return f"measure.games={value}"
        case "measure" | "measure.folder":
            return f"measure.folder={_as_text(value)}"
        case "player":
            return f"players=[{_as_text(value)}]"
    return argument


def _as_text(word: str) -> str:
    """A word in quotes: without them a name with a role would be a mapping."""
    return word if word.startswith(("'", '"')) else quoted(word)


# -- gg_bench: games that are programs -------------------------------------------------------------

ROLLOUT = 2048
"""Steps of the learner between two updates (Table 4 of the paper)."""
QUARTERS = 4


@settings
class TrainConfig:
    """Self-play: PPO as in Table 4, by default over legal moves only."""

    steps: Annotated[Count, Field(ge=QUARTERS * ROLLOUT)] = 24576
    """Steps of the learner on each game, in four quarters of whole rollouts of 2,048 steps. The
    paper's 1,000,000 would be rounded up."""
    masked: Flag = True
    """Choose only among legal moves (MaskablePPO); false, as in the paper: the learner learns
    legality from a reward of −10."""


@settings
class OpponentConfig:
    """The opponent: a checkpoint that searches, beats random moves, and is beaten by a stronger
    agent."""

    simulations: Count = 100
    """Simulations in a search for one move (section 2.2)."""
    ladder: tuple[Count, ...] = (400, 1600)
    """Simulations of stronger agents, tried in this order after equal searches."""
    confirmation: Several = 30
    """Fresh games of the chosen pair, and games of each checkpoint against random moves."""


@settings
class GGBenchConfig:
    """Games that are programs, their opponents and players."""

    games: tuple[str, ...] = ()
    """Names of included games, or folders; empty: all included games or, with an author, only the
    author's."""
    author: Text | None = None
    """Chat model that writes games: chat:MODEL or chat:MODEL@URL; null: none. A text may have 8,192
    tokens, or chat.answer_tokens if that is more."""
    count: Count = 10
    """Games that the author writes."""
    filter_model: Text | None = None
    """Chat model whose own ten games of each game are the timeout filter of section 2.3: chat:MODEL
    or chat:MODEL@URL; null: only random moves and searches."""
    cluster_model: Annotated[Text | None, Role.RESUMABLE] = None
    """Chat model that sorts the games into kinds at the end (App. D): chat:MODEL or chat:MODEL@URL;
    null: none."""
    clusters: Annotated[Count | None, Role.RESUMABLE] = None
    """Number of kinds; null: any, where a kind costs half a game left out."""
    players: Names = ("random", "greedy", "mcts", "embedded")
    """random; greedy, the last checkpoint; mcts or mcts@N, a search with random roll-outs; a local
    model; chat:MODEL or chat:MODEL@URL. None: the games are only filtered, without self-play."""
    plays: Count = 30
    """Plays of each player on each game, with seats in turn."""
    workers: Annotated[Count | None, Role.RESUMABLE] = None
    """Processes that train; null: one for each core, at most 8."""
    seconds: Annotated[Positive, Role.RESUMABLE] = 3600.0
    """Seconds that a game's process may take for its answers in one job; in its filters at most
    120."""
    train: TrainConfig = TrainConfig()
    opponent: OpponentConfig = OpponentConfig()
    chat: ChatConfig = ChatConfig()


@settings
class GGBenchRunConfig(NamedRun):
    """Everything that a run of gg-bench depends on."""

    experiment: Literal["gg_bench"]
    """Name of the experiment."""
    ggbench: GGBenchConfig = GGBenchConfig()
    budget: Annotated[BudgetConfig, Role.RESUMABLE] = BudgetConfig()
