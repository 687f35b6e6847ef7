"""The paper's own procedure for a Nash equilibrium (F.2): Adam on the annealed exploitability.

For comparison. What it returns is a logit equilibrium at a temperature of 0.01, not the limit, and
it cannot follow a fold of the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from archive.errors import RatingError
from archive.ratings.logit_path import LogitEquilibrium
from archive.ratings.normal_form import (
    Array,
    NormalFormGame,
    cross_derivatives,
    exploitability,
    product,
)


@dataclass(frozen=True)
class AnnealingSettings:
    """F.2: temperatures in units of payoff; ``updates`` at least at each of them, until the
    annealed exploitability is at most ``loss``."""

    rate: float = 1e-2
    first_temperature: float = 1.0
    decay: float = 0.95
    updates: int = 250
    loss: float = 1e-5
    last_temperature: float = 1e-2
    exploitability: float = 1e-3
    most_updates: int = 200_000


def annealed_exploitability(
    game: NormalFormGame,
    log_strategies: Sequence[Array],
    log_targets: Sequence[Array],
    temperature: float,
) -> tuple[float, list[Array]]:
    """L_τ(x) (4) ≥ 0, 0 at a logit equilibrium, and its gradients in x_i (|A_i|,)."""
    strategies = [np.exp(logs) for logs in log_strategies]
    cross = cross_derivatives(game, strategies)
    loss, gradients, excess = 0.0, [], []
    for i in game.players:
        other = next(j for j in game.players if j != i)
        gains = cross[i, other] @ strategies[other]
        raw = log_targets[i] + gains / temperature
        total = logsumexp(raw)
        divergence = log_strategies[i] - log_targets[i]
        loss += float(temperature * (total + strategies[i] @ divergence) - gains @ strategies[i])
        gradients.append(temperature * (divergence + 1) - gains)
        excess.append(np.exp(raw - total) - strategies[i])
    for i in game.players:
        gradients[i] = gradients[i] + sum(cross[j, i].T @ excess[j] for j in game.players if j != i)
    return loss, gradients


def annealed_equilibrium(
    game: NormalFormGame, targets: Sequence[Array], settings: AnnealingSettings | None = None
) -> LogitEquilibrium:
    """The equilibrium that annealing from x = ``targets`` reaches. Raises :class:`RatingError` if
    ``most_updates`` are not enough."""
    settings = settings or AnnealingSettings()
    log_targets = [np.log(target) for target in targets]
    adam = _Adam(np.concatenate(log_targets), settings.rate)
    cuts = np.cumsum(game.shape)[:-1]
    temperature, since = settings.first_temperature, 0
    for steps in range(settings.most_updates):
        logs = [values - logsumexp(values) for values in np.split(adam.values, cuts)]
        loss, slopes = annealed_exploitability(game, logs, log_targets, temperature)
        if since >= settings.updates and loss <= settings.loss:
            strategies = tuple(np.exp(log_strategy) for log_strategy in logs)
            regret = exploitability(game, product(strategies))
            if temperature <= settings.last_temperature or regret <= settings.exploitability:
                return LogitEquilibrium(strategies, regret, temperature, steps, 0, 0)
            temperature, since = max(settings.decay * temperature, settings.last_temperature), 0
        since += 1
        adam.descend(
            np.concatenate(
                [np.exp(x) * (s - np.exp(x) @ s) for x, s in zip(logs, slopes, strict=True)]
            )
        )
    raise RatingError(
        f"annealing stood at temperature {temperature:.2g} after {settings.most_updates:,} "
        f"updates, expected {settings.last_temperature:g}"
    )


class _Adam:
    """Kingma & Ba's optimizer with its usual constants."""

    def __init__(self, values: Array, rate: float) -> None:
        self.values, self.rate, self.count = values.copy(), rate, 0
        self.mean, self.square = np.zeros_like(values), np.zeros_like(values)

    def descend(self, slope: Array) -> None:
        """One update."""
        self.count += 1
        self.mean = 0.9 * self.mean + 0.1 * slope
        self.square = 0.999 * self.square + 0.001 * slope**2
        mean = self.mean / (1 - 0.9**self.count)
        square = self.square / (1 - 0.999**self.count)
        self.values -= self.rate * mean / (np.sqrt(square) + 1e-8)
