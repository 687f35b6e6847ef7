"""Rewards of games for training frameworks, from rows of ``archive export --format dataset``.

A row's ``info`` says which game was to be played on which map; the reward of a completion is what
its moves score there. An answer is one attempt: a move that breaks a rule forfeits the game.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

from xgl.chat.answers import answer_text, parse_moves
from xgl.environments.rows import Info, Row, read_row
from xgl.errors import PlayerError
from xgl.runtime.episode import start_all, step_all
from xgl.runtime.requests import Ensured, Judge, Move

Completion = object
"""A text or chat messages, of which the model's last one is the answer, in any shape that
:func:`~xgl.chat.answers.answer_text` reads."""


class Rewards:
    """Bits of the measured player for each completion; call it as TRL's trainers do.

    >>> trainer = GRPOTrainer(reward_funcs=Rewards(judge), train_dataset=rows, …)  # doctest: +SKIP

    ``info``: the ``info`` of each row. All completions of a call are scored in common batches.
    ``normalise``: standard deviations above the base player's mean instead of bits, so that games
    of different scales can be trained on together. ``plain``: for a model without a chat format,
    which is asked by a view: the first lines of its answer are the moves.
    """

    __name__ = "xent"

    def __init__(self, judge: Judge, normalise: bool = False, plain: bool = False) -> None:
        self.judge, self.normalise, self.plain = judge, normalise, plain

    def __call__(
        self, completions: Sequence[Completion], info: Sequence[Info], **_: object
    ) -> list[float]:
        """Raises :class:`PlayerError` for a row that cannot be normalised, or that needs moves of
        other players, and for what is no completion."""
        attempts = [
            _Attempt(self.judge, read_row(row_info), completion, index, self.plain)
            for index, (completion, row_info) in enumerate(zip(completions, info, strict=True))
        ]
        start_all([attempt.episode for attempt in attempts])
        while moving := [attempt for attempt in attempts if attempt.goes_on]:
            step_all([attempt.episode for attempt in moving], [next(each.moves) for each in moving])
        return [each.row.reward(each.score, self.normalise) for each in attempts]


class _Attempt:
    """One completion being played: its moves, one after another, until one breaks a rule."""

    def __init__(
        self, judge: Judge, row: Row, completion: Completion, play_seed: int, plain: bool
    ) -> None:
        if others := [name for name in row.players if name != row.role]:
            raise PlayerError(
                f"{', '.join(others)} would have to move as well, which one completion cannot say; "
                "expected an environment of several turns"
            )
        self.row, self.episode = row, row.episode(judge, play_seed=play_seed)
        try:
            answer = answer_text(completion)
        except TypeError as error:
            raise PlayerError(f"a completion: {error}") from None
        count = len(row.asks)
        lines = [line.strip() for line in answer.split("\n")]
        texts = lines[:count] if plain else parse_moves(answer, count)
        self.moves = chain(map(Move, texts), repeat(Move("", format_failure=True)))

    @property
    def goes_on(self) -> bool:
        ensures = (event for event in self.episode.events if isinstance(event, Ensured))
        return not self.episode.done and all(event.passed for event in ensures)

    @property
    def score(self) -> float:
        """Bits of the row's role; the floor where a move broke a rule."""
        return self.row.score(self.episode.play) if self.episode.done else self.row.floor
