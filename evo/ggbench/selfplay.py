"""Self-play (section 2.2, appendix B.5 of its paper): PPO against random moves, then against its
own past checkpoints. The opponent of a game (section 2.4): a checkpoint that searches and beats
random moves, and that a stronger agent surely beats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from archive import PairPurpose
from archive.statistics.programs import passes
from evo.config.ggbench import QUARTERS, ROLLOUT, OpponentConfig, TrainConfig
from evo.ggbench.box import RANDOM, Agent, Batch, Box, Floats, agent_named
from xgl.random_streams import seed

FIRST_EXPLORATION, LAST_EXPLORATION = 1.0, 0.1
"""Probability of a random move of the opponent, at the beginning and at the end."""
HYPERPARAMETERS: dict[str, Any] = {
    "learning_rate": 3e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "clip_range": 0.2,
    "batch_size": 64,
}
"""Table 4; all else is the library's default."""
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
    """Four checkpoints; the box keeps their policies.

    A function of its arguments and the game alone, on one thread. Raises
    :class:`~evo.ggbench.box.GameFaultError`, for a game that lasts too long, too.
    """
    torch.set_num_threads(1)
    environments = TrainingGames(box, settings.games, run_seed)
    model = learner(environments, settings, seed("ggbench", "ppo", run_seed, bits=31))
    rollouts = -(-settings.steps // (QUARTERS * ROLLOUT))
    progress = _Exploration(environments, QUARTERS * rollouts)
    checkpoints: list[Checkpoint] = []
    for quarter in range(1, QUARTERS + 1):
        began = monotonic()
        environments.opponents = AGENTS[: quarter - 1]
        model.set_env(environments, force_reset=True)
        model.learn(rollouts * ROLLOUT, progress, reset_num_timesteps=quarter == 1)
        weights = _weights(model)
        checkpoints.append(Checkpoint(quarter, model.num_timesteps, weights, monotonic() - began))
        keep_policies(box, {quarter: weights})
    return checkpoints


def learner(environments: VecEnv, settings: TrainConfig, model_seed: int) -> Any:
    """PPO with the settings of Table 4, by default over legal moves."""
    kind: Any = MaskablePPO if settings.masked else PPO
    steps = max(2, ROLLOUT // settings.games)
    model = kind(
        "MlpPolicy", environments, n_steps=steps, seed=model_seed, device="cpu", **HYPERPARAMETERS
    )
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


class _Exploration(BaseCallback):
    """Lets the opponents' share of random moves fall linearly, rollout by rollout."""

    def __init__(self, environments: TrainingGames, rollouts: int) -> None:
        super().__init__()
        self.environments = environments
        self.shares = iter(np.linspace(FIRST_EXPLORATION, LAST_EXPLORATION, rollouts).tolist())

    def _on_rollout_start(self) -> None:
        self.environments.exploration = next(self.shares)

    def _on_step(self) -> bool:
        return True


class TrainingGames(VecEnv):
    """Many games of one box, as Stable-Baselines3 sees them; opponents answer in the box."""

    def __init__(self, box: Box, games: int, run_seed: int) -> None:
        self.box, self.run_seed, self.resets = box, run_seed, 0
        self.opponents: Sequence[str] = []
        self.exploration = FIRST_EXPLORATION
        size = math.prod(box.shape) + 1
        features = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        super().__init__(games, features, gymnasium.spaces.Discrete(box.actions))

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
        batch = self.box.learn(self.moves, self.exploration)
        return self._observe(batch), batch.rewards, batch.ended, [{} for _ in self.moves]

    def action_masks(self) -> NDArray[np.bool_]:
        """(games, actions): which moves are legal."""
        return self.masks

    def env_method(self, method_name: str, *_: Any, **__: Any) -> list[Any]:
        """The value of a method by its name; the library calls ``action_masks`` by it."""
        return list(getattr(self, method_name)())

    def has_attr(self, attr_name: str) -> bool:
        """Whether masks can be asked for."""
        return hasattr(self, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """One value for each game."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Games have no attributes here."""

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """They are not."""
        return [False] * self.num_envs

    def close(self) -> None:
        """The box is closed by whoever opened it."""

    def _observe(self, batch: Batch) -> Floats:
        self.masks = batch.masks
        return batch.features


# -- the opponent ----------------------------------------------------------------------------------

SECONDS_A_GAME = 600.0
"""Time limit of a game between two searches."""


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


def searching(name: str, simulations: int) -> Agent:
    """An agent by name: random moves, or a search with a checkpoint's policy."""
    return agent_named(name) or {"kind": "search", "policy": name, "simulations": simulations}


def find_opponent(box: Box, settings: OpponentConfig, run_seed: int) -> Iterator[Pairing]:
    """Every pair that was played. The last is a confirmation that passed, or there is no opponent.

    First every checkpoint meets random moves, and those that do not beat them are no opponents.
    Then every two checkpoints meet, and further up the ladder the last checkpoint with more
    simulations meets them. The pair with the largest disparity must win fresh games, too. The box
    must keep the checkpoints' policies. Raises :class:`~evo.ggbench.box.GameFaultError`.
    """
    own = settings.simulations
    able = []
    for name in AGENTS:
        pair = _pairing(box, settings, run_seed, (name, own, RANDOM), PairPurpose.BASELINE)
        yield pair
        able += [name] * pair.passed
    rounds = [[(b, own, a) for a, b in combinations(AGENTS, 2) if {a, b} & {*able}]]
    rounds += [
        [(AGENTS[-1], simulations, name) for name in able] for simulations in settings.ladder
    ]
    for challenges in rounds:
        pairs = []
        for challenge in challenges:
            pair = _pairing(box, settings, run_seed, challenge, PairPurpose.SELECTION)
            yield pair
            pairs += [each for each in (pair, _reverse(pair, own)) if each and each.loser in able]
        best = max(pairs, key=lambda each: (each.wins, -each.draws), default=None)
        if best and best.passed:
            names = best.winner, best.simulations, best.loser
            yield (fresh := _pairing(box, settings, run_seed, names, PairPurpose.CONFIRMATION))
            if fresh.passed:
                return


def opponent_verdict(pairings: Sequence[Pairing]) -> tuple[bool, str]:
    """Whether the last pair is a confirmed one, and the pair or why there is none, in words."""
    last = pairings[-1]
    if last.purpose is PairPurpose.CONFIRMATION and last.passed:
        games = f"{last.wins} of {last.games} fresh games"
        return (
            True,
            f"{last.winner} with {last.simulations} simulations beats {last.loser} in {games}",
        )
    if not any(each.passed for each in pairings if each.purpose is PairPurpose.BASELINE):
        return False, "no checkpoint that searches beats random moves in 90 % of games"
    return False, "no stronger agent beats one that searches in 80 % of fresh games"


def _reverse(pair: Pairing, simulations: int) -> Pairing | None:
    """The same games with the loser as the winner, if both are equal searches."""
    if pair.simulations != simulations:
        return None
    wins, purpose = pair.games - pair.wins - pair.draws, pair.purpose
    counts = pair.games, wins, pair.draws, passes(purpose, wins, pair.games)
    return Pairing(pair.loser, simulations, pair.winner, purpose, *counts, pair.seconds)


def _pairing(
    box: Box,
    settings: OpponentConfig,
    run_seed: int,
    names: tuple[str, int, str],
    purpose: PairPurpose,
) -> Pairing:
    winner, simulations, loser = names
    games = settings.selection if purpose is PairPurpose.SELECTION else settings.confirmation
    agents = searching(winner, simulations), searching(loser, settings.simulations)
    seeds = [seed("ggbench", purpose, run_seed, *names, n, bits=32) for n in range(games)]
    began = monotonic()
    wins, draws = contest(box, agents, seeds)
    passed = passes(purpose, wins, games)
    return Pairing(*names, purpose, games, wins, draws, passed, monotonic() - began)


def contest(box: Box, agents: tuple[Agent, Agent], seeds: Sequence[int]) -> tuple[int, int]:
    """Wins of the first agent, which moves first in every second game, and draws; a game that is
    too long is a draw."""
    wins = draws = 0
    for number, each in enumerate(seeds):
        seats = agents if number % 2 == 0 else (agents[1], agents[0])
        _, result = box.match(seats, each, SECONDS_A_GAME)
        wins += result == (1 if number % 2 == 0 else -1)
        draws += not result
    return wins, draws
