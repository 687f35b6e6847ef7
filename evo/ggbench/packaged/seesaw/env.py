import gymnasium as gym
import numpy as np
from gymnasium import spaces

DISTANCES = [-4, -3, -2, -1, 0, 1, 2, 3, 4]
WEIGHTS = 4
TILT = 5


class CustomEnv(gym.Env):
    """Seesaw: load a beam without tipping it; who leaves no answer wins."""

    def __init__(self):
        self.action_space = spaces.Discrete(9 * WEIGHTS)
        # moves that are allowed, my weights, the other's, empty places, the tilt as a level
        size = 9 * WEIGHTS + 2 * WEIGHTS + 9 + 2 * TILT + 1
        self.observation_space = spaces.Box(0, 1, (size,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.beam = [0] * 9
        self.weights = [list(range(1, WEIGHTS + 1)), list(range(1, WEIGHTS + 1))]
        self.tilt = 0
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        weight, place = action // 9 + 1, action % 9
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        self.weights[self.current_player].remove(weight)
        self.beam[place] = weight
        self.tilt += weight * DISTANCES[place]
        self.current_player = 1 - self.current_player
        over = not self.valid_moves()
        return self._observation(), int(over), over, False, {}

    def valid_moves(self):
        return [
            9 * (weight - 1) + place
            for weight in self.weights[self.current_player]
            for place in range(9)
            if not self.beam[place] and abs(self.tilt + weight * DISTANCES[place]) <= TILT
        ]

    def render(self):
        places = [str(weight) if weight else "." for weight in self.beam]
        lines = [
            "Beam: " + " ".join(places[:4]) + " [" + places[4] + "] " + " ".join(places[5:]),
            f"Tilt: {self.tilt}",
        ]
        for player, weights in enumerate(self.weights):
            mark = " (to move)" if player == self.current_player else ""
            lines.append(f"Player {player + 1}{mark}: weights {' '.join(map(str, weights))}")
        return "\n".join(lines)

    def _observation(self):
        seen = [0.0] * self.observation_space.shape[0]
        for move in self.valid_moves():
            seen[move] = 1.0
        at = 9 * WEIGHTS
        for weight in self.weights[self.current_player]:
            seen[at + weight - 1] = 1.0
        for weight in self.weights[1 - self.current_player]:
            seen[at + WEIGHTS + weight - 1] = 1.0
        for place, weight in enumerate(self.beam):
            seen[at + 2 * WEIGHTS + place] = float(not weight)
        seen[at + 2 * WEIGHTS + 9 + TILT + self.tilt] = 1.0
        return np.array(seen, np.float32)
