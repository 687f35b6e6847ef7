"""One game served over a pipe: a request in, an answer out; a fault is an answer, too."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable, Mapping
from io import TextIOBase
from random import Random
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

from evo.ggbench.guest import frames
from evo.ggbench.guest.agents import Agents, Policy, Solution, UnsolvableError
from evo.ggbench.guest.frames import MOST_PLAYER, MOST_TEXT
from evo.ggbench.guest.position import GameError, Position
from evo.ggbench.guest.training import Slot, snapshot

NAME = "CustomEnv"
Request = Mapping[str, Any]


class _Nowhere(TextIOBase):
    """Where the game's own output goes."""

    def write(self, text: str) -> int:
        return len(text)


class Guest:
    """The game's class, one game that the host steps, and many that it asks for as a whole. Each
    public method answers a request."""

    def open(self, request: Request) -> dict[str, Any]:
        """Read and execute the game's text."""
        # dataclasses, enums and named tuples look for the module of their class
        module = sys.modules["game"] = ModuleType("game")
        exec(compile(request["source"], "game", "exec", dont_inherit=True), module.__dict__)
        if NAME not in module.__dict__:
            raise GameError(f"defines no class {NAME}")
        self.kind: Callable[[], Any] = module.__dict__[NAME]
        self.agents = Agents(request["most_moves"])
        env = self.kind()
        action_space, observation_space = env.action_space, env.observation_space
        if not isinstance(action_space, gymnasium.spaces.Discrete) or int(action_space.start):
            raise GameError("action_space is no Discrete space from 0")
        if not isinstance(observation_space, gymnasium.spaces.Box):
            raise GameError("observation_space is no Box space")
        self.actions, self.shape = int(action_space.n), observation_space.shape
        return {"actions": self.actions, "shape": list(self.shape)}

    def new(self, request: Request) -> dict[str, Any]:
        """Begin a game."""
        self.position = Position(self.kind, request["seed"])
        return self._view()

    def play(self, request: Request) -> dict[str, Any]:
        """Make a move in the game that was begun."""
        self.position.play(request["move"])
        return self._view()

    def policy(self, request: Request) -> dict[str, Any]:
        """Keep a policy under a name."""
        self.agents.policies[request["name"]] = Policy(request["layers"])
        return {}

    def choose(self, request: Request) -> dict[str, Any]:
        """The move of an agent in the game that was begun."""
        agent = self.agents.agent(request["agent"])
        return {"move": int(agent(self.position, Random(request["seed"])))}

    def match(self, request: Request) -> dict[str, Any]:
        """A whole game between two agents."""
        position = Position(self.kind, request["seed"])
        players = [self.agents.agent(each) for each in request["agents"]]
        rng = Random(request["seed"])
        while position.result is None and len(position.line) < self.agents.most:
            position.play(int(players[position.mover](position, rng)))
        return {"moves": position.line, "result": position.result}

    def solve(self, request: Request) -> dict[str, Any]:
        """Every position's value, kept for the agent ``optimal``."""
        other, start = (Position(self.kind, request["seed"] + n) for n in (1, 0))
        try:
            solution = Solution(start, request["most"])
            if other.key() != start.key():
                raise UnsolvableError("it has chance")
        except UnsolvableError as error:
            return {"reason": str(error)}
        self.agents.solution = solution
        return {"positions": solution.positions, "value": (solution.values[3] or (0, 0))[0]}

    def train(self, request: Request) -> dict[str, Any]:
        """Begin many games for a learner, against random moves or earlier checkpoints."""
        policies = [self.agents.policies[name] for name in request["opponents"]]
        self.slots = [
            Slot(self.kind, Random(seed), policies, self.agents.most) for seed in request["seeds"]
        ]
        for slot in self.slots:
            slot.begin(request["exploration"])
        return snapshot(self.slots, self.actions)

    def learn(self, request: Request) -> dict[str, Any]:
        """A move of the learner in each of the games."""
        moves = zip(self.slots, request["moves"], strict=True)
        results = [slot.move(move, request["exploration"]) for slot, move in moves]
        rewards, ended = zip(*results, strict=True)
        return {**snapshot(self.slots, self.actions), "rewards": rewards, "ended": ended}

    def _view(self) -> dict[str, Any]:
        """The values that the host checks; it does not trust them."""
        position = self.position
        observation = np.asarray(position.observation, np.float32)
        low, high = position.env.observation_space.low, position.env.observation_space.high
        fits = observation.shape == self.shape
        text = position.env.render()
        if isinstance(text, str) and len(text) > MOST_TEXT:
            raise GameError(f"render returns {len(text)} characters, expected at most {MOST_TEXT}")
        return {
            "shape": list(observation.shape),
            "inside": bool(fits and (observation >= low).all() and (observation <= high).all()),
            "observation": base64.b64encode(observation.tobytes()).decode(),
            "text": text if isinstance(text, str) else None,
            "legal": [_whole(move) for move in position.legal],
            "mover": position.mover,
            "result": position.result,
            "player": _name(getattr(position.env, "current_player", None)),
        }


def _name(player: Any) -> str | None:
    """A player's name, which later moves cannot change; None for an object without one."""
    text = repr(player.item() if isinstance(player, np.generic) else player)
    return None if player is None or " at 0x" in text else text[:MOST_PLAYER]


def _whole(move: Any) -> int:
    if isinstance(move, bool | np.bool_) or not isinstance(move, int | np.integer):
        raise GameError(f"valid_moves holds a {type(move).__name__}, expected whole numbers")
    return int(move)


def serve() -> None:
    """Answer requests until the stream ends."""
    sys.stdout = sys.stderr = _Nowhere()
    sys.stdin = None
    guest = Guest()
    while (request := frames.read(0)) is not None:
        frames.write(1, _answer(guest, request))


def _answer(guest: Guest, request: Request) -> dict[str, Any]:
    method: Callable[[Request], dict[str, Any]] = getattr(guest, request["do"])
    try:
        answer = {"number": request["number"], "answer": method(request)}
        frames.encode(answer)
        return answer
    except BaseException as error:  # noqa: BLE001 – SystemExit and its like are a game's verdict, too
        message = _message(error)
        error.__traceback__ = None  # it may hold all the memory that there is
        return {"number": request["number"], "fault": message}


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 – the text of a game's own exception may raise any other
        message = "(no message)"
    kind = "" if isinstance(error, GameError) else f"{type(error).__name__}: "
    return f"{kind}{message}"[:MOST_TEXT]
