"""Rewards of games for training frameworks, from rows of ``archive export --format dataset``.

A row's ``info`` says which game was to be played on which map; the reward of a completion is what
its moves score there. An answer is one attempt: a move that breaks a rule forfeits the game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xgl.errors import PlayerError
from xgl.rows import Info, Row, read_row
from xgl.runtime.episode import Episode, start_all, step_all
from xgl.runtime.prompt import parse_moves
from xgl.runtime.requests import Ensured, Event, Judge, Move, Moved, Rewarded

Completion = str | Sequence[Mapping[str, Any]]
"""A text, or chat messages of which the last one is the answer."""


@dataclass(frozen=True)
class Explanation:
    """What became of a completion.

    ``score`` in bits, before it is normalised; ``outcome`` finished, forfeit or oversize;
    ``moves`` as they were played, cut at their limits; ``format_failures``: moves that the answer
    did not hold, played as empty ones; ``bits``: those of each token of each reward that was paid.
    """

    score: float
    outcome: str
    moves: tuple[str, ...]
    format_failures: int
    cut_tokens: int
    bits: tuple[tuple[float, ...], ...]


class Rewards:
    """Bits of the measured player for each completion; call it as TRL's trainers do.

    >>> trainer = GRPOTrainer(reward_funcs=Rewards(judge), train_dataset=rows, …)  # doctest: +SKIP

    ``info``: of each row. All completions of a call are scored in common batches. ``normalise``:
    standard deviations above the base player's mean instead of bits, so that games of different
    scales can be trained on together.
    """

    __name__ = "xent"

    def __init__(self, judge: Judge, normalise: bool = False) -> None:
        self.judge, self.normalise = judge, normalise

    def __call__(
        self, completions: Sequence[Completion], info: Sequence[Info], **_: object
    ) -> list[float]:
        """Raises :class:`PlayerError` for a row that cannot be normalised, or in which others
        would have to move."""
        rows = [read_row(each) for each in info]
        explained = self.explain(completions, info)
        return [self._reward(row, each.score) for row, each in zip(rows, explained, strict=True)]

    def one(self, completion: Completion, info: Info, **_: object) -> float:
        """The reward of one completion."""
        return self([completion], [info])[0]

    def explain(self, completions: Sequence[Completion], info: Sequence[Info]) -> list[Explanation]:
        """Why each completion scores what it scores. Raises as a call."""
        attempts = [
            _Attempt(self.judge, read_row(each), completion, place)
            for place, (completion, each) in enumerate(zip(completions, info, strict=True))
        ]
        start_all([each.episode for each in attempts])
        while moving := [each for each in attempts if each.goes_on]:
            moves = [each.next_move() for each in moving]
            step_all([each.episode for each in moving], moves)
        return [each.explanation for each in attempts]

    def _reward(self, row: Row, score: float) -> float:
        if not self.normalise:
            return score
        if row.base is None:
            raise PlayerError("a row to normalise: found no `base` in its info, expected one")
        return row.base.normalised(score)


class _Attempt:
    """One completion being played: its moves, one after another, until one breaks a rule."""

    def __init__(self, judge: Judge, row: Row, completion: Completion, place: int) -> None:
        if others := [name for name in row.players if name != row.role]:
            raise PlayerError(
                f"{', '.join(others)} would have to move as well, which one completion cannot say; "
                "expected an environment of several turns"
            )
        self.row, self.episode = row, row.episode(judge, play_seed=place)
        self.script = parse_moves(completion_text(completion), len(row.asks))
        self.made = 0

    @property
    def goes_on(self) -> bool:
        return not self.episode.done and not _refused(self.episode)

    def next_move(self) -> Move:
        place, self.made = self.made, self.made + 1
        if place < len(self.script):
            return Move(self.script[place])
        return Move("", format_failure=True)

    @property
    def explanation(self) -> Explanation:
        events, role = self.episode.events, self.row.role
        moves = [e.move for e in events if isinstance(e, Moved) and e.player == role]
        play = self.episode.play if self.episode.done else None
        return Explanation(
            score=self.row.floor if play is None else self.row.score(play),
            outcome="forfeit" if play is None else play.outcome_for(role),
            moves=tuple(move.text for move in moves),
            format_failures=sum(move.format_failure for move in moves),
            cut_tokens=sum(move.cut_tokens for move in moves),
            bits=_bits(events, role),
        )


def _refused(episode: Episode) -> bool:
    return any(isinstance(event, Ensured) and not event.passed for event in episode.events)


def _bits(events: Sequence[Event], role: str) -> tuple[tuple[float, ...], ...]:
    paid = [event for event in events if isinstance(event, Rewarded) and event.player == role]
    return tuple(
        tuple(sign * bit for bit in scores.bits) for each in paid for sign, _, scores in each.terms
    )


def completion_text(completion: Completion) -> str:
    """The answer of a completion."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])
