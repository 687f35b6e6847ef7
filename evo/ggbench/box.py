"""The host's side of the box: one game in a process of its own, asked within deadlines.

Every answer is checked before it is used: form, type, range and shape. A game can only spoil
itself: whatever it breaks raises :class:`GameFaultError`, and its process is killed.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, Self

import gymnasium
import numpy as np
from numpy.typing import NDArray

from evo.ggbench.game import Game
from evo.ggbench.guest import frames
from xgl.errors import ConfigError, excerpt

GUEST = Path(__file__).parent / "guest" / "main.py"
MOST_ACTIONS = 20_000
MOST_OBSERVED = 8_192
"""Numbers in an observation."""
MOST_REASON = 200
"""Characters of what a game says of itself."""
Agent = Mapping[str, Any]
_LOCKED = True
"""Tests see what happens without."""


@dataclass(frozen=True)
class BoxLimits:
    """What one game may take, in seconds: to start, for an answer, in all, and of processor time;
    ``memory`` in bytes of address space."""

    start: float = 60.0
    answer: float = 5.0
    total: float = 600.0
    cpu: int = 600
    memory: int = 1 << 30
    most_moves: int = 100
    """After which a game ends undecided."""


LIMITS = BoxLimits()


class GameFaultError(Exception):
    """A game broke the rules of the box, or its interface; the message says how."""


class NoLockError(ConfigError):
    """This machine cannot lock a game in."""


@dataclass(frozen=True)
class Spaces:
    """``actions``: moves are 0 … actions − 1; ``shape`` of an observation."""

    actions: int
    shape: tuple[int, ...]

    @property
    def features(self) -> int:
        """Numbers that a policy reads: the observation, and who moves."""
        return math.prod(self.shape) + 1


@dataclass(frozen=True)
class View:
    """A game after a move. ``result``: 1 the first player won, −1 the second, 0 neither, None it
    goes on; ``player``: what the game says whose turn it is, if it does."""

    observation: bytes
    text: str
    legal: tuple[int, ...]
    mover: int
    result: int | None
    truncated: bool
    player: str | None
    inside: bool


@dataclass(frozen=True)
class Match:
    """A whole game: the moves, and the result as in :class:`View`, None where it was too long."""

    moves: tuple[int, ...]
    result: int | None


@dataclass(frozen=True)
class Batch:
    """What a learner sees: features (games, size) and masks (games, actions); after a move also
    rewards (games,) and whether games ended (games,)."""

    features: NDArray[np.float32]
    masks: NDArray[np.bool_]
    rewards: NDArray[np.float32]
    ended: NDArray[np.bool_]


class Box:
    """One game in its process; a context manager. The process ends with the thread that began
    it."""

    def __init__(self, game: Game, limits: BoxLimits = LIMITS) -> None:
        self.game, self.limits = game, limits

    def __enter__(self) -> Self:
        """Raises :class:`NoLockError` and :class:`GameFaultError`."""
        self._number, self._until = 0, monotonic() + self.limits.start + self.limits.total
        self._closed = False
        self._process = _started(self.limits)
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        try:
            self._check_locked(self._receive(self.limits.start))
            self.spaces = self._opened()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process and all that it may have started; once, as its id may be another's."""
        if self._closed:
            return
        self._closed = True
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    # -- requests; each raises GameFaultError ------------------------------------------------

    def new(self, seed: int) -> View:
        """Begin a game that the host steps."""
        return self._view(self._ask("new", seed=seed))

    def play(self, move: int) -> View:
        """Make a move in it."""
        return self._view(self._ask("play", move=move))

    def choose(self, agent: Agent, seed: int, seconds: float | None = None) -> int:
        """What an agent would play in it."""
        answer = self._ask("choose", seconds, agent=agent, seed=seed)
        return _whole(answer, "move", 0, self.spaces.actions - 1)

    def keep_policy(self, name: str, layers: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Give the guest a policy: weights (inputs, outputs) and biases (outputs,) by layer."""
        encoded = [
            {"weights": _base64(weights), "biases": _base64(biases)} for weights, biases in layers
        ]
        self._ask("policy", name=name, layers=encoded)

    def match(self, agents: tuple[Agent, Agent], seed: int, seconds: float | None = None) -> Match:
        """A whole game; the first of the agents moves first."""
        answer = self._ask("match", seconds, agents=agents, seed=seed)
        moves = _wholes(answer, "moves", 0, self.spaces.actions - 1)
        if len(moves) > self.limits.most_moves:
            raise GameFaultError("a game is longer than it may be")
        return Match(moves, _result(answer))

    def solve(self, most: int, seconds: float, seed: int = 0) -> tuple[int, int] | str:
        """Positions and the value for who moves first (1, 0, −1), or why it cannot be solved."""
        answer = self._ask("solve", seconds, most=most, seed=seed)
        if "reason" in answer:
            return _text(answer, "reason")
        return _whole(answer, "positions", 1, most), _whole(answer, "value", -1, 1)

    def quiz(self, agent: Agent, positions: int, seed: int, seconds: float) -> tuple[int, int]:
        """Positions asked, of those where some moves win and some do not, and winning answers."""
        answer = self._ask(
            "quiz", seconds, agent=agent, positions=positions, seed=seed, game_seed=0
        )
        asked = _whole(answer, "asked", 0, positions)
        return asked, _whole(answer, "right", 0, asked)

    def train(self, seeds: Sequence[int], opponents: Sequence[str], exploration: float) -> Batch:
        """Begin as many games as seeds, for a learner."""
        answer = self._ask("train", seeds=seeds, opponents=opponents, exploration=exploration)
        nothing = {"rewards": [0.0] * len(seeds), "ended": [0] * len(seeds)}
        return self._batch({**answer, **nothing}, len(seeds))

    def learn(self, moves: Sequence[int], exploration: float) -> Batch:
        """The learner's move in each of them."""
        answer = self._ask("learn", moves=moves, exploration=exploration)
        return self._batch(answer, len(moves))

    # -- answers -----------------------------------------------------------------------------

    def _opened(self) -> Spaces:
        answer = self._ask("open", source=self.game.source, most_moves=self.limits.most_moves)
        actions = _whole(answer, "actions", 1, MOST_ACTIONS)
        spaces = Spaces(actions, _wholes(answer, "shape", 0, MOST_OBSERVED))
        if not 1 <= math.prod(spaces.shape) <= MOST_OBSERVED or len(spaces.shape) > 8:
            raise GameFaultError(f"observations have the shape {list(spaces.shape)}")
        return spaces

    def _view(self, answer: Mapping[str, Any]) -> View:
        if list(self.spaces.shape) != answer.get("shape"):
            found = excerpt(ascii(answer.get("shape")), 60)
            raise GameFaultError(
                f"an observation has the shape {found}, expected {list(self.spaces.shape)}"
            )
        size = math.prod(self.spaces.shape)
        observed = _floats(answer, "observation", size)
        player = answer.get("player")
        if player is not None and not isinstance(player, str):
            raise _malformed("player")
        return View(
            observed.tobytes(),
            _text(answer, "text"),
            self._legal(answer),
            _whole(answer, "mover", 0, 1),
            _result(answer),
            _flag(answer, "truncated"),
            player,
            _flag(answer, "inside"),
        )

    def _legal(self, answer: Mapping[str, Any]) -> tuple[int, ...]:
        legal = _wholes(answer, "legal", 0, self.spaces.actions - 1)
        if len(set(legal)) != len(legal):
            raise GameFaultError("valid_moves names a move twice")
        if not legal and _result(answer) is None:
            raise GameFaultError("no valid move is left and the game is not over")
        return legal

    def _batch(self, answer: Mapping[str, Any], games: int) -> Batch:
        features = _floats(answer, "features", games * self.spaces.features).copy()
        bits = np.frombuffer(_bytes(answer, "masks"), np.uint8)
        if bits.size != -(-games * self.spaces.actions // 8):
            raise _malformed("masks")
        masks = np.unpackbits(bits)[: games * self.spaces.actions].astype(bool)
        masks = masks.reshape(games, self.spaces.actions)
        if not masks.any(axis=1).all():
            raise GameFaultError("no valid move is left and the game is not over")
        rewards, ended = (answer.get(name) for name in ("rewards", "ended"))
        if not _plain_numbers(rewards, games, -10) or not _plain_numbers(ended, games, 0):
            raise _malformed("rewards")
        return Batch(
            features.reshape(games, -1), masks, np.array(rewards, np.float32), np.array(ended, bool)
        )

    # -- the pipe ----------------------------------------------------------------------------

    def _ask(self, do: str, seconds: float | None = None, **values: Any) -> Mapping[str, Any]:
        """Send a request and return its answer, which is a mapping."""
        self._number += 1
        if select.select([self._out], [], [], 0)[0]:
            raise self._end("it speaks without being asked")
        until = monotonic() + (self.limits.answer if seconds is None else seconds)
        until = min(until, self._until)
        self._send(frames.encode({"do": do, "number": self._number, **values}), until)
        reply = self._receive(until - monotonic())
        if not isinstance(reply, dict) or reply.get("number") != self._number:
            raise self._end("an answer to something that was not asked")
        if "fault" in reply:
            raise GameFaultError(_cleaned(reply["fault"]))
        if not isinstance(reply.get("answer"), dict):
            raise self._end("an answer of the wrong form")
        return reply["answer"]

    def _send(self, frame: bytes, until: float) -> None:
        rest = memoryview(frame)
        while rest:
            ready = select.select([], [self._in], [], max(0.0, until - monotonic()))[1]
            if not ready:
                raise self._end("no answer within its deadline")
            try:
                rest = rest[os.write(self._in, rest) :]
            except OSError:
                raise self._end(self._ending()) from None

    def _receive(self, seconds: float) -> Any:
        """One message, within so many seconds."""
        until = monotonic() + seconds
        size = int.from_bytes(self._exactly(frames.LENGTH, until), "big")
        if not 0 < size <= frames.MOST:
            raise self._end(f"an answer of {size} bytes, expected at most {frames.MOST}")
        body = self._exactly(size, until)
        try:
            return json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise self._end("an answer that is no JSON") from None

    def _exactly(self, size: int, until: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            if not select.select([self._out], [], [], max(0.0, until - monotonic()))[0]:
                raise self._end("no answer within its deadline")
            part = os.read(self._out, size - len(parts))
            if not part:
                raise self._end(self._ending())
            parts += part
        return bytes(parts)

    def _ending(self) -> str:
        """Why the process closed its pipe."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1.0)
            if code == -signal.SIGKILL:
                return "its process used more than its processor time or memory"
            if code < 0:
                return f"its process was ended by signal {-code}"
            return f"its process ended with code {code}"
        return "it closed its pipe"

    def _end(self, reason: str) -> GameFaultError:
        """A fault after which nothing more is asked."""
        self.close()
        return GameFaultError(reason)

    def _check_locked(self, hello: Any) -> None:
        """Raises :class:`NoLockError` for a game that does not ship and is not locked in."""
        if not (isinstance(hello, dict) and hello.get("locked") is True) and not self.game.ships:
            reason = hello.get("reason") if isinstance(hello, dict) else None
            raise NoLockError(
                f"game: {self.game.name} does not ship with this package, and this machine cannot "
                f"lock it in ({reason}), expected Linux with seccomp"
            )


def _started(limits: BoxLimits) -> subprocess.Popen[bytes]:
    settings = {
        "paths": _paths(),
        "memory": limits.memory,
        "cpu_seconds": limits.cpu,
        "locked": _LOCKED,
    }
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(GUEST), json.dumps(settings)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


@cache
def _paths() -> list[str]:
    """Where the guest finds this package, numpy and gymnasium."""
    files = [Path(str(module.__file__)) for module in (np, gymnasium)]
    roots = [Path(__file__).parents[2], *(file.parents[1] for file in files)]
    return list(dict.fromkeys(str(root.resolve()) for root in roots))


# -- checks ------------------------------------------------------------------------------------


def _malformed(name: str) -> GameFaultError:
    return GameFaultError(f"an answer whose {name} has the wrong form")


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


def _cleaned(text: object) -> str:
    """What a game says, as one short line."""
    if not isinstance(text, str):
        return "a fault of the wrong form"
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2000]).split())
    return excerpt(line, MOST_REASON) or "a fault without a message"


def _whole(answer: Mapping[str, Any], name: str, low: int, high: int) -> int:
    value = answer.get(name)
    if type(value) is not int or not low <= value <= high:
        expected = f"a whole number from {low} to {high}"
        raise GameFaultError(f"{name}: found {excerpt(ascii(value), 60)}, expected {expected}")
    return value


def _wholes(answer: Mapping[str, Any], name: str, low: int, high: int) -> tuple[int, ...]:
    values = answer.get(name)
    if not isinstance(values, list) or len(values) > 2 * MOST_ACTIONS:
        raise _malformed(name)
    return tuple(_whole({name: value}, name, low, high) for value in values)


def _flag(answer: Mapping[str, Any], name: str) -> bool:
    value = answer.get(name)
    if not isinstance(value, bool):
        raise _malformed(name)
    return value


def _result(answer: Mapping[str, Any]) -> int | None:
    return None if answer.get("result") is None else _whole(answer, "result", -1, 1)


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str):
        raise GameFaultError("render returns no text" if name == "text" else f"{name} is no text")
    return value.encode(errors="replace").decode()


def _bytes(answer: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(answer.get(name) or "", validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise _malformed(name) from None


def _floats(answer: Mapping[str, Any], name: str, size: int) -> NDArray[np.float32]:
    content = _bytes(answer, name)
    if len(content) != 4 * size:
        raise _malformed(name)
    values = np.frombuffer(content, np.float32)
    if not np.isfinite(values).all():
        raise GameFaultError("an observation holds a number that is not finite")
    return values


def _plain_numbers(values: object, size: int, low: float) -> bool:
    return (
        isinstance(values, list)
        and len(values) == size
        and all(type(each) in (int, float, bool) and low <= each <= 1 for each in values)
    )


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, np.float32).tobytes()).decode()
