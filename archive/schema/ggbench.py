"""Tables of games that are programs (gg-bench): texts, filters, agents, pairs, plays."""

from __future__ import annotations

from archive.schema.column import (
    BOOL,
    FLOAT64,
    INT32,
    INT64,
    INTS,
    RUN,
    SECONDS,
    STRING,
    Column,
    Table,
    values_of,
)
from archive.schema.enums import PairPurpose

OUTCOMES = ("win", "loss", "draw", "fault", "long", "broken")
"""Outcomes of a play for its player: a fault is the player's; long and broken are the game's."""

_GAME = Column("program_id", STRING, "SHA-256", "the game: of its three texts")
_NO_REQUEST = "no model was asked"
_DOLLARS = Column("dollars", FLOAT64, "dollars", "that they cost", "no price was configured")

GG_GAMES = Table(
    "gg_games",
    "One two-player game that is a program: its texts, and who wrote them.",
    (
        RUN,
        _GAME,
        Column("place", INT32, "count", "among the games of the run, from 0"),
        Column("name", STRING, "name", "how a command names it"),
        Column("title", STRING, "text", "first line of the rule book"),
        Column("category", STRING, "name", "number, board, card, chance, combat", "nobody said"),
        Column("author", STRING, "name", "packaged, folder, or the chat model that wrote it"),
        Column("rules", STRING, "text", "the rule book"),
        Column("source", STRING, "text", "the environment"),
        Column("moves", STRING, "text", "what each move's number means"),
        Column("failed", STRING, "text", "why a request for a text gave none", "all are there"),
        Column("tokens", INT64, "tokens", "of the requests that wrote it", _NO_REQUEST),
        _DOLLARS,
    ),
)

GG_FILTERS = Table(
    "gg_filters",
    "One filter's verdict on one game, in their order; the first that refuses is the last.",
    (
        RUN,
        _GAME,
        Column("stage", STRING, "name", "the filter"),
        Column("passed", BOOL, "bool", "whether the game goes on to the next"),
        Column("reason", STRING, "text", "why it was refused, or what was seen"),
        Column("actions", INT32, "count", "size of the action space", "not the stage execution"),
        Column("tokens", INT64, "tokens", "of the model that played", _NO_REQUEST),
        _DOLLARS,
        SECONDS,
    ),
)

GG_AGENTS = Table(
    "gg_agents",
    "One checkpoint of self-play.",
    (
        RUN,
        _GAME,
        Column("quarter", INT32, "count", "1 to 4: after how many quarters of the training"),
        Column("steps", INT64, "steps", "of the learner, in all games, until then"),
        Column("weights_sha256", STRING, "SHA-256", "names adapters/HASH.safetensors"),
        Column("seed", INT64, "seed", "of the training"),
        SECONDS,
    ),
)

GG_PAIRS = Table(
    "gg_pairs",
    "Games between two agents of one game, seats in turn: the search for an opponent that is "
    "strong and can be beaten.",
    (
        RUN,
        _GAME,
        Column("winner", STRING, "name", "the agent that is to win: quarter1 … quarter4, optimal"),
        Column("simulations", INT32, "count", "of the winner's search for one move"),
        Column("loser", STRING, "name", "the agent that is to lose, or random moves"),
        Column("purpose", STRING, "enum", "what the games serve", values=values_of(PairPurpose)),
        Column("games", INT32, "games", "played"),
        Column("wins", INT32, "games", "of the winner"),
        Column("draws", INT32, "games", "without a winner, or too long"),
        Column("passed", BOOL, "bool", "whether the wins are enough for the purpose"),
        SECONDS,
    ),
)

GG_PLAYS = Table(
    "gg_plays",
    "One play of one game by one player against the game's opponent.",
    (
        RUN,
        _GAME,
        Column("player", STRING, "name", "who played"),
        Column("opponent", STRING, "name", "the agent played against, with its simulations"),
        Column("number", INT32, "count", "of the play, from 0"),
        Column("seat", INT32, "count", "0: the player moved first"),
        Column("seed", INT64, "seed", "of the game's and the opponent's chance"),
        Column("outcome", STRING, "enum", "for the player", values=OUTCOMES),
        Column("moves", INTS, "moves", "of both, in order"),
        Column("asked", INT32, "requests", "to the player's model", _NO_REQUEST),
        Column("tokens", INT64, "tokens", "of them, prompts and answers", _NO_REQUEST),
        _DOLLARS,
        Column("reason", STRING, "text", "of a fault, or of what broke", "the play came to an end"),
        SECONDS,
    ),
)

GGBENCH = (GG_GAMES, GG_FILTERS, GG_AGENTS, GG_PAIRS, GG_PLAYS)
