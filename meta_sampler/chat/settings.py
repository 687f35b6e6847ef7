"""What the sampler ``chat`` asks, of whom, for how much, and what a child may be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from meta_sampler.base import SamplerError
from xgl.chat.accounting import Budget, Prices
from xgl.chat.settings import OPENAI, ChatSettings
from xgl.errors import PlayerError
from xgl.language import syntax as syn

_FROM_NOUGHT = ("relatives", "refused", "library", "ask_again", "retries")


@dataclass(frozen=True, slots=True)
class ChatSamplerSettings:
    """Raises :class:`SamplerError` in one sentence for a value that cannot be."""

    model: str = "gpt-4o-mini"
    """Name of the model, as the endpoint calls it."""
    base_url: str = OPENAI
    """http(s), up to and with /v1."""
    key_variable: str | None = None
    """Environment variable that holds the key; null: OPENAI_API_KEY at OpenAI, none elsewhere."""
    concurrency: int = 8
    """Requests under way at once, at most."""
    timeout: float = 180.0
    """Seconds from sending a request to having its whole answer."""
    retries: int = 6
    """How often one request is sent again after faults that may pass."""
    first_backoff: float = 1.0
    """Seconds before the first retry; doubled each time."""
    max_backoff: float = 60.0
    """Seconds, at most; a server that asks for a longer wait ends the round."""
    temperature: float = 1.0
    top_p: float | None = None
    answer_tokens: int = 4096
    """Most tokens of an answer, thoughts included."""
    limit_parameter: str | None = None
    """How the endpoint calls that limit; null: as usual."""
    send_seed: bool = True
    """False for an endpoint that refuses the parameter ``seed``."""
    ask_again: int = 1
    """How often a program that is not sound goes back with all that is wrong with it."""
    price_prompt: float = 0.0
    """Dollars per million tokens read."""
    price_new: float = 0.0
    """Dollars per million tokens written."""
    budget_tokens: int | None = None
    """Tokens of the whole run, read and written; null: no such budget."""
    budget_dollars: float | None = None
    """Dollars of the whole run; null: no such budget."""
    cache: str | None = "auto"
    """Folder of answers; auto: ``chat`` in the folder of downloaded models; null: none is kept."""
    games: int = 6
    """Games asked for in one request, at most."""
    turns: bool = False
    """Whether the examples stand as earlier answers of the model, a game a request: for small
    models, which copy what they see and do not do what they are told."""
    library: int = 8
    """Games of the library shown as examples, at most."""
    relatives: int = 4
    """Accepted games shown beside the parent, at most."""
    refused: int = 4
    """Refused games shown with their reasons, at most."""
    max_lines: int = 12
    """Most instructions of a child."""
    max_move_tokens: int = 24
    """Most judge tokens that the main player may write in a play."""
    max_stories: int = 3
    """Most ``story()`` of a child."""
    max_steps: int = 32
    """Most steps of the unrolled program."""
    max_terms: int = 6
    """Most terms of one reward."""
    max_joined: int = 5
    """Most strings joined in one expression."""
    players: tuple[str, ...] = ("black", "white", "alice", "bob", "carol", "david")
    """Players that a child may name; those of the parent may always stay."""
    truths: bool = False
    """Whether statements such as "no common words" may stand; small players forfeit on them."""
    loops: bool = True
    """Whether beacons and replays may stand."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value, kind = getattr(self, item.name), str(item.type)
            if kind == "int" and (
                type(value) is not int or value < (item.name not in _FROM_NOUGHT)
            ):
                least = int(item.name not in _FROM_NOUGHT)
                raise SamplerError(
                    f"{item.name} is {value!r}, expected a whole number from {least}"
                )
            if kind == "bool" and type(value) is not bool:
                raise SamplerError(f"{item.name} is {value!r}, expected true or false")
            if kind.startswith("float") and not _number(value, optional="None" in kind):
                raise SamplerError(f"{item.name} is {value!r}, expected a number")
            if kind.startswith("str") and not isinstance(value, str | None):
                raise SamplerError(f"{item.name} is {value!r}, expected a text")
        if isinstance(self.players, str) or set(self.players) - set(syn.PLAYERS):
            raise SamplerError(
                f"players is {self.players!r}, expected a list of {', '.join(syn.PLAYERS)}"
            )
        object.__setattr__(self, "players", tuple(self.players))
        self.endpoint()

    def endpoint(self) -> ChatSettings:
        """What the client needs. Raises :class:`SamplerError`."""
        try:
            return ChatSettings(
                model=str(self.model),
                base_url=str(self.base_url),
                key_variable=self.key_variable,
                concurrency=self.concurrency,
                timeout=self.timeout,
                retries=self.retries,
                first_backoff=self.first_backoff,
                max_backoff=self.max_backoff,
                temperature=self.temperature,
                top_p=self.top_p,
                answer_tokens=self.answer_tokens,
                limit_parameter=self.limit_parameter,
                send_seed=self.send_seed,
                ask_again=self.ask_again,
                prices=Prices(self.price_prompt, self.price_new),
                budget=Budget(self.budget_tokens, self.budget_dollars),
            )
        except PlayerError as error:
            raise SamplerError(str(error)) from None

    @property
    def per_request(self) -> int:
        """Games asked for at once."""
        return 1 if self.turns else self.games

    def folder(self) -> Path | None:
        """Where answers are kept."""
        if self.cache == "auto":
            from xgl.models.smollm2 import cache_root

            return cache_root() / "chat"
        return None if self.cache is None else Path(self.cache).expanduser()


def _number(value: object, *, optional: bool) -> bool:
    if value is None:
        return optional
    return isinstance(value, int | float) and not isinstance(value, bool)
