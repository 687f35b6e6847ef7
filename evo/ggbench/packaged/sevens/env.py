import gymnasium as gym
import numpy as np
from gymnasium import spaces

GOAL = 6
TURNS = 40
WAYS = ["add 1", "add 4", "subtract 9", "double", "reverse"]


def changed(number, way):
    """The number after one of the five ways."""
    if way == 4:
        return number % 10 * 10 + number // 10
    return (number + 1, number + 4, number - 9, 2 * number)[way] % 100


def points(number):
    if number == 0:
        return 0
    return (number % 7 == 0) + 2 * (number % 11 == 0)


# of each number: what each way scores, and the best reply to each way
SCORED = [[points(changed(n, way)) / 3 for way in range(5)] for n in range(100)]
REPLY = [
    [max(SCORED[changed(n, way)][w] for w in range(5) if w != way) for way in range(5)]
    for n in range(100)
]


class CustomEnv(gym.Env):
    """Sevens and Elevens: change a shared number, score its multiples of 7 and 11."""

    def __init__(self):
        self.action_space = spaces.Discrete(5)
        # for each way: points it scores, the best reply's points; remainders; scores; last way
        self.observation_space = spaces.Box(0, 1, (5 + 5 + 7 + 11 + 2 + 6,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.number, self.last, self.turns = 5, None, 0
        self.points = [0, 0]
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player = self.current_player
        self.number, self.last = changed(self.number, action), action
        self.points[player] += points(self.number)
        self.turns += 1
        self.current_player = 1 - player
        if self.points[player] >= GOAL:
            return self._observation(), 1, True, False, {}
        if self.turns < TURNS:
            return self._observation(), 0, False, False, {}
        ahead = self.points[0] > self.points[1]
        return self._observation(), 1 if ahead == (player == 0) else -1, True, False, {}

    def valid_moves(self):
        return [way for way in range(5) if way != self.last]

    def render(self):
        last = "none yet" if self.last is None else WAYS[self.last]
        return "\n".join(
            [
                f"Number: {self.number:02d}",
                f"Way chosen last: {last}",
                f"Points: player 1 has {self.points[0]}, player 2 has {self.points[1]}",
                f"Turns played: {self.turns} of {TURNS}; player {self.current_player + 1} moves",
            ]
        )

    def _observation(self):
        seen = [0.0] * 36
        seen[0:5] = SCORED[self.number]
        seen[5:10] = REPLY[self.number]
        seen[10 + self.number % 7] = 1.0
        seen[17 + self.number % 11] = 1.0
        seen[28] = min(1.0, self.points[self.current_player] / GOAL)
        seen[29] = min(1.0, self.points[1 - self.current_player] / GOAL)
        seen[30 + (5 if self.last is None else self.last)] = 1.0
        return np.array(seen, np.float32)
