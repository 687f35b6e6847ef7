"""Scores of a policy on a game over paired seeds, with the permuted-moves control
(docs/specification.md, "Permuted moves").

A play that forfeits or outgrows a model has the raw score −∞; for means it counts as the
game's floor, a finite score fixed before any fine-tuning (docs/specification.md, "The floor").
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from archive import TABLES
from archive.plays import floor_of
from archive.schema import TaskId
from xgl.analysis.static_facts import analyse
from xgl.errors import ConfigError, OversizeError
from xgl.language.canonical import Game
from xgl.players import FixedMovesPlayer, OneAttempt
from xgl.random_streams import seed as named_seed, stream
from xgl.runtime.lockstep import Cast, Instance, Round, play_all, play_together
from xgl.runtime.requests import Move, Moved, Play, Player, Rewarded, Seeds, Turn

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge


@dataclass(frozen=True)
class Task:
    """A game seen from one role: the unit of a scope.

    ``floor`` is the finite score (bits) of an unfinished play, −∞ until calibration fixes it.
    ``origin``: the setting and the file that name the game; empty for one that a search made.
    """

    game: Game
    role: str
    floor: float = -math.inf
    origin: str = field(default="", compare=False)

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def game_id(self) -> str:
        """Hash of the game's canonical text and metadata."""
        return self.game.game_id

    @property
    def id(self) -> TaskId:
        """Its key in every table of the archive."""
        return TaskId(self.game.game_id, self.role)


@dataclass(frozen=True)
class ScoredPlay:
    """One play of one policy, in bits; ``permuted_score`` is the score of moves made for another
    map (None: not computed), ``clipped_score`` and ``permuted_clipped_score`` are both under
    ε-clipping. ``tokens`` counts the player's."""

    seeds: Seeds
    score: float
    raw_score: float
    outcome: str
    permuted_score: float | None
    moves: tuple[str, ...]
    tokens: int
    seconds: float
    clipped_score: float | None = None
    permuted_clipped_score: float | None = None


def seconds_of_work() -> float:
    """A clock for differences, seconds: the processor time of all threads of this process, so that
    work costs the same while other programs run; wall-clock time if an accelerator works."""
    import torch  # loads slowly; whoever works has it already

    return time.perf_counter() if torch.accelerator.is_available() else time.process_time()


def evaluation_seeds(purpose: str, seed: int, count: int, start: int = 0) -> list[Seeds]:
    """Odd map seeds, the same for every policy and game of a run; one play on each map."""
    indices = range(start, start + count)
    return [Seeds(2 * named_seed(purpose, seed, index, bits=61) + 1, index) for index in indices]


def finite_score(play: Play, task: Task) -> float:
    """The role's bits, or the floor when the play did not finish."""
    finished = play.outcome_for(task.role) == "finished"
    return play.scores.get(task.role, 0.0) if finished else task.floor


def clipped_score(play: Play, task: Task, most: float) -> float:
    """The role's bits where no token of a cross-entropy counts more than ``most`` bits, or the
    floor. The play is the same: ensures are not checked again."""
    if play.outcome_for(task.role) != "finished":
        return task.floor
    rewards = (e for e in play.events if isinstance(e, Rewarded) and e.player == task.role)
    return sum((each.clipped_bits(most) for each in rewards), 0.0)


def evaluate_together(
    player: Player,
    parts: Sequence[tuple[str, Sequence[Seeds]]],
    cast: Cast,
    task: Task,
    most_bits: float,
    at_once: bool = False,
) -> list[list[ScoredPlay]]:
    """Play ``task`` once on each pair of seeds of each of ``parts``, policies with their seeds,
    then once more with the moves of the part's other maps; ``player`` answers in shared passes, of
    which each play gets the same seconds.

    ``most_bits``: −log₂ ε of the clipped scores, which the same plays give.
    ``at_once``: the permuted plays of all parts share passes of the judge too.
    """
    start, seats = seconds_of_work(), seated(cast, task, player)
    plays = play_together(
        [([Instance(task.game, each, name) for each in seeds], seats) for name, seeds in parts]
    )
    if task.floor == -math.inf:  # the base player's; what a fine-tune outgrows is no setting
        check_fits(task, [(play.outcome, play.reason) for play in chain(*plays)])
    moves = [[moves_made(play, task.role) for play in own] for own in plays]
    replays = [
        replay(cast, task, seeds, [*own[1:], *own[:1]])  # the next map's moves: a cyclic shift
        for (_, seeds), own in zip(parts, moves, strict=True)
    ]
    batches = [replays] if at_once else [[each] for each in replays]
    permuted_plays = chain(*map(play_together, batches))
    seconds = (seconds_of_work() - start) / max(1, sum(map(len, plays)))
    scores = []
    for (_, seeds), own, others in zip(parts, plays, permuted_plays, strict=True):
        of_part = zip(seeds, own, others, strict=True)
        scores.append([scored_play(task, *each, most_bits, seconds) for each in of_part])
    return scores


def check_fits(task: Task, plays: Sequence[tuple[str, str]]) -> None:
    """Raises :class:`ConfigError` for a game that a user named if each of its plays (outcome,
    reason) outgrew a window or another limit."""
    if task.origin and plays and all(outcome == "oversize" for outcome, _ in plays):
        raise ConfigError(f"{task.origin}: no play fits; {plays[0][1]}")


def scored_play(
    task: Task, seeds: Seeds, play: Play, permuted: Play | None, most_bits: float, seconds: float
) -> ScoredPlay:
    """What a play earned and cost; ``permuted``: the one with moves made for another map."""
    bits, outcome = play.scores.get(task.role, 0.0), play.outcome_for(task.role)
    return ScoredPlay(
        seeds=seeds,
        score=finite_score(play, task),
        raw_score=bits if outcome == "finished" else -math.inf,
        outcome=outcome,
        permuted_score=finite_score(permuted, task) if permuted else None,
        moves=moves_made(play, task.role),
        tokens=sum(move.prompt_tokens + move.new_tokens for move in all_moves(play, task.role)),
        seconds=seconds,
        clipped_score=clipped_score(play, task, most_bits),
        permuted_clipped_score=clipped_score(permuted, task, most_bits) if permuted else None,
    )


def play_row(policy_id: str, task: Task, purpose: str, play: ScoredPlay) -> dict[str, Any]:
    """A row of ``scores``, or most of one of ``rounds``, without the run's id."""
    facts = vars(play) | {"moves": list(play.moves)}
    seeds = facts.pop("seeds")
    maps = {"purpose": purpose, "map_seed": seeds.map_seed, "play_seed": seeds.play_seed}
    return {"policy_id": policy_id, **task.id._asdict(), **maps, **facts}


def all_moves(play: Play, role: str) -> list[Move]:
    """The role's moves, those too that a failed ensure sent back."""
    return [e.move for e in play.events if isinstance(e, Moved) and e.player == role]


def moves_made(play: Play, role: str) -> tuple[str, ...]:
    """The role's moves that stood and, where the game ended in a forfeit, its last attempt."""
    last: dict[str, str] = {}  # by register: one elicit may ask for several
    if play.outcome_for(role) == "forfeit":
        moved = [e for e in play.events if isinstance(e, Moved) and e.player == role]
        for event in reversed(moved):
            if event.register in last or event.line != moved[-1].line:
                break
            last[event.register] = event.move.text
    return (*play.accepted_moves(role), *reversed(last.values()))


def seated(cast: Cast, task: Task, player: Player) -> Cast:
    """The cast with the player of the task's role."""
    return Cast(cast.judge, cast.stories, {**cast.players, task.role: player})


class SharedMoves:
    """Another role's player, who answers equal requests of equal seeds once: it often sees nothing
    of the move that plays differ in. ``one_seed``: as the first play of each map, so that plays of
    a map differ by the moves of the role alone (common random numbers)."""

    def __init__(self, player: Player, one_seed: bool = False) -> None:
        self.player, self.one_seed = player, one_seed
        self._made = LRUCache[Any, Move | OversizeError](1 << 13)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        if self.one_seed:
            turns = [replace(t, seeds=replace(t.seeds, play_seed=0)) for t in turns]
        keys = [(each.request, each.key) for each in turns]
        new = {k: turn for k, turn in zip(keys, turns, strict=True) if k not in self._made}
        made = dict(zip(new, self.player.moves(list(new.values())), strict=True)) if new else {}
        found = [made[key] if key in made else self._made[key] for key in keys]
        self._made.update(made)
        return found


def replay(
    cast: Cast, task: Task, seeds: Sequence[Seeds], moves: Sequence[tuple[str, ...]]
) -> tuple[list[Instance], Cast]:
    """What to play: each map with given moves of the role, once each."""
    silent = {each: play_moves or ("",) for each, play_moves in zip(seeds, moves, strict=True)}
    instances = [Instance(task.game, each) for each in seeds]
    # after a failed ensure the next move was made for another elicit
    return instances, seated(cast, task, OneAttempt(FixedMovesPlayer(silent)))


def with_floor(score: ScoredPlay, floor: float) -> ScoredPlay:
    """A calibration score with its unfinished plays, own and permuted, at the floor."""
    bits = "score", "permuted_score", "clipped_score", "permuted_clipped_score"
    put: dict[str, Any] = {name: floor for name in bits if getattr(score, name) == -math.inf}
    return replace(score, **put)


Row = dict[str, Any]


@dataclass(frozen=True)
class RoundScore(ScoredPlay):
    """One play of a series, in bits; ``number`` counts from 1. ``control``: the rounds that it
    was shown, ``rounds_shown`` at least, came from another map."""

    number: int = 1
    control: bool = False
    rounds_shown: int = 0
    new_tokens: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    reason: str = ""
    """What was too large for an oversize play."""


def round_score(round_: Round, task: Task, most_bits: float, seconds: float) -> RoundScore:
    """What a round earned and cost; ``most_bits`` is −log₂ ε of the clipped scores."""
    play, role = round_.play, task.role
    return RoundScore(
        **vars(scored_play(task, round_.seeds, play, None, most_bits, seconds)),
        number=round_.number,
        control=round_.control,
        rounds_shown=min((move.rounds_shown for move in all_moves(play, role)), default=0),
        new_tokens=sum(move.new_tokens for move in all_moves(play, role)),
        counts=play.move_counts(role),
        reason=play.reason,
    )


def round_floor(plays: Sequence[tuple[int, str, float]], task: Task) -> float:
    """Score of an unfinished play of the game, from the base player's plays (round, outcome, bits):
    from those of round 1, before it saw other rounds; from those of all rounds if none of these
    finished, and 0 if none did (docs/specification.md, "The floor")."""
    first = [each for each in plays if each[:2] == (1, "finished")]
    return floor_of([play[1:] for play in first or plays], task.game, task.role)


def with_round_floor(score: RoundScore, floor: float) -> RoundScore:
    """The score, at least the floor, which an unfinished play counts as and one in which an answer
    held no move."""
    if score.outcome == "finished" and not score.counts["format_failures"]:
        return replace(score, score=max(score.score, floor))
    return replace(score, score=floor, clipped_score=floor)


def round_rows(policy_id: str, task: Task, purpose: str, scores: Iterable[RoundScore]) -> list[Row]:
    """Rows of the table ``rounds``, without the run's id."""
    rows = (
        {**each.counts, **play_row(policy_id, task, purpose, each), "round": each.number}
        for each in scores
    )
    return [
        {name: row[name] for name in TABLES["rounds"].schema.names if name in row} for row in rows
    ]


# -- moves of random tokens, the search for games that pay for improbable words (Def. 30) ----------

RANDOM_MOVES, FEWEST = 32, 4
"""Random plays on each map, and how many at least where a play has many moves."""
MOVES_OF_A_MAP = 48
"""Moves asked for on a map, by all players together, beyond which it has fewer plays."""


def search_unlikely_moves(
    judge: TransformerJudge, cast: Cast, task: Task, seeds: Sequence[Seeds]
) -> list[list[ScoredPlay]]:
    """The best and the median of up to ``RANDOM_MOVES`` random plays on each map, (2, seeds) in
    bits; a map without a finished play has an unfinished one twice."""
    start = seconds_of_work()
    asked = sum(each.times for each in analyse(task.game.program, task.game.metadata).elicits)
    count = min(RANDOM_MOVES, max(FEWEST, MOVES_OF_A_MAP // asked))
    names = list(map(str, range(count)))
    seats = seated(cast, task, OneAttempt(_RandomTokens(judge)))
    plays = play_all([Instance(task.game, each, name) for each in seeds for name in names], seats)
    seconds = (seconds_of_work() - start) / max(1, 2 * len(seeds))  # of the two that are kept
    found: list[tuple[ScoredPlay, ScoredPlay]] = []
    for index, each in enumerate(seeds):
        own = plays[index * count : (index + 1) * count]
        scored = [scored_play(task, each, one, None, judge.uniform_bits, seconds) for one in own]
        ranking = sorted(scored, key=lambda play: -play.raw_score)
        finished = [play for play in ranking if math.isfinite(play.raw_score)] or ranking
        found.append((finished[0], finished[len(finished) // 2]))
    return [list(plays) for plays in zip(*found, strict=True)]


class _RandomTokens:
    """As many random tokens as a move may have."""

    def __init__(self, judge: TransformerJudge) -> None:
        self.lm = judge.lm

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        return [self._move(turn) for turn in turns]

    def _move(self, turn: Turn) -> Move:
        rng = stream("random tokens", *turn.key, int(turn.policy))
        ids = rng.integers(len(self.lm.tokenizer), size=turn.request.max_len)
        return Move(" ".join(self.lm.decode(ids.tolist()).split()))
