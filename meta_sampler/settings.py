"""Settings of the meta-samplers: what a child may be, how it is written, and by whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from math import isqrt, log2
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, PlainValidator, Strict

from xgl.chat.accounting import Budget, Prices
from xgl.chat.settings import OPENAI, Answers, BaseUrl, ChatSettings, ModelName, Requests
from xgl.language import syntax as syn
from xgl.settings import (
    Count,
    Dtype,
    Flag,
    Natural,
    NonNegative,
    PositiveShare,
    settings,
    shared_values,
    value_text,
)


def _check_player(name: str) -> str:
    if name not in syn.PLAYERS:
        raise ValueError(f"unknown player {name!r}, expected some of {', '.join(syn.PLAYERS)}")
    return name


def _check_weight(weight: object) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight >= 0:
        raise ValueError(f"found {value_text(weight)}, expected a number, at least 0")
    return weight


Weight = Annotated[float, PlainValidator(_check_weight)]
"""A whole number stays one: settings are hashed as they are written."""
Players = tuple[Annotated[str, AfterValidator(_check_player)], ...]
Lines = Annotated[int, Strict(), Field(ge=1, le=syn.MAX_LINES)]
GrammarLines = Annotated[int, Strict(), Field(ge=3, le=syn.MAX_LINES)]
"""At least a story, a move and its reward."""
MoveLimit = Annotated[int, Strict(), Field(ge=1, le=999)]


@settings
class Contents:
    """What may stand in a program."""

    max_lines: Lines = 6
    """Most instructions of a child."""
    max_terms: Count = 4
    """Most terms of one reward."""
    max_joined: Count = 5
    """Most strings joined in one expression."""
    players: Players = (syn.MAIN_PLAYER,)
    """Players that a child may name; those of the parent may always stay."""
    truths: Flag = False
    """Whether statements such as "no common words" may stand; small players forfeit on them."""
    loops: Flag = False
    """Whether beacons and replays may stand."""


@settings
class Caps(Contents):
    """What keeps a child cheap to play."""

    max_move_tokens: Count = 8
    """Most judge tokens that the main player may write in a play."""
    max_stories: Count = 3
    """Most story() of a child."""
    max_steps: Annotated[int, Strict(), Field(ge=1, le=syn.MAX_STEPS)] = 8
    """Most steps of the unrolled program."""


@settings
class MutateSettings(Caps):
    """Settings of ``mutate``: edits of typed syntax trees, crossover, the paper's axiom moves."""

    attempts: Count = 40
    """Draws for one proposal before it is given up."""
    widening: NonNegative = 0.25
    """Share by which the caps on lines, stories, steps and tokens of moves grow each time that the
    scope doubles, so that children may be as large as what they are made of; 0: they stay."""
    memory: PositiveShare = 0.99
    """Factor by which each outcome fades the earlier ones."""
    weights: Mapping[str, Weight] = Field(default_factory=dict)
    """Weights of operators (meta_sampler/mutate/sampler.py) before anything was observed, where
    they differ from 1."""

    def __post_init__(self) -> None:
        if syn.MAIN_PLAYER not in self.players:
            players = list(self.players)
            raise ValueError(f"players: found {players}, expected a list with {syn.MAIN_PLAYER}")

    def widen(self, games: int) -> Self:
        """These settings with the caps for a scope of ``games`` games."""
        factor = 1 + self.widening * log2(max(1, games))
        wider: dict[str, Any] = {}
        for name in ("max_lines", "max_steps", "max_stories", "max_move_tokens"):
            wider[name] = int(getattr(self, name) * factor)
        wider["max_lines"] = min(wider["max_lines"], syn.MAX_LINES)
        wider["max_steps"] = min(wider["max_steps"], syn.MAX_STEPS)
        return replace(self, **wider)


@settings
class GrammarContents(Contents):
    """What a grammar admits in addition."""

    literals: Flag = False
    """Whether quoted texts may stand outside statements."""
    ends_at_reward: Flag = True
    """Whether a program ends as soon as the main player is paid; small models find no end."""
    helpers: Flag = False
    """Whether lists and helper functions may stand."""


@settings
class GrammarSettings(GrammarContents):
    """How much of XGL a grammar admits: by default all players and all kinds of lines, with bounds
    that keep lines short and plays finite."""

    max_lines: GrammarLines = 12
    max_limit: MoveLimit = 16
    """Largest limit of an elicit, in judge tokens."""
    max_targets: Count = 4
    """Most values that one assign stores, registers that one elicit fills, or values shown."""
    max_characters: int = 40
    """Longest literal."""
    depth: Annotated[int, Strict(), Field(ge=1, le=2)] = 1
    """Most levels of helper calls inside each other."""
    stories: Flag = True
    """Whether a text begins by drawing a story, as almost every game of the papers does."""
    players: Players = syn.PLAYERS
    literals: Flag = True
    ends_at_reward: Flag = False
    truths: Flag = True
    loops: Flag = True
    helpers: Flag = True

    @property
    def max_jumps(self) -> int:
        """Most jumps of one replay: two loops inside each other stay within ``MAX_STEPS``."""
        return isqrt(syn.MAX_STEPS // self.max_lines) - 1


@settings
class DraftSettings(Caps, GrammarContents):
    """Settings of samplers whose language model writes in the grammar: decoding and caps."""

    temperature: NonNegative = 1.0
    """Divides the logits; 0 takes the likeliest token."""
    top_p: PositiveShare = 1.0
    """Share of the probability, among the tokens that the grammar allows, to choose from."""
    max_tokens: Count = 160
    """Most tokens of a draft; of one that goes on by then, the complete lines are taken."""
    batch: Count = 16
    """Drafts that are written at once."""
    attempts: Count = 16
    """Drafts for one proposal before it is given up."""
    max_lines: GrammarLines = 6
    max_move_tokens: MoveLimit = 8

    def grammar(self, players: tuple[str, ...]) -> GrammarSettings:
        """How much of the language a child may use, with these players."""
        contents = shared_values(self, GrammarContents) | {"players": players}
        return GrammarSettings(max_limit=self.max_move_tokens, **contents)


@settings
class LocalSettings(DraftSettings):
    """Settings of ``local``: a causal language model writes in the grammar; every complete draft
    is valid."""

    model: str = "embedded"
    """Model reference: embedded, smollm2, a folder, or a hub id."""
    device: str = "auto"
    """A torch device, or auto: a GPU where there is one."""
    dtype: Dtype = "auto"
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    examples: Natural = 4
    """Games shown beside the parent, as many as the model's window holds."""


@settings
class LearnedSettings(DraftSettings):
    """Settings of ``learned``: a small model of XGL, conditioned on the parent, that learns from
    the run's verdicts."""

    max_tokens: Count = 128
    ends_at_reward: Flag = False
    """Whether a program ends as soon as the main player is paid; this model finds its own end."""
    steps: Natural = 8
    """Gradient steps on the verdicts, starting from the shipped weights; 0: none."""
    learning_rate: Annotated[float, Strict(), Field(gt=0, le=0.1)] = 0.0005
    """Learning rate of AdamW in these steps."""
    spread: Annotated[float, Strict(), Field(gt=1)] = 2.0
    """Beyond this factor to either side, a token's probability earns nothing more by changing."""
    kl: NonNegative = 0.2
    """Weight of the divergence from the shipped model, in nats a token."""
    memory: Count = 256
    """Verdicts that are learned from, the latest ones."""


@settings
class Access(Requests):
    """How a model behind an endpoint is reached and what it may cost; what it writes does not
    depend on it."""

    base_url: BaseUrl = OPENAI
    """Up to and with /v1."""
    timeout: Annotated[float, Strict(), Field(gt=0)] = 180.0
    budget_tokens: Natural | None = None
    """Tokens of the whole run, read and written; null: no such budget."""
    budget_dollars: NonNegative | None = None
    """Dollars of the whole run, which needs prices; null: no such budget."""
    cache: str | None = "auto"
    """Folder of answers that were paid for; auto: chat in $XGL_CACHE or ~/.cache/xgl; null: none
    is kept."""


ACCESS = tuple(each.name for each in fields(Access))
"""Settings of a remote sampler that a resumed run may change."""


@settings
class ChatSamplerSettings(Caps, Answers, Access):
    """Settings of ``chat``: a model behind an OpenAI-compatible endpoint invents games."""

    model: ModelName = "gpt-4o-mini"
    """As the endpoint calls it."""
    answer_tokens: Count = 4096
    ask_again: Natural = 1
    """How often a program that is not sound goes back with all that is wrong with it."""
    price_prompt: NonNegative = 0.0
    """Dollars per million tokens read."""
    price_new: NonNegative = 0.0
    """Dollars per million tokens written."""
    games: Count = 6
    """Games asked for in one request, at most."""
    turns: Flag = False
    """Whether the examples stand as earlier answers of the model, a game a request: for small
    models, which copy what they see and do not follow instructions."""
    library: Natural = 8
    """Games of the library shown as examples, at most."""
    relatives: Natural = 4
    """Accepted games shown beside the parent, at most."""
    refused: Natural = 4
    """Refused games shown with their reasons, at most."""
    max_lines: Lines = 8
    max_move_tokens: Count = 12
    max_steps: Annotated[int, Strict(), Field(ge=1, le=syn.MAX_STEPS)] = 16
    players: Players = ("black", "white", "alice", "bob")
    loops: Flag = True

    def __post_init__(self) -> None:
        if self.budget_dollars is not None and not (self.price_prompt or self.price_new):
            raise ValueError(
                f"budget_dollars: found {self.budget_dollars} and no prices, expected both"
            )

    def endpoint(self) -> ChatSettings:
        """What the client needs."""
        return ChatSettings(
            self.model,
            self.base_url,
            ask_again=self.ask_again,
            prices=Prices(self.price_prompt, self.price_new),
            budget=Budget(tokens=self.budget_tokens, dollars=self.budget_dollars),
            **shared_values(self, Requests),
            **shared_values(self, Answers),
        )

    @property
    def per_request(self) -> int:
        """Games asked for at once."""
        return 1 if self.turns else self.games


SETTINGS: dict[str, type[Caps]] = {
    "mutate": MutateSettings,
    "local": LocalSettings,
    "chat": ChatSamplerSettings,
    "learned": LearnedSettings,
}
"""The settings class of each sampler, by its name."""


def settings_of(sampler: str, values: Mapping[str, Any]) -> Caps:
    """The settings of a sampler, from plain values. Raises :class:`~xgl.errors.ConfigError`."""
    return SETTINGS[sampler](**values)
