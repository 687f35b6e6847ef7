"""Games for TRL's trainers, from rows of ``archive export --format dataset``: a reward for each
completion, or an environment.

A row's ``info`` says which game was to be played on which map. The reward of a completion is what
its moves score there; an answer is one attempt: a move that breaks a rule forfeits the game. In an
environment a move is a tool call, and retries, several moves and other players are turns of one
rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xgl.chat.answers import answer_text, parse_move, parse_moves, remove_thoughts
from xgl.environments.conversation import message
from xgl.environments.rows import Info, Row, read_row
from xgl.errors import OversizeError, PlayerError
from xgl.players import OneAttempt
from xgl.runtime.episode import Episode
from xgl.runtime.lockstep import Cast, Instance, play_together
from xgl.runtime.presentation import RULES, one_line
from xgl.runtime.requests import Judge, Move, Player, Seeds, Turn

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
        rows = [read_row(each) for each in info]
        groups = list[tuple[list[Instance], Cast]]()
        for completion, row in zip(completions, rows, strict=True):
            player = OneAttempt(_Attempt(_moves(row, completion, self.plain)))
            instance = Instance(row.game, Seeds(row.map_seed, 0))  # whose draws the prompt shows
            groups.append(([instance], Cast(self.judge, row, {row.role: player})))
        return [
            row.reward(row.score(play), self.normalise)
            for row, [play] in zip(rows, play_together(groups), strict=True)
        ]


def _moves(row: Row, completion: Completion, plain: bool) -> Sequence[str]:
    try:
        answer = answer_text(completion)
    except TypeError as error:
        raise PlayerError(f"a completion: {error}") from None
    if plain:
        return [line.strip() for line in answer.split("\n")]
    return parse_moves(answer, len(row.asks))


class _Attempt:
    """Makes the moves of a completion, one after another."""

    def __init__(self, moves: Sequence[str]) -> None:
        self.texts = iter(moves)

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        text = next(self.texts, None)
        return [Move(text or "", format_failure=text is None)]


CALL = "Make the move by calling the tool `move`, once for each request."


class GameEnvironment:
    """One rollout of the game of a row; use :func:`environment_factory`. TRL takes every public
    method but ``reset`` and ``get_reward`` for a tool."""

    def __init__(self, judge: Judge, others: Player | None, normalise: bool) -> None:
        self._judge, self._others, self._normalise = judge, others, normalise
        self._row: Row
        self._episode: Episode
        self._items_shown: int | None

    def reset(self, info: Info, prompt: object = (), **_: object) -> str:
        """Begin the game of a row; returns the text that is appended to the row's prompt. A row
        that has a prompt has asked for the first move already."""
        self._row, self._items_shown = read_row(info), None
        names = [name for name in self._row.players if name != self._row.role]
        if names and self._others is None:
            raise PlayerError(
                f"{', '.join(names)} would have to move as well; expected a player for them: "
                "environment_factory(judge, others=player)"
            )
        seats = {name: self._others for name in names if self._others is not None}
        self._episode = self._row.episode(self._judge, players=seats)
        turn = self._ask()
        return f"\n{CALL}" if prompt else f"{RULES}\n\n{turn}"

    def move(self, text: str) -> str:
        """Make the move that you are asked for.

        Args:
            text: The move, one line.

        Returns:
            What you can see after it, and the request for your next move if there is one.
        """
        if self._episode.done:
            return "The game is over."
        move = parse_move(text)
        self._episode.step(Move(one_line(remove_thoughts(text)) if move is None else move))
        return self._ask()

    def get_reward(self) -> float:
        """Bits of the measured player, or normalised; the floor where the game was left before
        its end."""
        score = self._row.score(self._episode.play) if self._episode.done else self._row.floor
        return self._row.reward(score, self._normalise)

    def _ask(self) -> str:
        turn = self._episode.turn
        if turn is not None:
            text = message(turn.request, self._items_shown)
            self._items_shown = len(turn.request.view.items)
            return f"{text}\n{CALL}"
        play, role = self._episode.play, self._row.role
        return f"The game is over ({play.outcome_for(role)}): {self._row.score(play):.1f} bits."


def environment_factory(
    judge: Judge, others: Player | None = None, normalise: bool = False
) -> Callable[[], GameEnvironment]:
    """A value for TRL's ``environment_factory``, for rows of any games in one run.

    >>> GRPOTrainer(environment_factory=environment_factory(judge), …)  # doctest: +SKIP

    ``others`` makes the moves of all players but the row's role; ``normalise``: standard
    deviations above the base player's mean instead of bits.
    """
    return lambda: GameEnvironment(judge, others, normalise)
