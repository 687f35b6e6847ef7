"""Ratings: how long a table takes, and whether the equilibrium that they select is risk-dominant.

    python benchmarks/ratings.py time FOLDER [--tasks 1000] [--models 20]
    python benchmarks/ratings.py dominance [--tasks 500] [--models 17] [--others 31] [--draws 2]

``time`` writes scores of random models and tasks to FOLDER, and rates them as the command does.

``dominance`` (Fig. 10 of the ratings paper): on simulated preferences, the place of the selected
equilibrium by the sum of the players' expected payoffs when each may play its part of another
equilibrium: under uniform priors, and under priors that players iterate (84). The other equilibria
are found as the paper finds them (F.4): profiles whose exploitability falls, by gradient descent,
while their ratings are driven apart, until it is at most 0.01.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from study import command_line
from torch import Tensor

from archive.__main__ import main as archive
from archive.ratings.normal_form import Array, NormalFormGame
from archive.ratings.paper import judged_preferences
from archive.ratings.preferences import KING, king_of_the_hill
from archive.ratings.rating import rate

ETA, ROUNDS = 1e-2, 10_000
"""η and T of (84), (85)."""
EXPLOITABILITY = 0.01
STEPS, RATE, APART = 1500, 0.05, 1e-3
"""Steps of Adam, their rate, and the weight of squared distances between ratings."""


def table(folder: Path, tasks: int, models: int, seed: int) -> Path:
    """A table with one model a row."""
    random = np.random.default_rng(seed)
    level = random.normal(0, 1, models)[:, None] + random.normal(0, 1, (models, tasks))
    lines = [",".join(["model", *(f"t{task}" for task in range(tasks))])]
    lines += [f"m{m},{','.join(f'{x:.3f}' for x in row)}" for m, row in enumerate(level.tolist())]
    path = folder / "scores.csv"
    path.write_text("\n".join(lines))
    return path


def show_time(options: Namespace) -> None:
    """Seconds and processor seconds of the table."""
    path = table(options.folder, options.tasks, options.models, options.seed)
    start, processor = time.perf_counter(), time.process_time()
    archive(["ratings", "--table", str(path)])
    passed = time.perf_counter() - start, time.process_time() - processor
    print(f"{path.name}: {passed[0]:.1f} s, {passed[1]:.1f} processor seconds")


def regrets(payoffs: list[Tensor], profiles: list[Tensor]) -> list[Tensor]:
    """What each action of each player gains over its part of a profile: (profiles, actions)."""
    gains = []
    for player, (own, terms) in enumerate((("a", "nb,nc"), ("b", "na,nc"), ("c", "na,nb"))):
        others = profiles[:player] + profiles[player + 1 :]
        value = torch.einsum(f"abc,{terms}->n{own}", payoffs[player], *others)
        gains.append(value - (value * profiles[player]).sum(1, keepdim=True))
    return gains


def descended(game: NormalFormGame, count: int, seed: int) -> list[list[Array]]:
    """The selected equilibrium, then profiles of small exploitability and different ratings."""
    torch.manual_seed(seed)
    payoffs = [torch.tensor(np.asarray(each), dtype=torch.float32) for each in game.payoffs]
    logits = [(3 * torch.randn(count, size)).requires_grad_() for size in game.shape]
    optimizer = torch.optim.Adam(logits, RATE)
    for step in range(STEPS):
        profiles = [each.softmax(1) for each in logits]
        gains = regrets(payoffs, profiles)
        exploitable = sum(each.max(1).values for each in gains)
        apart = torch.pdist(gains[KING]).square().mean()
        weight = APART * max(0.0, 1 - 2 * step / STEPS)  # the second half only descends
        loss = torch.as_tensor(exploitable).mean() - weight * apart
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        profiles = [each.softmax(1) for each in logits]
        worst = torch.stack([each.max(1).values for each in regrets(payoffs, profiles)]).amax(0)
    kept = torch.nonzero(worst <= EXPLOITABILITY)[:, 0].tolist()
    rows = [[each[row].double().numpy() for each in profiles] for row in kept]
    return [rate(game).masses, *rows]


def coordination_payoffs(
    game: NormalFormGame, found: Sequence[Sequence[Array]], rounds: int = 0
) -> Array:
    """Expected payoff (equilibria, players) of a player that plays its part of one equilibrium,
    where each other player draws an equilibrium from a prior (85): uniform, or after ``rounds``
    steps of players that expect each other's priors (84)."""
    values = []
    for payoff in game.payoffs:
        for player in game.players:
            parts = np.stack([strategies[player] for strategies in found])
            payoff = np.moveaxis(np.tensordot(payoff, parts, (player, 1)), -1, player)
        values.append(payoff)
    priors = [np.full(len(found), 1 / len(found)) for _ in game.players]
    for _ in range(rounds):
        logs = [
            np.log(prior) + ETA * contract(value, priors, [player])
            for player, (prior, value) in enumerate(zip(priors, values, strict=True))
        ]
        weights = [np.exp(log - log.max()) for log in logs]
        priors = [np.maximum(weight / weight.sum(), 1e-300) for weight in weights]
    payoffs = [contract(value, priors, [player]) for player, value in enumerate(values)]
    return np.stack(payoffs, axis=1)


def contract(tensor: Array, strategies: Sequence[Array], keep: Sequence[int]) -> Array:
    """Σ over the axes not in ``keep`` (ascending), each weighted by its player's strategy."""
    for axis in range(tensor.ndim - 1, -1, -1):
        if axis not in keep:
            tensor = np.moveaxis(tensor, axis, -1) @ strategies[axis]
    return tensor


def show_dominance(options: Namespace) -> None:
    """A line for each simulated table."""
    torch.set_num_threads(1)
    for draw in range(options.draws):
        random = np.random.default_rng(draw)
        game = king_of_the_hill(judged_preferences(options.tasks, options.models, random))
        found = descended(game, options.others, draw)
        places = []
        for rounds in (0, ROUNDS):
            sums = coordination_payoffs(game, found, rounds).sum(axis=1)
            places.append(1 + int((sums > sums[0] + 1e-9).sum()))
        print(
            f"{options.tasks} tasks, {options.models} models, draw {draw}: of {len(found)} "
            f"equilibria place {places[0]} under uniform priors, {places[1]} under iterated ones",
            flush=True,
        )


def main() -> None:
    parser = command_line(__doc__)
    commands = parser.add_subparsers(required=True)
    times, dominance = commands.add_parser("time"), commands.add_parser("dominance")
    times.add_argument("folder", type=Path)
    times.add_argument("--tasks", type=int, default=1000)
    times.add_argument("--models", type=int, default=20)
    times.add_argument("--seed", type=int, default=0)
    times.set_defaults(show=show_time)
    dominance.add_argument("--tasks", type=int, default=500)
    dominance.add_argument("--models", type=int, default=17)
    dominance.add_argument("--others", type=int, default=31)
    dominance.add_argument("--draws", type=int, default=2)
    dominance.set_defaults(show=show_dominance)
    options = parser.parse_args()
    options.show(options)


if __name__ == "__main__":
    main()
