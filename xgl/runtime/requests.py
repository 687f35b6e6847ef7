"""Requests of a running game, their answers, and its events (docs/specification.md, "Steps and
requests")."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import NamedTuple, Protocol

from xgl.errors import OversizeError, check_kind
from xgl.language.dialects import Scoring
from xgl.language.syntax import XentKind


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """Bits of ``text`` after ``context``, whose parts are tokenised apart and joined as tokens;
    ``model``: name of the model under the judge that scores, empty: the judge itself."""

    text: str
    context: tuple[str, ...]
    scoring: Scoring
    model: str = ""


@dataclass(frozen=True, slots=True)
class TokenScores:
    """``bits``: −log₂ P of each counted token, in order; empty for an empty string."""

    bits: tuple[float, ...]

    @property
    def total(self) -> float:
        """Cross-entropy of the string in bits."""
        return float(sum(self.bits))

    def __sub__(self, other: TokenScores) -> TokenScores:
        return TokenScores(tuple(a - b for a, b in zip(self.bits, other.bits, strict=True)))

    def __neg__(self) -> TokenScores:
        return TokenScores(tuple(-bit for bit in self.bits))


class Predicate(NamedTuple):
    """Does a statement hold that a plain function decides, recognised on its expression
    (docs/specification.md, "Truth")?"""

    kind: str
    operands: tuple[str, ...]
    comparator: str = ""
    bound: int = 0


TEXT_IS_TRUE = "what {} says is true"
"""The statement of a text that is one itself."""


@dataclass(frozen=True, slots=True)
class TruthRequest:
    """Is ``statement`` true, which only a model can decide?

    ``named``: the statement with names for the texts in it that the program does not write itself,
    such as moves; ``texts``: these texts by name. A model reads the texts first, and the statement
    last. Without ``named``, all of the statement is such a text. ``model`` as in
    :class:`ScoreRequest`.
    """

    statement: str
    named: str = ""
    texts: tuple[tuple[str, str], ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class StoryRequest:
    """The text of the ``site``-th ``story()`` of a program, at most ``tokens`` judge tokens.
    ``count``: how many maps have different texts in each division; 0: all that the source has."""

    site: int
    tokens: int
    prompt: str = ""
    count: int = 0

    def map_of(self, map_seed: int) -> int:
        """The map seed whose text answers: ``map_seed``, or one of the first ``count`` of its
        division (even or odd)."""
        return map_seed % (2 * self.count) if self.count else map_seed


@dataclass(frozen=True, slots=True)
class PrefixRequest:
    """The text of the first ``tokens`` judge tokens of ``text``."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class DrawRequest:
    """A random order of ``size`` things, for the ``draw``-th draw of a line at its
    ``visit``-th run, all from 0.

    Runs that a failed ensure took back do not count, so a retry gets the same random numbers, and a
    player cannot infer from them how often another had to retry.
    """

    size: int
    line: int
    visit: int
    draw: int


@dataclass(frozen=True, slots=True)
class Move:
    """A player's answer.

    ``token_ids`` and ``logprobs`` (natural log, of the sampled tokens, stop mark included) are
    known for local policies; ``prompt_ids`` is what the policy was shown. Costs are in tokens.
    """

    text: str
    prompt_ids: tuple[int, ...] = ()
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    prompt_tokens: int = 0
    new_tokens: int = 0
    rounds_shown: int = 0
    """Earlier rounds of the view that fitted the player's window."""
    cut_tokens: int = 0
    """Judge tokens beyond the limit that were cut off."""
    format_failure: bool = False
    """The player's answer held no move; the text is empty."""


class Item(NamedTuple):
    """One line of what a player sees: a label (register, ``reward``, ``ensure``) and a text;
    ``own``: its own move."""

    label: str
    text: str
    own: bool = False


Rounds = tuple[tuple[Item, ...], ...]
"""What a player saw in each earlier round of the game, the oldest first."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a player may see when it is asked for ``register`` (docs/specification.md,
    "What a player sees")."""

    player: str
    code: str
    items: tuple[Item, ...]
    register: str
    earlier: Rounds = ()

    @property
    def has_failed(self) -> bool:
        """Whether an ensure failed after a move of the player."""
        return any(item.label == "ensure" for item in self.items)

    def latest(self, rounds: int) -> View:
        """The same view with only the latest ``rounds`` of the earlier rounds."""
        return replace(self, earlier=self.earlier[len(self.earlier) - rounds :])


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """``turn`` counts the moves of all players before this one, without those that failed ensures
    took back; ``line`` is the position of the elicit that asks, ``attempt`` how often it was
    returned to."""

    view: View
    max_len: int
    turn: int
    line: int = 0
    attempt: int = 0


Request = (
    ScoreRequest
    | TruthRequest
    | Predicate
    | StoryRequest
    | MoveRequest
    | PrefixRequest
    | DrawRequest
)
Answer = TokenScores | bool | str | Move | tuple[int, ...]

# -- what happened -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assigned:
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """``line`` is the position of the elicit that asked, ``place`` the move's place in it."""

    player: str
    register: str
    move: Move
    line: int = 0
    place: int = 0


@dataclass(frozen=True, slots=True)
class Ensured:
    """``player`` made the last move before the ensure; ``failures`` counts its failed ones."""

    player: str
    passed: bool
    failures: int


@dataclass(frozen=True, slots=True)
class Revealed:
    player: str
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Rewarded:
    """``bits`` to ``player``; ``terms`` holds sign, kind and the per-token bits ("axent").
    ``xents`` are the cross-entropies that the terms are made of, with their signs."""

    player: str
    bits: float
    terms: tuple[tuple[int, XentKind, TokenScores], ...] = ()
    xents: tuple[tuple[int, TokenScores], ...] = field(default=(), compare=False, repr=False)

    def clipped_bits(self, most: float) -> float:
        """Bits of the reward if no token counts more than ``most`` = −log₂ ε bits (Def. 30)."""
        excess = (
            sign * sum(max(0.0, bit - most) for bit in xent.bits) for sign, xent in self.xents
        )
        return self.bits - sum(excess)


Event = Assigned | Moved | Ensured | Revealed | Rewarded


@dataclass(frozen=True, slots=True)
class Play:
    """One finished game instance.

    ``outcome`` is ``finished``, ``forfeit`` (by ``forfeiter``) or ``oversize``; ``scores`` are the
    bits of each player at the end: of all who are asked for moves, and of others that were paid.
    """

    outcome: str
    scores: dict[str, float]
    registers: dict[str, str]
    events: tuple[Event, ...]
    steps: int
    forfeiter: str = ""
    reason: str = field(default="", compare=False)
    """For ``oversize``: what was too large, its size and the limit."""

    def outcome_for(self, role: str) -> str:
        """A forfeit ends the game for all, but only the forfeiter's own score is lost."""
        if self.outcome == "forfeit" and self.forfeiter != role:
            return "finished"
        return self.outcome

    def score_for(self, role: str, floor: float) -> float:
        """Bits of ``role``, at least ``floor``. A play that did not finish, or in which an answer
        held no move, counts as the floor, so that it never earns more than a finished one."""
        is_whole = self.outcome_for(role) == "finished"
        if not is_whole or self.move_counts(role)["format_failures"]:
            return floor
        return max(floor, self.scores.get(role, 0.0))

    def move_counts(self, role: str) -> Counter[str]:
        """Of ``role``: all moves, failed ensures after them, moves that no answer held, and moves
        that were cut, with the tokens cut off."""
        moves = [e.move for e in self.events if isinstance(e, Moved) and e.player == role]
        ensures = [e for e in self.events if isinstance(e, Ensured) and e.player == role]
        return Counter(
            moves=len(moves),
            failed_ensures=sum(not event.passed for event in ensures),
            format_failures=sum(move.format_failure for move in moves),
            cut_moves=sum(move.cut_tokens > 0 for move in moves),
            cut_tokens=sum(move.cut_tokens for move in moves),
        )

    def accepted_moves(self, role: str) -> list[str]:
        """The texts of the moves of ``role`` that no failed ensure sent back."""
        return [event.move.text for event, _, stands in self.turns(role) if stands]

    def turns(self, role: str) -> list[tuple[Moved, int, bool]]:
        """The moves of ``role``: each with the number of moves of its line that stood before it,
        and whether no failed ensure sent it back."""
        standing, counts, places = list[Moved](), Counter[int](), dict[int, int]()
        for event in self.events:
            if isinstance(event, Moved):
                places[id(event)] = counts[event.line]
                counts[event.line] += 1
                standing.append(event)
            elif isinstance(event, Ensured) and not event.passed:
                while standing:  # all moves of the elicit that it goes back to
                    back = standing.pop()
                    counts[back.line] -= 1
                    if back.place == 0:
                        break
        kept = {*map(id, standing)}
        own = (e for e in self.events if isinstance(e, Moved) and e.player == role)
        return [(move, places[id(move)], id(move) in kept) for move in own]


# -- who answers -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seeds:
    """Random seeds of an instance: of its map, and of the sampling of its moves."""

    map_seed: int
    play_seed: int

    def __post_init__(self) -> None:
        for seed in (self.map_seed, self.play_seed):
            check_kind("seed", seed, Integral, "a whole number")


@dataclass(frozen=True, slots=True)
class Turn:
    """A move request with the seeds of its instance. ``policy`` names the policy that is to answer,
    for players that hold several."""

    request: MoveRequest
    seeds: Seeds
    policy: str = ""

    @property
    def key(self) -> tuple[int, ...]:
        """Key of the random stream of the answer: map seed, play seed and turn; from round 2 on
        also the round, and in another attempt the round and the attempt. So nobody's numbers
        depend on how often another player failed."""
        number, attempt = 1 + len(self.request.view.earlier), self.request.attempt
        again = (number, attempt) if attempt else (number,) if number > 1 else ()
        return (self.seeds.map_seed, self.seeds.play_seed, self.request.turn, *again)


class Judge(Protocol):
    """Scores strings; a batch in, a batch out. Failure raises ``JudgeError``, never returns 0."""

    def score(self, requests: list[ScoreRequest]) -> list[TokenScores | OversizeError]: ...

    def truths(self, requests: list[TruthRequest]) -> list[bool | OversizeError]: ...

    def count(self, text: str) -> int:
        """Number of judge tokens."""
        ...

    def truncate(self, text: str, max_len: int) -> str:
        """The longest prefix that re-tokenises to at most ``max_len`` tokens."""
        ...

    def first_tokens(self, text: str, tokens: int) -> str:
        """The text of the first ``tokens`` tokens; ``text`` itself where it has no more."""
        ...


class Player(Protocol):
    """Gives moves; a batch in, a batch out. An oversize view is an error value, not a raise."""

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]: ...


class StorySource(Protocol):
    """Tells the texts of maps; the same map seed and request always give the same text."""

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]: ...
