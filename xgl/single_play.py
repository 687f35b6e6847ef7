"""One play of one game, for a person or a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xgl.errors import PlayerError, StoryError
from xgl.language import syntax as syn
from xgl.language.canonical import Game, Metadata, game
from xgl.language.visitors import find
from xgl.runtime.lockstep import Cast, Instance, play_all
from xgl.runtime.requests import Judge, Play, Player, Seeds, StoryRequest, StorySource

Lines = str | Sequence[str]
"""One move, or moves to make in order; when they are used up, the last one is repeated."""


def play(
    program: syn.Program | Game,
    players: Player | Lines | Mapping[str, Player | Lines],
    judge: Judge,
    seed: int,
    *,
    stories: StorySource | None = None,
    metadata: Metadata | None = None,
) -> Play:
    """Play ``program`` once; scores in bits, events in order, registers under canonical names.

    ``players``: one for all players of the program, or by name; each a player or its moves.
    ``seed`` is both map and play seed. ``stories`` tells the map's texts; without it a judge that
    is a language model writes them itself. ``metadata`` is for a program that is no game yet.

    Raises :class:`PlayerError` if a player is missing, :class:`StoryError` if nothing can
    tell the stories that the program asks for, :class:`FlowError` if it cannot run.
    """
    whole = program if isinstance(program, Game) else game(program, metadata)
    seeds = Seeds(seed, seed)
    seats = _seats(whole.program, players, seeds)
    [result] = play_all(
        [Instance(whole, seeds)], Cast(judge, _story_source(whole, judge, stories), seats)
    )
    return result


def _seats(
    program: syn.Program, players: Player | Lines | Mapping[str, Player | Lines], seeds: Seeds
) -> dict[str, Player]:
    names = dict.fromkeys(line.player for line in find(program, syn.Elicit))
    if not isinstance(players, Mapping):
        return {name: _as_player(players, seeds) for name in names}
    absent = [name for name in names if name not in players]
    if absent:
        raise PlayerError(f"the program asks {', '.join(absent)} for moves, but has no such player")
    return {name: _as_player(players[name], seeds) for name in names}


def _as_player(player: Player | Lines, seeds: Seeds) -> Player:
    from xgl.players import FixedMovesPlayer

    if isinstance(player, str):
        player = [player]
    if isinstance(player, Sequence) and all(isinstance(move, str) for move in player):
        return FixedMovesPlayer({seeds: player})
    if isinstance(player, Sequence) or not hasattr(player, "moves"):
        kind = type(player).__name__
        raise PlayerError(f"{kind} is no player; expected one, a text, or a list of texts")
    return player


class _NoStories:
    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        raise StoryError("the program asks for a story and there is no source: pass stories=…")


def _story_source(whole: Game, judge: Judge, stories: StorySource | None) -> StorySource:
    model: Any = getattr(judge, "lm", None)
    if stories is not None or model is None or not find(whole.program, syn.Story):
        return stories or _NoStories()
    from xgl.judge.story_sources import JudgeStories

    return JudgeStories(model, judge.truncate)
