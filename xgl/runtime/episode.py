"""One play of a game, step by step, for callers who make the moves themselves (environments,
evaluations, notebooks). The play is the same as in :func:`~xgl.runtime.lockstep.play_all`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import get_args

from xgl.errors import OversizeError, PlayerError, check_kind
from xgl.language.canonical import Game
from xgl.runtime import requests as req
from xgl.runtime.lockstep import Cast, Instance, RunningMachine, advance, cut_move, turn_of
from xgl.runtime.machine import Machine
from xgl.runtime.presentation import Message, first_messages

Answer = str | req.Move | OversizeError
"""A move: its text, or the error value of a player that could not read its view."""


class Episode:
    """One play of a game, waiting for moves.

    >>> episode = Episode(game, 1, judge, stories)  # doctest: +SKIP
    >>> while not episode.done:  # doctest: +SKIP
    ...     episode.step(write(episode.view, episode.limit))

    ``players`` make the moves of the players named by their keys; :meth:`step` makes all others.
    ``play_seed`` and ``memory`` as in :class:`~xgl.runtime.lockstep.Instance`.
    The play starts when it is first read, so episodes can be made one by one and started together
    (:func:`start_all`). Raises what a judge or a story source raises.
    """

    def __init__(
        self,
        game: Game,
        map_seed: int,
        judge: req.Judge,
        stories: req.StorySource,
        *,
        play_seed: int = 0,
        players: Mapping[str, req.Player] | None = None,
        memory: Mapping[str, req.Rounds] | None = None,
    ) -> None:
        self.game = game
        self.instance = Instance(game, req.Seeds(map_seed, play_seed), memory=memory or {})
        cast = Cast(judge, stories, players or {})
        self._machine = RunningMachine(self.instance, cast, Machine(game))

    @property
    def _running_machine(self) -> RunningMachine:
        start_all([self])
        return self._machine

    @property
    def done(self) -> bool:
        """Whether the play has ended."""
        return self._running_machine.play is not None

    @property
    def turn(self) -> req.Turn | None:
        """The open move request as a player gets it; None at the end."""
        request = self._running_machine.open_move
        return None if request is None else turn_of(self.instance, request)

    @property
    def player(self) -> str:
        """Name of the player whose turn it is; empty at the end."""
        return self.turn.request.view.player if self.turn else ""

    @property
    def view(self) -> req.View:
        """Everything that the player may see now. Raises :class:`PlayerError` at the end."""
        return self._open_turn().request.view

    @property
    def limit(self) -> int:
        """Most judge tokens of the move; a longer move is cut. Raises as ``view``."""
        return self._open_turn().request.max_len

    @property
    def prompt(self) -> list[Message]:
        """The rules and the view as chat messages. Raises as ``view``."""
        return first_messages(self._open_turn().request)

    @property
    def scores(self) -> dict[str, float]:
        """Bits that each player has collected so far."""
        running = self._running_machine
        return dict(running.machine.scores if running.play is None else running.play.scores)

    @property
    def events(self) -> tuple[req.Event, ...]:
        """Events so far."""
        return tuple(self._running_machine.machine.events)

    @property
    def play(self) -> req.Play:
        """The finished play. Raises :class:`PlayerError` while a move is awaited."""
        if self._running_machine.play is None:
            raise PlayerError(f"the play is not over: {self.player} is asked for a move")
        return self._running_machine.play

    def step(self, move: Answer) -> None:
        """Make the move that is asked for, and play on to the next one or to the end. Raises
        :class:`PlayerError` if the play is over."""
        step_all([self], [move])

    def _open_turn(self) -> req.Turn:
        turn = self.turn
        if turn is None:
            raise PlayerError("the play is over, and nobody is asked for a move")
        return turn

    def _hand_over(self, move: Answer) -> None:
        """Answer the open request, without playing on."""
        check_kind("move", move, get_args(Answer), "the text of a move")
        move = req.Move(move) if isinstance(move, str) else move
        request, machine = self._open_turn().request, self._running_machine
        machine.answers[:] = [cut_move(move, request, machine)]
        machine.resume()


def start_all(episodes: Iterable[Episode]) -> None:
    """Play each episode up to its first open move, in lockstep; episodes that already wait for a
    move do not change."""
    for each in (episodes := [*episodes]):
        check_kind("episode", each, Episode, "xgl.Episode(…)")
    advance([episode._machine for episode in episodes])


def step_all(episodes: Iterable[Episode], moves: Iterable[Answer]) -> None:
    """Make one move in each of several different episodes, their scores in common batches.

    Before any move is made raises :class:`PlayerError` if a play is over, and ValueError unless
    there are as many moves. Where the judge fails the moves are made all the same: its next success
    plays on from there.
    """
    pairs = [*zip(episodes, moves, strict=True)]
    start_all(started := [episode for episode, _ in pairs])
    for episode, move in pairs:
        episode._open_turn()
        check_kind("move", move, get_args(Answer), "the text of a move")
    for episode, move in pairs:
        episode._hand_over(move)
    start_all(started)


class EpisodeQueue:
    """Steps episodes for many coroutines of one event loop without blocking it.

    Steps that arrive while the judge works form its next batch; it scores in one thread at a time.
    An error reaches the coroutine of its episode, and an error of the judge all coroutines.
    """

    def __init__(self) -> None:
        self._waiting: list[Episode] = []
        self._thread = ThreadPoolExecutor(1)

    async def start(self, episode: Episode) -> None:
        """Play up to the first move."""
        self._waiting.append(episode)
        await asyncio.sleep(0)  # who arrives at the same time joins the batch
        await asyncio.get_running_loop().run_in_executor(self._thread, self._start, episode)

    async def step(self, episode: Episode, move: Answer) -> None:
        """As :meth:`Episode.step`."""
        await self.start(episode)
        episode._hand_over(move)
        await self.start(episode)

    def _start(self, episode: Episode) -> None:
        batch, self._waiting = self._waiting, []
        with suppress(Exception):  # each coroutine meets the error of its own episode again
            start_all(batch)
        start_all([episode])
