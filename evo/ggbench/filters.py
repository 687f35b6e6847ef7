"""Filters of games, in the paper's order: the first one that refuses is the last one to run.

Section 2.3 of the paper names keyword, execution and timeout; the others refuse what its released
pipeline lets through: games that are known already, that do not alternate, that differ under one
seed, and that end undecided.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import monotonic
from typing import NamedTuple

from archive.statistics.programs import STAGES
from evo.ggbench.benchmark import ChatMover, new_plays, play_in_box
from evo.ggbench.box import RANDOM_MOVES, Box, BoxLimits, GameFaultError, searching
from evo.ggbench.chat import usage_row
from evo.ggbench.game import ProgramGame
from xgl.chat.settings import Usage
from xgl.random_streams import seed, stream

MODEL_GAMES = 10
"""Games of a model on each game that passed the filters before."""
GAMES, REPEATED = 20, 3
"""Number of games of random moves, and of these that are played again under the same seed."""
SEARCHED, BRIEF = 10, 3
"""Positions of one of them whose searches must leave the game as it is, and their simulations."""
MOST_UNDECIDED = 0.2
"""Share of games of random moves without a winner."""
MOST_EXCEPTIONS = 0.2
"""Share of a model's games that end in an exception (section 2.3)."""
SECONDS = 120.0
"""Most that a game's answers take in all its filters; a good game takes a few seconds."""


@dataclass(frozen=True)
class FilterVerdict:
    """Verdict of one filter. ``reason``: why it refuses, or its finding; ``seconds``: its time;
    ``actions``: size of the action space; ``tokens`` and ``dollars`` of a model that was asked."""

    stage: str
    passed: bool
    reason: str
    seconds: float = 0.0
    actions: int | None = None
    tokens: int | None = None
    dollars: float | None = None


class _Play(NamedTuple):
    """A game of random moves. Its views are not kept, since a game says how large they are:
    ``digests`` of them, and the ``players`` that they name while the game goes on."""

    seed: int
    digests: list[int]
    players: list[str | None]
    moves: list[int]
    result: int | None


def run_filters(
    game: ProgramGame,
    known_digests: Collection[str] = (),
    limits: BoxLimits | None = None,
    run_seed: int = 0,
) -> list[FilterVerdict]:
    """The verdicts on a game, the last of which refuses, or all pass. ``known_digests``: digests
    (:func:`digest`) of games that exist already. Raises :class:`~evo.ggbench.box.NoLockError`."""
    verdicts: list[FilterVerdict] = []
    findings = _findings(game, known_digests, limits or BoxLimits(), run_seed)
    for stage in STAGES[: STAGES.index("model")]:
        began = monotonic()
        try:
            passed, reason, actions = next(findings)
        except GameFaultError as fault:
            passed, reason, actions = False, str(fault), None
        verdicts.append(FilterVerdict(stage, passed, reason, monotonic() - began, actions))
        if not passed:
            break
    findings.close()  # and the box
    return verdicts


def digest(source: str) -> str:
    """SHA-256 of a program without its layout, comments and docstrings; of the text itself if it is
    not Python, or is nested too deeply to be read."""
    try:
        tree = ast.parse(source)
        for node in ast.walk(tree):
            match getattr(node, "body", None):
                case [ast.Expr(ast.Constant(str())), *rest]:
                    node.body = rest  # type: ignore[attr-defined]
        content = ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        content = source
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


def _findings(
    game: ProgramGame, known_digests: Collection[str], limits: BoxLimits, run_seed: int
) -> Generator[tuple[bool, str, int | None]]:
    """Of each stage, whether it passes, why, and the number of actions once known; lazily: a filter
    does not run after one that refused."""
    space = re.search(r"spaces\.Discrete\(([^)]*)\)", game.source)
    power = space[1][:60] if space and "**" in space[1] else ""
    reason = f"an action space of {power} moves" if power else "no power in the action space"
    yield not power, reason, None
    program = digest(game.source)
    yield program not in known_digests, f"program {program[:12]}", None
    with Box(game, replace(limits, total=min(limits.total, SECONDS))) as box:
        plays = [_random_play(box, number, run_seed) for number in range(GAMES)]
        moves = f"{sum(len(play.moves) for play in plays)} moves in {GAMES} games"
        detail = f"{moves}, {box.actions} actions, observations of {list(box.shape)}"
        yield True, detail, box.actions
        yield *_alternation(plays), None
        yield *_repeatability(plays[:REPEATED], box), None
        yield *_timeout(plays, box, run_seed), None
        draws = sum(play.result == 0 for play in plays)
        detail = f"{draws} of {GAMES} games of random moves have no winner"
        yield draws <= MOST_UNDECIDED * GAMES, detail, None


def _random_play(box: Box, number: int, run_seed: int) -> _Play:
    key = ("ggbench", "filter", run_seed, box.game.game_id, number)
    rng, game_seed, moves = stream(*key), seed(*key, bits=32), list[int]()
    view = box.new(game_seed)
    digests, players = [hash(view)], [view.player]
    while view.result is None and len(moves) < box.limits.most_moves:
        moves.append(view.legal[int(rng.integers(len(view.legal)))])
        view = box.play(moves[-1])
        digests.append(hash(view))
        players += [view.player] if view.result is None else []
    return _Play(game_seed, digests, players, moves, view.result)


def _alternation(plays: Sequence[_Play]) -> tuple[bool, str]:
    """If a game names the player to move, the name must change with every move."""
    turns = [pair for play in plays for pair in pairwise(play.players) if pair[0] is not None]
    twice = any(before == after for before, after in turns)
    changes = "one player moved twice" if twice else "current_player changes with every move"
    return not twice, changes if turns else "the game names no player"


def _repeatability(plays: Sequence[_Play], box: Box) -> tuple[bool, str]:
    """The same seed and moves give the same game, and so they do where searches come between."""
    search = searching(None, BRIEF)
    for play, searches in [*((play, False) for play in plays), (plays[0], True)]:
        for number, before in enumerate(play.digests):
            view = box.play(play.moves[number - 1]) if number else box.new(play.seed)
            if before != hash(view):
                cause = "a search changes the game" if searches else "another game"
                return False, f"the same seed and moves: {cause} after move {number}"
            if searches and view.result is None and number < SEARCHED:
                box.choose(search, play.seed)
    return True, f"{len(plays)} games came out the same again"


def _timeout(plays: Sequence[_Play], box: Box, run_seed: int) -> tuple[bool, str]:
    too_long = f"goes on after {box.limits.most_moves} moves"
    if any(play.result is None for play in plays):
        return False, f"a game of random moves {too_long}"
    searches = searching(None), searching(None)
    moves, result = box.match(searches, seed("ggbench", "timeout", run_seed, bits=32))
    if result is None:
        return False, f"a game of two searches {too_long}"
    longest = max(len(play.moves) for play in plays)
    return True, f"at most {longest} random moves; {len(moves)} moves between two searches"


def model_timeout(
    game: ProgramGame, mover: ChatMover, limits: BoxLimits, run_seed: int
) -> FilterVerdict:
    """Games of a model against random moves: refused is a game that takes more than 100 moves, or
    of which more than 20 % end in an exception. An answer that is no legal number
    becomes a random move. Raises what the model's endpoint raises."""
    plays = new_plays(game.game_id, MODEL_GAMES, run_seed, "filter")  # a paid answer counts once
    play_in_box(game, limits, {}, RANDOM_MOVES, plays, mover, forgives=True)
    reason, broken = None, [play for play in plays if play.outcome == "broken"]
    if len(broken) > MOST_EXCEPTIONS * MODEL_GAMES:
        reason = f"{len(broken)} of {MODEL_GAMES} games end in an exception: {broken[0].reason}"
    elif any(play.outcome == "long" for play in plays):
        reason = "a game of the model goes on after the most moves"
    longest = max(len(play.moves) for play in plays)
    return FilterVerdict(
        "model",
        not reason,
        reason or f"{MODEL_GAMES} games of the model, at most {longest} moves",
        sum(play.seconds for play in plays),
        **usage_row(sum((play.usage for play in plays), Usage()), mover.settings),
    )
