"""Settings of the meta-samplers: what a child may be, how it is written, and by whom."""

from __future__ import annotations

from dataclasses import replace
from math import log2
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, Strict

from xgl.chat.settings import ChatSettings, Endpoint
from xgl.language import syntax as syn
from xgl.models.references import check_device
from xgl.settings import (
    Count,
    Dtype,
    Flag,
    Natural,
    NonNegative,
    Positive,
    PositiveShare,
    Role,
    Text,
    settings,
    shared_values,
)

Player = Literal[*syn.PLAYERS]  # type: ignore[valid-type]  # a checker takes no computed names
Players = tuple[Player, ...]
Lines = Annotated[int, Strict(), Field(ge=1, le=syn.MAX_LINES)]


@settings
class Caps:
    """What a child may contain, and limits that keep it cheap to play."""

    max_lines: Lines = 6
    """Most instructions of a child (a proposed game)."""
    max_terms: Count = 4
    """Most terms of one reward or comparison."""
    max_joined: Count = 5
    """Most strings that are joined in one expression."""
    players: Players = (syn.MAIN_PLAYER,)
    """Players that a child may name; those of its parent are always allowed."""
    truths: Flag = False
    """Whether statements such as "no common words" are allowed; small players forfeit on them."""
    loops: Flag = False
    """Whether beacons and replays are allowed."""
    max_move_tokens: Count = 8
    """Most judge tokens that one player may write in a play."""
    max_stories: Count = 3
    """Most calls of story() in a child."""
    max_steps: Annotated[int, Strict(), Field(ge=1, le=syn.MAX_STEPS)] = 8
    """Most steps of the unrolled program."""


@settings
class MutateSettings(Caps):
    """Settings of ``mutate``: edits of typed syntax trees, crossover, the paper's axiom moves."""

    attempts: Count = 40
    """Most draws for one proposal."""
    widening: NonNegative = 0.25
    """Share by which the caps on lines, stories, steps and tokens of moves grow each time the scope
    doubles, so that children may be as large as the games they are made of; 0: no growth."""
    decay: PositiveShare = 0.99
    """Factor by which each outcome reduces the weight of earlier ones."""

    def widen(self, games: int) -> Self:
        """These settings with the caps for a scope of ``games`` games."""
        factor = 1 + self.widening * log2(max(1, games))
        return replace(
            self,
            max_lines=min(int(self.max_lines * factor), syn.MAX_LINES),
            max_steps=min(int(self.max_steps * factor), syn.MAX_STEPS),
            max_stories=int(self.max_stories * factor),
            max_move_tokens=int(self.max_move_tokens * factor),
        )


@settings
class LocalSettings(Caps):
    """Settings of ``local``: a causal language model writes in the grammar; every complete draft
    is valid."""

    model: str = "embedded"
    """Model reference: embedded, smollm2, a folder, or a hub id."""
    device: Annotated[str, AfterValidator(check_device)] = "auto"
    """cpu, cuda:N, or auto: a GPU where there is one."""
    dtype: Dtype = "auto"
    """float32, bfloat16, or auto: bfloat16 on a GPU, float32 elsewhere."""
    examples: Natural = 4
    """Most games shown with the parent, as far as the model's window holds them."""
    temperature: NonNegative = 1.0
    """Divides the logits; 0: the likeliest token is taken."""
    top_p: PositiveShare = 1.0
    """Share of the probability to sample from, among the tokens that the grammar allows."""
    max_tokens: Count = 160
    """Most tokens of a draft; of a longer one, the complete lines are taken."""
    ends_at_reward: Flag = True
    """Whether a program ends as soon as the main player is paid; small models do not find an
    end."""
    batch: Count = 16
    """Drafts that are written at a time."""
    attempts: Count = 16
    """Most drafts for one proposal."""
    # at least a story, a move and its reward
    max_lines: Annotated[int, Strict(), Field(ge=3, le=syn.MAX_LINES)] = 6
    max_move_tokens: Annotated[int, Strict(), Field(ge=1, le=999)] = 8


@settings
class Paid(Endpoint):
    """An endpoint whose answers are games; its budget is that of the whole run."""

    timeout: Annotated[Positive, Role.RESUMABLE] = 180.0
    answer_tokens: Count = 4096
    cache: Annotated[Text | None, Role.RESUMABLE] = "auto"
    """Folder that keeps paid answers; auto: chat in $XGL_CACHE or ~/.cache/xgl; null: none are
    kept."""


@settings
class ChatSamplerSettings(Caps, Paid, ChatSettings):
    """Settings of ``chat``: a model behind an OpenAI-compatible endpoint invents games."""

    model: str = "gpt-4o-mini"
    """The model's name at the endpoint."""
    games: Count = 6
    """Most games that one request asks for."""
    library_games: Natural = 8
    """Most games of the library that are shown as examples."""
    related_games: Natural = 4
    """Most accepted games that are shown with the parent."""
    refused_games: Natural = 4
    """Most refused games that are shown, with their reasons."""
    max_lines: Lines = 8
    max_move_tokens: Count = 12
    max_steps: Annotated[int, Strict(), Field(ge=1, le=syn.MAX_STEPS)] = 16
    players: Players = ("black", "white", "alice", "bob")
    loops: Flag = True


@settings
class PortfolioSettings(Caps, Paid):
    """Settings of ``portfolio``: ``mutate``, ``local`` and, with a model behind an endpoint,
    ``chat`` take turns by what their candidates came to."""

    local: str = "embedded"
    """Model reference of ``local``."""
    model: str | None = None
    """Model of ``chat`` at the endpoint; null: there is no ``chat``, and nothing to pay."""

    def __post_init__(self) -> None:
        self.members()  # whose errors are then told with this group's name

    def members(self) -> dict[str, Caps]:
        """The settings of each sampler, by name, all with the same caps."""
        caps = shared_values(self, Caps)
        device = "cpu" if self.local == "embedded" else "auto"  # whatever the driver's machine has
        members: dict[str, Caps] = {
            "mutate": MutateSettings(**caps),
            "local": LocalSettings(model=self.local, device=device, **caps),
        }
        if self.model is not None:
            paid = shared_values(self, Paid)
            members["chat"] = ChatSamplerSettings(model=self.model, **caps, **paid)
        return members


SETTINGS: dict[str, type[Caps]] = {
    "mutate": MutateSettings,
    "local": LocalSettings,
    "chat": ChatSamplerSettings,
    "portfolio": PortfolioSettings,
}
