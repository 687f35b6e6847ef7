import gymnasium as gym
import numpy as np
from gymnasium import spaces

SQUARES = 6
HIGHEST = 40


class CustomEnv(gym.Env):
    """Two Rows: write drawn numbers into either row; the better sorted row wins."""

    def __init__(self):
        self.action_space = spaces.Discrete(2 * SQUARES)
        # for each square: empty, its number, and how well the shown number fits its neighbours
        self.observation_space = spaces.Box(-1, 1, (2 * SQUARES * 3 + 2,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.rows = [[0] * SQUARES, [0] * SQUARES]
        self.left = list(range(1, HIGHEST + 1))
        self.current_player = 0
        self._draw()
        return self._observation(), {}

    def _draw(self):
        self.shown = self.left.pop(int(self.np_random.integers(len(self.left))))

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player = self.current_player
        row = self.rows[player if action < SQUARES else 1 - player]
        row[action % SQUARES] = self.shown
        self.current_player = 1 - player
        if any(0 in each for each in self.rows):
            self._draw()
            return self._observation(), 0, False, False, {}
        mine, other = self.rows[player], self.rows[1 - player]
        won = (self._points(mine), -mine[0]) > (self._points(other), -other[0])
        return self._observation(), 1 if won else -1, True, False, {}

    def _points(self, row):
        return sum(0 < left < right for left, right in zip(row, row[1:]))

    def valid_moves(self):
        mine, other = self.rows[self.current_player], self.rows[1 - self.current_player]
        return [place for place, number in enumerate(mine + other) if not number]

    def render(self):
        lines = [f"Number to write: {self.shown}"]
        for player, row in enumerate(self.rows):
            mark = " (to move)" if player == self.current_player else ""
            squares = " ".join(f"{number:2d}" if number else " ." for number in row)
            lines.append(f"Player {player + 1}{mark}: {squares}  ({self._points(row)} points now)")
        return "\n".join(lines)

    def _observation(self):
        seen = []
        for row in (self.rows[self.current_player], self.rows[1 - self.current_player]):
            for place, number in enumerate(row):
                seen += [float(not number), number / HIGHEST, self._fit(row, place)]
        filled = sum(number > 0 for row in self.rows for number in row)
        return np.array([*seen, self.shown / HIGHEST, filled / 12], np.float32)

    def _fit(self, row, place):
        """From -1 to 1: how the shown number would stand between the nearest numbers of a row."""
        if row[place]:
            return 0.0
        before = [number for number in row[:place] if number]
        after = [number for number in row[place + 1 :] if number]
        good = sum(number < self.shown for number in before) + sum(
            number > self.shown for number in after
        )
        known = len(before) + len(after)
        if not known:  # an empty row: the place that the number's size suggests
            return 1 - abs(place / (SQUARES - 1) - (self.shown - 1) / (HIGHEST - 1)) * 2
        return 2 * good / known - 1
