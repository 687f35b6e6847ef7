"""The host's side of the box: one game in a process of its own, whose answers have deadlines.

Every answer is checked before it is used: form, type, range, length and shape. A faulty game harms
only itself: each fault raises :class:`GameFaultError`, and its process is killed.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import reprlib
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

from evo.ggbench.game import ProgramGame
from evo.ggbench.guest import frames
from evo.ggbench.guest.frames import MOST_PLAYER, MOST_TEXT
from evo.ggbench.guest.main import BOOT
from xgl.errors import ConfigError, excerpt

LOCKED = True
"""Tests set it to False."""
MOST_ACTIONS, MOST_OBSERVED, MOST_DIMENSIONS = 20_000, 8_192, 8
"""Of a game: its moves, and the numbers and axes of an observation."""
MOST_REASON = 200
"""Most characters of a game's own text in a message."""
Agent = Mapping[str, Any]
"""Who moves, as :meth:`evo.ggbench.guest.agents.Agents.agent` reads it."""
Answer = Mapping[str, Any]
RANDOM, OPTIMAL, MCTS, SIMULATIONS = "random", "optimal", "mcts", 100
Floats = NDArray[np.float32]


def agent_named(name: str) -> Agent | None:
    """An agent without a policy: random, optimal, or mcts@N, a search of N simulations with random
    roll-outs, 100 where not said. None for another name."""
    kind, at, simulations = name.partition("@")
    if name in (RANDOM, OPTIMAL):
        return {"kind": name}
    count = int(simulations) if simulations.isascii() and simulations.isdecimal() else 0
    if kind == MCTS and (count or not at):
        return {"kind": "search", "policy": None, "simulations": count or SIMULATIONS}
    return None


class GameFaultError(Exception):
    """A game broke the rules of the box, or its interface; the message says how."""


class NoLockError(ConfigError):
    """This machine has no lock for the process of a game."""


@dataclass(frozen=True)
class BoxLimits:
    """Limits of one game, in seconds: to start, for an answer, for all that its host waits for it,
    and of processor time; in bytes: ``memory`` of address space, ``answers`` of all together."""

    start: float = 60.0
    answer: float = 5.0
    total: float = 600.0
    cpu: int = 600
    memory: int = 1 << 30
    answers: int = 1 << 28
    most_moves: int = 100
    """After which a game ends undecided."""


@dataclass(frozen=True)
class ProgramView:
    """A game after a move. ``result``: 1 the first player won, −1 the second, 0 neither, None it
    goes on; ``player``: what the game says whose turn it is, if it does."""

    observation: bytes
    text: str
    legal: tuple[int, ...]
    mover: int
    result: int | None
    player: str | None
    inside: bool


@dataclass(frozen=True)
class Batch:
    """Observations of a learner: features (games, size) and masks (games, actions); after a move
    also rewards (games,) and whether games ended (games,)."""

    features: Floats
    masks: NDArray[np.bool_]
    rewards: Floats
    ended: NDArray[np.bool_]


class Box:
    """One game in its process; a context manager. The process ends with the thread that began
    it. ``actions``: moves are 0 … actions − 1; ``shape``: of an observation."""

    def __init__(self, game: ProgramGame, limits: BoxLimits | None = None) -> None:
        self.game, self.limits = game, limits or BoxLimits()

    def __enter__(self) -> Self:
        """Raises :class:`NoLockError` and :class:`GameFaultError`."""
        limits = self.limits
        self._number, self._seconds, self._bytes = 0, limits.total, limits.answers
        self.process = _start()
        try:
            settings = {"memory": limits.memory, "cpu_seconds": limits.cpu, "locked": LOCKED}
            until = monotonic() + limits.start
            self._send(frames.encode({"paths": _paths(), **settings}), until)
            hello = self._receive(until)
            if hello["locked"] is not True and not self.game.ships:
                raise NoLockError(
                    f"game: {self.game.name} does not ship with this package, and this machine "
                    f"cannot lock it in ({hello['reason']}), expected Linux with seccomp"
                )
            spaces = self._ask("open", source=self.game.source, most_moves=limits.most_moves)
            self.actions = whole(spaces, "actions", 1, MOST_ACTIONS)
            self.shape = wholes(spaces, "shape", 0, MOST_OBSERVED)
            if not 1 <= math.prod(self.shape) <= MOST_OBSERVED or len(self.shape) > MOST_DIMENSIONS:
                raise GameFaultError(f"observations have the shape {list(self.shape)}")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process and its children, once; not if it has ended, since its id may belong to
        another process."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    # -- requests; each raises GameFaultError ------------------------------------------------

    def new(self, seed: int) -> ProgramView:
        """Begin a game that the host steps."""
        return self._view(self._ask("new", seed=seed))

    def play(self, move: int) -> ProgramView:
        """Make a move in the host's game."""
        return self._view(self._ask("play", move=move))

    def choose(self, agent: Agent, seed: int, seconds: float | None = None) -> int:
        """The move that an agent chooses in the host's game."""
        answer = self._ask("choose", seconds, agent=agent, seed=seed)
        return whole(answer, "move", 0, self.actions - 1)

    def keep_policy(self, name: str, layers: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Give the guest a policy: weights (inputs, outputs) and biases (outputs,) by layer."""
        texts = [{"weights": _as_base64(w), "biases": _as_base64(b)} for w, b in layers]
        self._ask("policy", name=name, layers=texts)

    def match(
        self, agents: tuple[Agent, Agent], seed: int, seconds: float | None = None
    ) -> tuple[tuple[int, ...], int | None]:
        """A whole game, of which the first agent moves first: its moves, and its result as in
        :class:`ProgramView`; None: it was too long."""
        answer = self._ask("match", seconds, agents=agents, seed=seed)
        moves = wholes(answer, "moves", 0, self.actions - 1)
        if len(moves) > self.limits.most_moves:
            raise GameFaultError("a game is longer than it may be")
        return moves, _result(answer)

    def solve(self, most: int, seconds: float, seed: int = 0) -> tuple[int, int] | str:
        """Positions and the value for who moves first (1, 0, −1), or why it cannot be solved."""
        answer = self._ask("solve", seconds, most=most, seed=seed)
        if "reason" in answer:
            return one_line(_text(answer, "reason"))
        return whole(answer, "positions", 1, most), whole(answer, "value", -1, 1)

    def train(self, seeds: Sequence[int], opponents: Sequence[str], exploration: float) -> Batch:
        """Begin as many games as seeds, for a learner."""
        answer = self._ask("train", seeds=seeds, opponents=opponents, exploration=exploration)
        nothing = {"rewards": [0.0] * len(seeds), "ended": [0] * len(seeds)}
        return self._batch({**answer, **nothing}, len(seeds))

    def learn(self, moves: Sequence[int], exploration: float) -> Batch:
        """The learner's move in each of them."""
        return self._batch(self._ask("learn", moves=moves, exploration=exploration), len(moves))

    # -- the pipe ----------------------------------------------------------------------------

    def _ask(self, do: str, seconds: float | None = None, **values: Any) -> Answer:
        """Send a request and return its answer, which is a mapping."""
        self._number += 1
        assert self.process.stdout
        if self.process.stdout.closed:
            raise GameFaultError("its process was ended for an earlier fault")
        if select.select([self.process.stdout], [], [], 0)[0]:
            raise self._end("it speaks without being asked")
        began = monotonic()
        until = began + min(self._seconds, self.limits.answer if seconds is None else seconds)
        self._send(frames.encode({"do": do, "number": self._number, **values}), until)
        reply = self._receive(until)
        self._seconds -= monotonic() - began
        if not isinstance(reply, dict) or reply.get("number") != self._number:
            raise self._end("an answer to something that was not asked")
        if "fault" in reply:
            raise GameFaultError(one_line(reply["fault"]))
        if not isinstance(reply.get("answer"), dict):
            raise self._end("an answer of the wrong form")
        return reply["answer"]

    def _send(self, frame: bytes, until: float) -> None:
        rest, pipe = memoryview(frame), self.process.stdin
        assert pipe
        while rest:
            if not select.select([], [pipe], [], max(0.0, until - monotonic()))[1]:
                raise self._end("no answer within its deadline")
            try:
                rest = rest[os.write(pipe.fileno(), rest) :]
            except OSError:
                raise self._end(self._ending()) from None

    def _receive(self, until: float) -> Any:
        """One message. It may take until then to begin, and then as long as a short answer."""
        head = self._exactly(1, until)
        until = min(until, monotonic() + self.limits.answer)
        size = int.from_bytes(head + self._exactly(frames.LENGTH - 1, until), "big")
        if not 0 < size <= frames.MOST:
            raise self._end(f"an answer of {size} bytes, expected at most {frames.MOST}")
        self._bytes -= size
        if self._bytes < 0:
            raise self._end(f"answers of more than {self.limits.answers} bytes together")
        try:
            return json.loads(self._exactly(size, until), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise self._end("an answer that is no JSON") from None

    def _exactly(self, size: int, until: float) -> bytes:
        parts, pipe = bytearray(), self.process.stdout
        assert pipe
        while len(parts) < size:
            if not select.select([pipe], [], [], max(0.0, until - monotonic()))[0]:
                raise self._end("no answer within its deadline")
            part = os.read(pipe.fileno(), size - len(parts))
            if not part:
                raise self._end(self._ending())
            parts += part
        return bytes(parts)

    def _ending(self) -> str:
        """Why the process closed its pipe."""
        with suppress(subprocess.TimeoutExpired):
            code = self.process.wait(1.0)
            if code == -signal.SIGKILL:
                return "its process used more than its processor time or memory"
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            return f"its process {ended}"
        return "it closed its pipe"

    def _end(self, reason: str) -> GameFaultError:
        """Close the process; returns the fault."""
        self.close()
        return GameFaultError(reason)

    # -- answers of several values -----------------------------------------------------------

    def _view(self, answer: Answer) -> ProgramView:
        if list(self.shape) != answer.get("shape"):
            found = f"has the shape {_shown(answer.get('shape'))}"
            raise GameFaultError(f"an observation {found}, expected {list(self.shape)}")
        legal = wholes(answer, "legal", 0, self.actions - 1)
        if len(set(legal)) != len(legal):
            raise GameFaultError("valid_moves names a move twice")
        if not legal and _result(answer) is None:
            raise GameFaultError("no valid move is left and the game is not over")
        named = answer.get("player") is not None
        return ProgramView(
            _floats(answer, "observation", math.prod(self.shape)).tobytes(),
            _text(answer, "text"),
            legal,
            whole(answer, "mover", 0, 1),
            _result(answer),
            _text(answer, "player", MOST_PLAYER) if named else None,
            answer.get("inside") is True,
        )

    def _batch(self, answer: Answer, games: int) -> Batch:
        features = _floats(answer, "features", games * (math.prod(self.shape) + 1)).copy()
        bits = np.frombuffer(_bytes(answer, "masks"), np.uint8)
        if bits.size != -(-games * self.actions // 8):
            raise _wrong_form("masks")
        masks = np.unpackbits(bits)[: games * self.actions].astype(bool)
        masks = masks.reshape(games, self.actions)
        if not masks.any(axis=1).all():
            raise GameFaultError("no valid move is left and the game is not over")
        rewards, ended = answer.get("rewards"), answer.get("ended")
        if not _are_numbers(rewards, games, -10) or not _are_numbers(ended, games, 0):
            raise _wrong_form("rewards")
        numbers = np.array(rewards, np.float32), np.array(ended, bool)
        return Batch(features.reshape(games, -1), masks, *numbers)


def _start() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-c", BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )
    for pipe in (process.stdin, process.stdout):
        os.set_blocking(pipe.fileno(), False)  # type: ignore[union-attr]
    return process


@cache
def _paths() -> list[str]:
    """Folders in which the guest finds this package, numpy and gymnasium."""
    files = [Path(str(module.__file__)) for module in (np, gymnasium)]
    roots = [Path(__file__).parents[2], *(file.parents[1] for file in files)]
    return list(dict.fromkeys(str(root.resolve()) for root in roots))


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


# -- checks of one value of an answer; each raises GameFaultError ----------------------------------


def _wrong_form(name: str) -> GameFaultError:
    return GameFaultError(f"an answer whose {name} has the wrong form")


def one_line(text: object) -> str:
    """A game's text as one short line."""
    if not isinstance(text, str):
        return "a fault of the wrong form"
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2000]).split())
    return excerpt(line, MOST_REASON) or "a fault without a message"


def _shown(value: object) -> str:
    """A value of the wrong form, without its depth and length."""
    return one_line(excerpt(reprlib.repr(value), 60))


def whole(answer: Answer, name: str, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``."""
    value = answer.get(name)
    if type(value) is not int or not low <= value <= high:
        expected = f"a whole number from {low} to {high}"
        raise GameFaultError(f"{name}: found {_shown(value)}, expected {expected}")
    return value


def wholes(answer: Answer, name: str, low: int, high: int) -> tuple[int, ...]:
    """A list of them."""
    values = answer.get(name)
    if not isinstance(values, list) or len(values) > 2 * MOST_ACTIONS:
        raise _wrong_form(name)
    return tuple(whole({name: value}, name, low, high) for value in values)


def _result(answer: Answer) -> int | None:
    """The result of a game: 1, 0, −1, or None while it goes on."""
    return None if answer.get("result") is None else whole(answer, "result", -1, 1)


def _text(answer: Answer, name: str, most: int = MOST_TEXT) -> str:
    """A text that can be stored, of at most ``most`` characters."""
    value = answer.get(name)
    if not isinstance(value, str):
        raise GameFaultError("render returns no text" if name == "text" else f"{name} is no text")
    if len(value) > most:
        raise GameFaultError(f"{name}: found {len(value)} characters, expected at most {most}")
    return value.encode(errors="replace").decode()


def _bytes(answer: Answer, name: str) -> bytes:
    """Bytes of a value in base 64."""
    try:
        return base64.b64decode(answer.get(name) or "", validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise _wrong_form(name) from None


def _floats(answer: Answer, name: str, size: int) -> Floats:
    """``size`` finite numbers (size,), from float32 in base 64."""
    content = _bytes(answer, name)
    if len(content) != 4 * size:
        raise _wrong_form(name)
    values = np.frombuffer(content, np.float32)
    if not np.isfinite(values).all():
        raise GameFaultError("an observation holds a number that is not finite")
    return values


def _are_numbers(values: object, size: int, low: float) -> bool:
    """Whether it is a list of so many numbers from ``low`` to 1."""
    return (
        isinstance(values, list)
        and len(values) == size
        and all(type(each) in (int, float, bool) and low <= each <= 1 for each in values)
    )


def _as_base64(values: NDArray[Any]) -> str:
    """The numbers as base 64, for a request."""
    return base64.b64encode(np.ascontiguousarray(values, np.float32).tobytes()).decode()
