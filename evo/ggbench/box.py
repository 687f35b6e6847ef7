"""The host's side of the box: one game in a process of its own, whose answers have deadlines.

Every answer is checked before it is used: form, type, range, length and shape. A faulty game harms
only itself: each fault raises :class:`GameFaultError`, and its process is killed.
"""

from __future__ import annotations

import math
import reprlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Annotated, Any, Generic, NamedTuple, Self, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from evo.ggbench.game import ProgramGame
from evo.ggbench.guest.serve import BOOT, MOST_PLAYER, MOST_TEXT, as_text, line
from xgl.errors import ConfigError, excerpt
from xgl.escaping import printable

LOCKED = True
"""Tests set it to False."""
ENVIRONMENT = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
ENVIRONMENT["PYTHONHASHSEED"] = "0"
"""Of a game's process: one thread, and sets of texts in the same order in every process."""
MOST_ACTIONS, MOST_OBSERVED, MOST_DIMENSIONS = 20_000, 8_192, 8
"""Of a game: its moves, and the numbers and axes of an observation."""
MOST = 1 << 20
"""Bytes of an answer; what the host sends, such as a policy, may be longer."""
MOST_REASON = 200
"""Most characters of a game's own text in a message."""
START, SEARCH = 60.0, 600.0
"""Seconds for the process to start, and for an answer that takes a search or a whole game."""
Agent = Mapping[str, Any]
"""Who moves, as :func:`evo.ggbench.guest.position.chosen_move` reads it."""
RANDOM = "random"
RANDOM_MOVES: Agent = {"kind": RANDOM}
SIMULATIONS = 100
"""Of a search, where not said (section 2.2)."""
Floats = NDArray[np.float32]


def searching(policy: str | None, simulations: int = SIMULATIONS) -> Agent:
    """An agent that searches, with a policy that the guest keeps or, for None, random roll-outs."""
    return {"kind": "search", "policy": policy, "simulations": simulations}


class GameFaultError(Exception):
    """A game broke the rules of the box, or its interface; the message says how."""


class NoLockError(ConfigError):
    """This machine has no lock for the process of a game."""


@dataclass(frozen=True)
class BoxLimits:
    """Limits of one game: seconds for an answer, and for all that its host waits for it; bytes of
    address space; moves, after which it ends undecided."""

    answer: float = 5.0
    total: float = 600.0
    memory: int = 1 << 30
    most_moves: int = 100


# -- the forms of answers: what a game sends is one of these, or a fault ---------------------------

Result = Annotated[int, Field(ge=-1, le=1)] | None
"""1: the first player won, −1: the second, 0: neither, None: it goes on."""


class _Answer(BaseModel):
    model_config = ConfigDict(
        strict=True, frozen=True, allow_inf_nan=False, val_json_bytes="base64"
    )


class _Hello(_Answer):
    unlocked: str | None
    """Why the process has no lock."""


class _Spaces(_Answer):
    actions: Annotated[int, Field(ge=1, le=MOST_ACTIONS)]
    shape: Annotated[tuple[NonNegativeInt, ...], Field(max_length=MOST_DIMENSIONS)]


class ProgramView(_Answer):
    """A game after a move. ``player``: what the game says whose turn it is, if it does."""

    observation: bytes
    text: Annotated[str, Field(max_length=MOST_TEXT)]
    legal: tuple[NonNegativeInt, ...]
    result: Result
    player: Annotated[str, Field(max_length=MOST_PLAYER)] | None


class _Choice(_Answer):
    move: NonNegativeInt


class _Match(_Answer):
    moves: tuple[NonNegativeInt, ...]
    result: Result


class _Games(_Answer):
    features: bytes
    masks: bytes
    rewards: tuple[Annotated[float, Field(ge=-10, le=1)], ...]
    ended: tuple[bool, ...]


Form = TypeVar("Form", bound=_Answer)


class _Reply(_Answer, Generic[Form]):
    number: int
    answer: Form | None = None
    fault: str | None = None


class Batch(NamedTuple):
    """Observations of a learner: features (games, size) and masks (games, actions); the rewards
    (games,) of its last moves, and whether games ended (games,)."""

    features: Floats
    masks: NDArray[np.bool_]
    rewards: Floats
    ended: NDArray[np.bool_]


class Box:
    """One game in its process; a context manager. The process ends with the thread that began
    it; one that a fault ended begins again with the next game, in what is left of the time in all.
    ``actions``: moves are 0 … actions − 1; ``shape``: of an observation."""

    def __init__(self, game: ProgramGame, limits: BoxLimits | None = None) -> None:
        self.game, self.limits = game, limits or BoxLimits()
        self._seconds, self._policies = self.limits.total, dict[str, Any]()

    def __enter__(self) -> Self:
        """Raises :class:`NoLockError` and :class:`GameFaultError`."""
        limits, pipe = self.limits, subprocess.PIPE
        self._number = 0
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-S", "-B", "-c", BOOT],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
        self._until, self._closed = math.inf, Event()
        Thread(target=self._watch, daemon=True).start()
        try:
            settings = {"paths": _paths(), "memory": limits.memory, "locked": LOCKED}
            settings["cpu_seconds"] = int(limits.total) + 60
            hello = _Hello.model_validate_json(self._exchange(settings, START))
            if hello.unlocked and not self.game.ships:
                raise NoLockError(
                    f"game: {self.game.name} does not ship with this package, and this machine "
                    f"cannot lock it in ({hello.unlocked}), expected Linux with seccomp"
                )
            source, most = self.game.source, limits.most_moves
            spaces = self._ask(_Spaces, "open", source=source, most_moves=most)
            self.actions, self.shape = spaces.actions, spaces.shape
            if not 1 <= math.prod(self.shape) <= MOST_OBSERVED:
                raise GameFaultError(f"observations have the shape {list(self.shape)}")
            for name, layers in self._policies.items():
                self._ask(_Answer, "policy", name=name, layers=layers)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process, which has no children; nothing if it has ended."""
        self._closed.set()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what the process did not read
                pipe.close()  # type: ignore[union-attr]

    # -- requests; each raises GameFaultError ------------------------------------------------

    def new(self, seed: int) -> ProgramView:
        """Begin a game that the host steps."""
        return self._view("new", seed=seed)

    def play(self, move: int) -> ProgramView:
        """Make a move in the host's game."""
        return self._view("play", move=move)

    def choose(self, agent: Agent, seed: int) -> int:
        """The move that an agent chooses in the host's game."""
        chosen = self._ask(_Choice, "choose", SEARCH, agent=agent, seed=seed)
        return self._legal((chosen.move,))[0]

    def keep_policy(self, name: str, layers: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Give the guest a policy: weights (inputs, outputs) and biases (outputs,) by layer."""
        numbers = ((np.asarray(w, np.float32), np.asarray(b, np.float32)) for w, b in layers)
        texts = [{"weights": as_text(w), "biases": as_text(b)} for w, b in numbers]
        self._ask(_Answer, "policy", name=name, layers=texts)
        self._policies[name] = texts

    def match(self, agents: tuple[Agent, Agent], seed: int) -> tuple[tuple[int, ...], int | None]:
        """A whole game, of which the first agent moves first: its moves, and its result as in
        :class:`ProgramView`; None: it was too long."""
        game = self._ask(_Match, "match", SEARCH, agents=agents, seed=seed)
        if len(game.moves) > self.limits.most_moves:
            raise GameFaultError("a game is longer than it may be")
        return self._legal(game.moves), game.result

    def train(self, seeds: Sequence[int], opponents: Sequence[str], exploration: float) -> Batch:
        """Begin as many games as seeds, for a learner."""
        about: dict[str, Any] = {"opponents": opponents, "exploration": exploration}
        return self._batch(self._ask(_Games, "train", seeds=seeds, **about), len(seeds))

    def learn(self, moves: Sequence[int], exploration: float) -> Batch:
        """The learner's move in each of them."""
        answer = self._ask(_Games, "learn", moves=moves, exploration=exploration)
        return self._batch(answer, len(moves))

    # -- what depends on the game's spaces ---------------------------------------------------

    def _legal(self, moves: tuple[int, ...]) -> tuple[int, ...]:
        if wrong := [move for move in moves if move >= self.actions]:
            expected = f"a whole number from 0 to {self.actions - 1}"
            raise GameFaultError(f"legal: found {wrong[0]}, expected {expected}")
        return moves

    def _view(self, do: str, **values: int) -> ProgramView:
        view = self._ask(ProgramView, do, **values)
        _floats(view.observation, self.shape)
        if len(set(self._legal(view.legal))) != len(view.legal):
            raise GameFaultError("valid_moves names a move twice")
        if not view.legal and view.result is None:
            raise GameFaultError("no valid move is left and the game is not over")
        return view

    def _batch(self, answer: _Games, games: int) -> Batch:
        features = _floats(answer.features, (games, math.prod(self.shape) + 1)).copy()
        bits, size = np.frombuffer(answer.masks, np.uint8), games * self.actions
        if bits.size != -(-size // 8) or not len(answer.rewards) == len(answer.ended) == games:
            raise GameFaultError("an answer of the wrong form")
        masks = np.unpackbits(bits, count=size).astype(bool).reshape(games, self.actions)
        if not masks.any(axis=1).all():
            raise GameFaultError("no valid move is left and the game is not over")
        rewards, ended = np.array(answer.rewards, np.float32), np.array(answer.ended, bool)
        return Batch(features, masks, rewards, ended)

    # -- the pipe ----------------------------------------------------------------------------

    def _ask(self, form: type[Form], do: str, seconds: float | None = None, **values: Any) -> Form:
        if self.process.returncode is not None and do in ("new", "match") and self._seconds > 0:
            self.__enter__()
        self._number += 1
        began = monotonic()
        most = min(self._seconds, self.limits.answer if seconds is None else seconds)
        content = self._exchange({"do": do, "number": self._number, "values": values}, most)
        self._seconds -= monotonic() - began
        try:
            reply = _Reply[form].model_validate_json(content)  # type: ignore[valid-type]
        except ValidationError as error:
            raise self._end(_misfit(error)) from None
        if reply.number != self._number:
            raise self._end("an answer to something that was not asked")
        if reply.answer is None:
            raise GameFaultError(one_line(reply.fault or "an answer of the wrong form"))
        return reply.answer

    def _exchange(self, message: object, seconds: float) -> bytes:
        """A message and the one that answers it, within so many seconds."""
        if self.process.returncode is not None:
            raise GameFaultError("its process was ended for an earlier fault")
        assert self.process.stdin
        assert self.process.stdout
        content, self._until = b"", (until := monotonic() + seconds)
        with suppress(OSError):  # its end of the pipe is closed
            self.process.stdin.write(line(message))
            self.process.stdin.flush()
            content = self.process.stdout.readline(MOST + 1)
        self._until = math.inf
        if monotonic() > until:
            raise self._end("no answer within its deadline")
        if len(content) > MOST:
            raise self._end(f"an answer of more than {MOST} bytes")
        if not content.endswith(b"\n"):
            raise self._end(self._ending())
        return content

    def _watch(self) -> None:
        """Kill the process at a deadline, so that reading and writing end, however slow it is. One
        thread for all requests: to start one takes longer than most answers."""
        while not self._closed.wait(0.1):
            if monotonic() > self._until:
                self.process.kill()

    def _ending(self) -> str:
        """Why the process closed its pipe; by signal 9 for its processor time or memory."""
        with suppress(subprocess.TimeoutExpired):
            code = self.process.wait(1.0)
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            return f"its process {ended}"
        return "it closed its pipe"

    def _end(self, reason: str) -> GameFaultError:
        self.close()
        return GameFaultError(reason)


@cache
def _paths() -> list[str]:
    """Folders in which the guest finds this package, numpy and gymnasium."""
    files = [Path(str(module.__file__)) for module in (np, gymnasium)]
    roots = [Path(__file__).parents[2], *(file.parents[1] for file in files)]
    return list(dict.fromkeys(str(root.resolve()) for root in roots))


def one_line(text: str) -> str:
    """A game's text as one short line."""
    words = printable(text[:2000]).split()
    return excerpt(" ".join(words), MOST_REASON) or "a fault without a message"


def _misfit(error: ValidationError) -> str:
    """What is wrong with an answer: the first value that has not its form."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "json_invalid":
        return "an answer that is no JSON"
    name = next((each for each in reversed(first["loc"]) if isinstance(each, str)), "an answer")
    found = excerpt(reprlib.repr(first["input"]), 60)
    expected = first["msg"].removeprefix("Input should be ")
    return one_line(f"{name}: found {found}, expected {expected}")


def _floats(content: bytes, shape: tuple[int, ...]) -> Floats:
    """Finite numbers (shape), from float32."""
    if len(content) != 4 * math.prod(shape):
        raise GameFaultError("an answer whose numbers have the wrong form")
    values = np.frombuffer(content, np.float32)
    if not np.isfinite(values).all():
        raise GameFaultError("an observation holds a number that is not finite")
    return values.reshape(shape)
