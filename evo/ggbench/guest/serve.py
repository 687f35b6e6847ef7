"""The guest's process: it imports what games may use, sets the limits, locks, and only then serves
one game over a pipe: a request in, an answer out; a fault is an answer, too. Messages are lines of
JSON, never anything executable; the first holds the settings: ``paths`` of packages, ``memory``
(bytes), ``cpu_seconds``, and whether it is to be ``locked``.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import Random
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from evo.ggbench.guest import lock
from evo.ggbench.guest.position import (
    INVALID,
    GameError,
    Policy,
    Position,
    chosen_move,
    random_move,
    valid_moves,
)

BOOT = (
    "import json, sys; settings = json.loads(sys.stdin.buffer.readline()); "
    "sys.path += settings['paths']; from evo.ggbench.guest.serve import main; main(settings)"
)
"""The program of ``python -c``, which names no folder of the host."""

STANDARD = (
    "abc array bisect calendar cmath collections copy dataclasses datetime decimal difflib enum "
    "fractions functools graphlib hashlib heapq io itertools json logging math numbers operator "
    "pprint queue random re reprlib statistics string struct textwrap time types typing "
    "unicodedata uuid warnings weakref "
)
"""Modules of the standard library that a game may import, as its author is told. They are imported
before the lock, since no file can be opened after it."""
_OTHERS = (
    "_strptime argparse csv encodings.ascii encodings.latin_1 gymnasium.utils.env_checker "
    "numpy.char numpy.fft numpy.ma numpy.polynomial numpy.rec numpy.strings numpy.testing pathlib "
    "timeit tracemalloc unittest zoneinfo"
)
"""Others that programs import out of habit, or that those above import late, as far as numpy and
gymnasium have not imported them already."""


def main(settings: Mapping[str, Any]) -> None:
    """Serve one game until the host closes the stream."""
    for name in (STANDARD + _OTHERS).split():
        with suppress(ImportError):  # of another version of numpy or gymnasium
            importlib.import_module(name)
    _forget_host()
    unlocked = None if settings["locked"] else "no lock was asked for"
    try:
        lock.limit(settings["memory"], settings["cpu_seconds"])
        if settings["locked"]:
            lock.lock()
    except lock.LockError as error:
        unlocked = str(error)
    send(line({"unlocked": unlocked}))
    # the game's own output goes where errors go, which is nowhere, and it has no input
    requests, guest = sys.stdin, Guest()
    sys.stdout = sys.__stdout__ = sys.stderr  # type: ignore[assignment, misc]
    sys.stdin = sys.__stdin__ = None  # type: ignore[misc]
    while content := requests.buffer.readline():
        send(_answer(guest, **json.loads(content)))


def _forget_host() -> None:
    """Remove the host's folders from what a program can read without looking for it."""
    sys.path.clear()
    sys.path_importer_cache.clear()
    sys.argv, sys.orig_argv = ["game"], ["game"]
    for name in ("executable", "_base_executable", "_stdlib_dir", "_framework"):
        setattr(sys, name, "")
    sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = ""
    for module in [each for each in sys.modules.values() if isinstance(each, ModuleType)]:
        for name in ("__file__", "__cached__", "__path__", "__loader__"):
            vars(module).pop(name, None)
        if spec := vars(module).get("__spec__"):
            spec.origin = spec.loader = spec.cached = spec.submodule_search_locations = None


# -- messages --------------------------------------------------------------------------------------

MOST_TEXT, MOST_PLAYER = 20_000, 200
"""Characters of a board or an error, and of a player's name."""


def line(message: object) -> bytes:
    """The bytes of a message. Raises ValueError if it is no JSON."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def send(content: bytes) -> None:
    """Answer the host."""
    while content:
        content = content[os.write(1, content) :]


# -- the game ------------------------------------------------------------------------------------

Answer = dict[str, Any]


class Slot:
    """One game after the other for a learner, in a seat drawn for each; opponents answer here."""

    def __init__(
        self, kind: Callable[[], Any], rng: Random, policies: Sequence[Policy], most: int
    ) -> None:
        self.kind, self.rng, self.policies, self.most = kind, rng, policies, most

    def begin(self, exploration: float) -> None:
        """A new game up to the learner's first move."""
        self.position = Position(self.kind, self.rng.getrandbits(32))
        self.seat = int(self.rng.random() * 2)
        # drawn in any case: the same luck whether or not there are earlier checkpoints
        place = self.rng.random() * len(self.policies)
        self.opponent = self.policies[int(place)] if self.policies else None
        if self.seat == 1:
            self._answer(exploration)
            if self.position.result is not None:
                raise GameError("a game ends with its first move")

    def move(self, move: int, exploration: float) -> tuple[float, bool]:
        """The learner's move and the answer to it: the learner's reward (1 win, −1 loss, 0 draw),
        and whether the game ended, after which the next has begun."""
        position, reward = self.position, float(INVALID)
        if move in position.legal:
            position.play(move)
            if position.result is None:
                self._answer(exploration)
            if position.result is None:
                if len(position.line) >= self.most:
                    raise GameError(f"a game of self-play lasts longer than {self.most} moves")
                return 0.0, False
            reward = 2 * position.value(self.seat) - 1
        self.begin(exploration)
        return reward, True

    def _answer(self, exploration: float) -> None:
        if self.opponent is None or self.rng.random() < exploration:
            self.position.play(random_move(self.position, self.rng))
        else:
            self.position.play(self.opponent.sample(self.position, self.rng))


class Guest:
    """The game's class, one game that the host steps, and many that it asks for as a whole. Each
    public method answers a request, whose values are its arguments."""

    def __init__(self) -> None:
        self.policies: dict[str, Policy] = {}

    def open(self, source: str, most_moves: int) -> Answer:
        """Read and execute the game's text."""
        # dataclasses, enums and named tuples look for the module of their class
        module = sys.modules["game"] = ModuleType("game")
        exec(compile(source, "game", "exec", dont_inherit=True), module.__dict__)
        self.kind: Callable[[], Any] = module.__dict__["CustomEnv"]
        self.most = most_moves
        env = self.kind()
        space = env.action_space
        if not isinstance(space, gymnasium.spaces.Discrete) or int(space.start):
            raise GameError("action_space is no Discrete space from 0")
        self.actions, self.shape = int(space.n), env.observation_space.shape
        return {"actions": self.actions, "shape": self.shape}

    def new(self, seed: int) -> Answer:
        """Begin a game."""
        self.position = Position(self.kind, seed)
        return self._view()

    def play(self, move: int) -> Answer:
        """Make a move in the game that was begun."""
        self.position.play(move)
        return self._view()

    def policy(self, name: str, layers: Sequence[Mapping[str, str]]) -> Answer:
        """Keep a policy under a name."""
        self.policies[name] = Policy(layers)
        return {}

    def choose(self, agent: Mapping[str, Any], seed: int) -> Answer:
        """The move of an agent in the game that was begun."""
        move = chosen_move(agent, self.policies, self.position, Random(seed), self.most)
        return {"move": int(move)}

    def match(self, agents: Sequence[Mapping[str, Any]], seed: int) -> Answer:
        """A whole game between two agents."""
        position, rng = Position(self.kind, seed), Random(seed)
        while position.result is None and len(position.line) < self.most:
            agent = agents[position.mover]
            position.play(int(chosen_move(agent, self.policies, position, rng, self.most)))
        return {"moves": position.line, "result": position.result}

    def train(self, seeds: Sequence[int], opponents: Sequence[str], exploration: float) -> Answer:
        """Begin many games for a learner, against random moves or earlier checkpoints."""
        policies = [self.policies[name] for name in opponents]
        self.slots = [Slot(self.kind, Random(seed), policies, self.most) for seed in seeds]
        for slot in self.slots:
            slot.begin(exploration)
        return self._batch([(0.0, False)] * len(self.slots))

    def learn(self, moves: Sequence[int], exploration: float) -> Answer:
        """A move of the learner in each of the games."""
        pairs = zip(self.slots, moves, strict=True)
        return self._batch([slot.move(move, exploration) for slot, move in pairs])

    def _batch(self, results: list[tuple[float, bool]]) -> Answer:
        """What the learner sees: features (games, size) float32, masks (games, actions) in bits."""
        masks = np.zeros((len(self.slots), self.actions), bool)
        for mask, slot in zip(masks, self.slots, strict=True):
            mask[slot.position.legal] = True
        features = np.stack([slot.position.features() for slot in self.slots])
        rewards, ended = zip(*results, strict=True)
        arrays = {"features": as_text(features), "masks": as_text(np.packbits(masks))}
        return {**arrays, "rewards": rewards, "ended": ended}

    def _view(self) -> Answer:
        """The values that the host checks; it does not trust them."""
        position = self.position
        observation = np.asarray(position.observation, np.float32)
        space, text = position.env.observation_space, position.env.render()
        if observation.shape != self.shape:
            shapes = f"{list(observation.shape)}, expected {list(self.shape)}"
            raise GameError(f"an observation has the shape {shapes}")
        if (observation < space.low).any() or (observation > space.high).any():
            raise GameError("an observation lies outside its space")
        if not isinstance(text, str) or not text.strip():
            raise GameError("render returns no text")
        # agents play without being shown the game, so asking must change nothing
        if position.result is None and valid_moves(position.env) != position.legal:
            raise GameError("valid_moves returns other moves when it is asked again")
        if position.env.render() != text:
            raise GameError("render or valid_moves changes the game")
        return {
            "observation": as_text(observation),
            "text": _whole_text(text),
            "legal": [_whole(move) for move in position.legal],
            "result": position.result,
            "player": _name(getattr(position.env, "current_player", None)),
        }


def as_text(values: NDArray[Any]) -> str:
    """The numbers as base 64, for an answer or a request."""
    return base64.b64encode(values.tobytes()).decode()


def _whole_text(text: str) -> str:
    """A text without halves of characters, which no JSON holds."""
    return text.encode(errors="replace").decode()


def _name(player: Any) -> str | None:
    """A player's name, which later moves cannot change; None for an object without one."""
    text = repr(player.item() if isinstance(player, np.generic) else player)
    return None if player is None or " at 0x" in text else _whole_text(text[:MOST_PLAYER])


def _whole(move: Any) -> int:
    if isinstance(move, bool | np.bool_) or not isinstance(move, int | np.integer):
        raise GameError(f"valid_moves holds a {type(move).__name__}, expected whole numbers")
    return int(move)


def _answer(guest: Guest, do: str, number: int, values: Mapping[str, Any]) -> bytes:
    try:
        return line({"number": number, "answer": getattr(guest, do)(**values)})
    except BaseException as error:  # noqa: BLE001 – SystemExit and its like are a game's verdict, too
        message = _message(error)
        error.__traceback__ = None  # it may hold all the memory that there is
        return line({"number": number, "fault": message})


def _message(error: BaseException) -> str:
    try:
        message = str(error)[:MOST_TEXT]
        kind = "" if isinstance(error, GameError) else f"{type(error).__name__}: "
    except BaseException:  # noqa: BLE001 – the text of a game's own exception may raise any other
        kind, message = "", "(no message)"
    return _whole_text(f"{kind[:MOST_PLAYER]}{message}")
