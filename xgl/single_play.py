"""One play of one game, for a person or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from xgl.analysis.static_facts import analyse
from xgl.errors import ConfigError, OversizeError, PlayerError, StoryError, excerpt
from xgl.language import syntax as syn
from xgl.language.canonical import Game, Metadata, game
from xgl.library import read_game
from xgl.models.references import CORPUS
from xgl.runtime.lockstep import Cast, Instance, check_names, play_all
from xgl.runtime.machine import asked_stories
from xgl.runtime.presentation import render
from xgl.runtime.requests import Judge, Move, Play, Player, Seeds, StoryRequest, StorySource, Turn

Lines = str | Sequence[str]
"""One move, or moves to make in order; when they are used up, the last one is repeated."""
Write = Callable[[str], str]
"""A function from what a player is shown, as text, to its move."""
Seat = Player | Lines | Write


def play(
    program: syn.Program | Game | str,
    players: Seat | Mapping[str, Seat],
    judge: Judge | str | Path | None = None,
    seed: int = 0,
    *,
    stories: StorySource | None = None,
    metadata: Metadata | None = None,
) -> Play:
    """Play ``program`` once; scores in bits, events in order, registers under canonical names.

    ``program``: also the name of a file or of a game of the library. ``players``: one for all
    players of the program, or by name; each a player, its moves, or a function from what it is
    shown to its move. ``judge``: also the reference of a model, by default ``embedded``; with
    a reference, stories come from the package. ``seed`` is both map and play seed. ``stories``
    tells the map's texts; without it a loaded judge writes them itself. ``metadata`` is for a
    program that is no game yet: ValueError beside a :class:`Game`, which has its own.

    >>> play("single_text", lambda view: "an old king").outcome  # doctest: +SKIP
    'finished'

    Raises :class:`PlayerError` if a player is missing, :class:`StoryError` if nothing can
    tell the stories that the program asks for, :class:`FlowError` if it cannot run.
    """
    if isinstance(program, str | Path):
        program = read_game(program, metadata=metadata)
    elif metadata and isinstance(program, Game):
        raise ValueError("metadata: found some beside a Game, which has its own; pass its program")
    whole = program if isinstance(program, Game) else game(program, metadata)
    if judge is None or isinstance(judge, str | Path):
        judge, corpus = _loaded("embedded" if judge is None else judge)
        has_prompts = any(request.prompt for request in asked_stories(whole))
        stories = stories or (None if has_prompts else corpus)
    seeds = Seeds(seed, seed)
    seats = _seats(whole.program, players, seeds)
    cast = Cast(judge, _story_source(whole, judge, stories), seats)
    return play_all([Instance(whole, seeds)], cast)[0]


@cache
def _loaded(reference: str | Path) -> tuple[Judge, StorySource]:
    from xgl.judge.loading import load_judge, load_stories  # torch

    judge = load_judge(reference)
    return judge, load_stories(CORPUS, judge)


def _seats(
    program: syn.Program, players: Seat | Mapping[str, Seat], seeds: Seeds
) -> dict[str, Player]:
    names = analyse(program).players
    seats = players if isinstance(players, Mapping) else dict.fromkeys(names, players)
    check_names(seats)
    absent = [name for name in names if name not in seats]
    if absent:
        raise PlayerError(f"the program asks {', '.join(absent)} for moves, but has no such player")
    return {name: _as_player(seats[name], seeds) for name in names}


class FunctionPlayer(NamedTuple):
    """Makes the moves of a function from what it is shown, as :func:`render` writes it."""

    write: Write

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """Raises :class:`PlayerError` for a move that is no text."""
        texts = [self.write(render(turn.request.view)) for turn in turns]
        for text in texts:
            if not isinstance(text, str):
                raise PlayerError(f"a function gave {excerpt(repr(text))}, expected a text")
        return [Move(text) for text in texts]


def _as_player(player: Seat, seeds: Seeds) -> Player:
    from xgl.players import FixedMovesPlayer

    if isinstance(player, str):
        player = [player]
    if isinstance(player, Sequence) and not player:
        raise PlayerError("found an empty list of moves, expected one move or more")
    if isinstance(player, Sequence) and all(isinstance(move, str) for move in player):
        return FixedMovesPlayer({seeds: player})
    if not isinstance(player, Sequence) and hasattr(player, "moves"):
        return player
    if callable(player):
        return FunctionPlayer(player)
    kind = type(player).__name__
    raise PlayerError(f"{kind} is no player; expected one, a function, a text, or a list of texts")


class _NoStories:
    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        source = "stories=load_stories('corpus', judge)"
        raise StoryError(f"the program asks for a story and there is no source: pass {source}")


def _story_source(whole: Game, judge: Judge, stories: StorySource | None) -> StorySource:
    model: Any = getattr(judge, "lm", None)
    writes = callable(getattr(model, "model", None))  # that of a server tells bits alone
    if stories is not None and not hasattr(stories, "story_texts"):
        raise ConfigError(f"stories: found {stories!r}, expected load_stories({stories!r}, judge)")
    if stories is not None or not writes or not asked_stories(whole):
        return stories or _NoStories()
    from xgl.judge.loading import JudgeStories

    return JudgeStories(model, judge.truncate)
