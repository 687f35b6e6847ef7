"""A learned policy: two hidden layers of tanh units, in numpy."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from evo.ggbench.guest.position import Position

MOST_POSITIONS = 50_000
"""Most positions whose probabilities are cached: roll-outs meet the same ones many times."""

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


class Policy:
    """``layers``: weights (inputs, outputs) and biases (outputs,) from the features to logits."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.layers = layers
        self._probabilities: dict[tuple[bytes, tuple[int, ...]], list[float]] = {}

    @classmethod
    def decode(cls, layers: Sequence[dict[str, object]]) -> Policy:
        """From ``{"inputs": n, "weights": base64, "biases": base64}``, float32, layer by layer."""
        return cls([_layer(each) for each in layers])

    def probabilities(self, position: Position) -> list[float]:
        """Of each legal move, in their order; they sum to 1."""
        features = position.features()
        key = features.tobytes(), tuple(position.legal)
        if key not in self._probabilities:
            if len(self._probabilities) >= MOST_POSITIONS:
                self._probabilities.clear()
            self._probabilities[key] = self._compute(features, position.legal)
        return self._probabilities[key]

    def greedy(self, position: Position) -> int:
        """The most probable move; ties: the first."""
        chances = self.probabilities(position)
        return position.legal[chances.index(max(chances))]

    def sample(self, position: Position, rng: Random) -> int:
        """A move drawn from the probabilities."""
        rest = rng.random()
        for move, chance in zip(position.legal, self.probabilities(position), strict=True):
            rest -= chance
            if rest < 0:
                return move
        return position.legal[-1]

    def _compute(self, features: NDArray[np.float32], legal: Sequence[int]) -> list[float]:
        hidden = features
        for weights, biases in self.layers[:-1]:
            hidden = np.tanh(hidden @ weights + biases)
        weights, biases = self.layers[-1]
        logits = (hidden @ weights + biases)[list(legal)]
        chances = np.exp(logits - logits.max())
        shares: list[float] = (chances / chances.sum()).tolist()
        return shares


def _layer(encoded: dict[str, object]) -> Layer:
    biases = np.frombuffer(base64.b64decode(str(encoded["biases"])), np.float32)
    weights = np.frombuffer(base64.b64decode(str(encoded["weights"])), np.float32)
    return weights.reshape(-1, biases.size), biases
