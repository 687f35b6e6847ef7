"""Self-play (section 2.2, appendix B.5 of its paper): PPO against random moves, then against its
own past checkpoints. The opponent of a game (section 2.4): a checkpoint that searches and beats
random moves, and that a stronger agent surely beats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from time import monotonic
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load, save
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from archive import PairPurpose
from archive.statistics.programs import passes
from evo.config.measure import QUARTERS, ROLLOUT, OpponentConfig, TrainConfig
from evo.ggbench.box import RANDOM, RANDOM_MOVES, Agent, Batch, Box, Floats, searching
from xgl.random_streams import seed

FIRST_EXPLORATION, LAST_EXPLORATION = 1.0, 0.1
"""Probability of a random move of the opponent, at the beginning and at the end."""
GAMES = 16
"""Games that the learner plays at once."""
STEPS = ROLLOUT // GAMES
"""Its moves in each of them between two updates."""
SELECTION = 6
"""Games of each pair of agents in a selection (section 2.4)."""
AGENTS = tuple(f"quarter{quarter}" for quarter in range(1, QUARTERS + 1))
"""Names of the checkpoints' agents in the box."""


@dataclass(frozen=True)
class Checkpoint:
    """The policy after a quarter: its steps so far, and its weights as safetensors."""

    quarter: int
    steps: int
    weights: bytes
    seconds: float


def layers_of(weights: bytes) -> list[tuple[Floats, Floats]]:
    """Weights (inputs, outputs) and biases (outputs,), layer by layer."""
    tensors = load(weights)
    return [(tensors[f"{i}.weights"], tensors[f"{i}.biases"]) for i in range(len(tensors) // 2)]


def keep_policies(box: Box, weights: Mapping[int, bytes]) -> None:
    """Give the box the checkpoints of these quarters, by the names of their agents."""
    for quarter, content in weights.items():
        box.keep_policy(AGENTS[quarter - 1], layers_of(content))


def train(box: Box, settings: TrainConfig, run_seed: int) -> list[Checkpoint]:
    """Four checkpoints; the box keeps their policies. A function of its arguments and the game
    alone, on one thread. Raises :class:`~evo.ggbench.box.GameFaultError`, for a game that lasts too
    long, too."""
    torch.set_num_threads(1)
    environments = TrainingGames(box, settings, run_seed)
    model = learner(environments, settings, seed("ggbench", "ppo", run_seed, bits=31))
    checkpoints: list[Checkpoint] = []
    for quarter in range(1, QUARTERS + 1):
        began = monotonic()
        environments.opponents = AGENTS[: quarter - 1]
        model.set_env(environments, force_reset=True)
        steps = len(environments.explorations) // QUARTERS * ROLLOUT
        model.learn(steps, reset_num_timesteps=quarter == 1)
        weights = _weights(model)
        checkpoints.append(Checkpoint(quarter, model.num_timesteps, weights, monotonic() - began))
        keep_policies(box, {quarter: weights})
    return checkpoints


def learner(environments: VecEnv, settings: TrainConfig, model_seed: int) -> Any:
    """PPO, by default over legal moves. The library's defaults are the settings of Table 4."""
    kind: Any = MaskablePPO if settings.masked else PPO
    model = kind("MlpPolicy", environments, n_steps=STEPS, seed=model_seed, device="cpu")
    model.set_logger(Logger(None, []))  # the default one makes a folder in /tmp
    return model


def _weights(model: Any) -> bytes:
    """The actor alone: two hidden layers and the logits."""
    network = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    tensors: dict[str, Floats] = {}
    for place, layer in enumerate(each for each in network if isinstance(each, torch.nn.Linear)):
        tensors[f"{place}.weights"] = np.ascontiguousarray(layer.weight.detach().numpy().T)
        tensors[f"{place}.biases"] = layer.bias.detach().numpy()
    return save(tensors)


class TrainingGames(VecEnv):
    """Many games of one box, as Stable-Baselines3 sees them; opponents answer in the box.
    ``explorations``: the opponents' share of random moves by rollout, which falls linearly."""

    def __init__(self, box: Box, settings: TrainConfig, run_seed: int) -> None:
        self.box, self.run_seed, self.resets, self.steps = box, run_seed, 0, 0
        self.opponents: Sequence[str] = []
        self.exploration = FIRST_EXPLORATION
        rollouts = QUARTERS * -(-settings.steps // (QUARTERS * ROLLOUT))
        self.explorations = np.linspace(FIRST_EXPLORATION, LAST_EXPLORATION, rollouts).tolist()
        features = gymnasium.spaces.Box(-np.inf, np.inf, (math.prod(box.shape) + 1,), np.float32)
        super().__init__(GAMES, features, gymnasium.spaces.Discrete(box.actions))

    def reset(self) -> Floats:
        """Begin all games again, under seeds of their own."""
        self.resets += 1
        key = ("ggbench", "train", self.run_seed, self.resets)
        seeds = [seed(*key, number) for number in range(self.num_envs)]
        return self._observe(self.box.train(seeds, self.opponents, self.exploration))

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Keep the moves."""
        self.moves = [int(action) for action in actions]

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Make them; games that ended have begun again."""
        rollout = min(self.steps // STEPS, len(self.explorations) - 1)
        self.exploration, self.steps = self.explorations[rollout], self.steps + 1
        batch = self.box.learn(self.moves, self.exploration)
        return self._observe(batch), batch.rewards, batch.ended, [{} for _ in self.moves]

    def _observe(self, batch: Batch) -> Floats:
        self.masks = batch.masks
        return batch.features

    def action_masks(self) -> NDArray[np.bool_]:
        """(games, actions): which moves are legal."""
        return self.masks

    # what the library asks of any environment: masks by the name of their method, and attributes,
    # which games do not have here

    def env_method(self, method_name: str, *_: Any, **__: Any) -> list[Any]:
        return list(getattr(self, method_name)())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None: ...

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        """The box is closed by whoever opened it."""


# -- the opponent ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pairing:
    """Games between two agents, seats in turn. ``simulations``: of the winner's search for a move;
    the loser has the opponent's."""

    winner: str
    simulations: int
    loser: str
    purpose: PairPurpose
    games: int
    wins: int
    draws: int
    passed: bool
    seconds: float


def find_opponent(box: Box, settings: OpponentConfig, run_seed: int) -> Iterator[Pairing]:
    """Every pair that was played. The last is a confirmation that passed, or there is no opponent.

    First every checkpoint meets random moves, and those that do not beat them are no opponents.
    Then every two checkpoints meet, and further up the ladder the last checkpoint with more
    simulations meets them. The pair with the largest disparity must win fresh games, too. The box
    must keep the checkpoints' policies. Raises :class:`~evo.ggbench.box.GameFaultError`.
    """

    def pairing(winner: str, simulations: int, loser: str, purpose: PairPurpose) -> Pairing:
        names = winner, simulations, loser
        games = SELECTION if purpose is PairPurpose.SELECTION else settings.confirmation
        weaker = RANDOM_MOVES if loser == RANDOM else searching(loser, own)
        agents = searching(winner, simulations), weaker
        seeds = [seed("ggbench", purpose, run_seed, *names, n, bits=32) for n in range(games)]
        began = monotonic()
        wins, draws = contest(box, agents, seeds)
        passed = passes(purpose, wins, games)
        return Pairing(*names, purpose, games, wins, draws, passed, monotonic() - began)

    own, able = settings.simulations, list[str]()
    for name in AGENTS:
        yield (pair := pairing(name, own, RANDOM, PairPurpose.BASELINE))
        able += [name] * pair.passed
    rounds = [[(b, own, a) for a, b in combinations(AGENTS, 2) if {a, b} & {*able}]]
    rounds += [[(AGENTS[-1], stronger, name) for name in able] for stronger in settings.ladder]
    for challenges in rounds:
        pairs = []
        for challenge in challenges:
            yield (pair := pairing(*challenge, PairPurpose.SELECTION))
            both = [pair, _reverse(pair)] if pair.simulations == own else [pair]
            pairs += [each for each in both if each.loser in able]
        best = max(pairs, key=lambda each: (each.wins, each.draws), default=None)
        if best and best.passed:
            names = best.winner, best.simulations, best.loser
            yield (fresh := pairing(*names, PairPurpose.CONFIRMATION))
            if fresh.passed:
                return


def _reverse(pair: Pairing) -> Pairing:
    """The same games of equal searches with the loser as the winner."""
    wins = pair.games - pair.wins - pair.draws
    passed = passes(pair.purpose, wins, pair.games)
    return replace(pair, winner=pair.loser, loser=pair.winner, wins=wins, passed=passed)


def opponent_verdict(pairings: Sequence[Pairing]) -> tuple[bool, str]:
    """Whether the last pair is a confirmed one, and the pair or why there is none, in words."""
    last = pairings[-1]
    if last.purpose is PairPurpose.CONFIRMATION and last.passed:
        agent, games = f"{last.simulations} simulations", f"{last.wins} of {last.games} fresh games"
        return True, f"{last.winner} with {agent} beats {last.loser} in {games}"
    if not any(each.passed for each in pairings if each.purpose is PairPurpose.BASELINE):
        return False, "no checkpoint that searches beats random moves in 90 % of games"
    return False, "no stronger agent beats one that searches in 80 % of fresh games"


def contest(box: Box, agents: tuple[Agent, Agent], seeds: Sequence[int]) -> tuple[int, int]:
    """Wins of the first agent, which moves first in every second game, and draws; a game that is
    too long is a draw."""
    wins = draws = 0
    for number, each in enumerate(seeds):
        seats = agents if number % 2 == 0 else (agents[1], agents[0])
        _, result = box.match(seats, each)
        wins += result == (1 if number % 2 == 0 else -1)
        draws += not result
    return wins, draws
