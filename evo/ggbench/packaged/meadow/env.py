import gymnasium as gym
import numpy as np
from gymnasium import spaces

ROWS, COLUMNS = 4, 5
SQUARES = ROWS * COLUMNS
BESIDE = [
    [
        row * COLUMNS + column
        for row, column in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
        if 0 <= row < ROWS and 0 <= column < COLUMNS
    ]
    for r in range(ROWS)
    for c in range(COLUMNS)
]


class CustomEnv(gym.Env):
    """Meadow: plant flowers, never beside the last one; the largest bed wins."""

    def __init__(self):
        self.action_space = spaces.Discrete(SQUARES)
        # my flowers, the other's, and the one planted last
        self.observation_space = spaces.Box(0, 1, (3 * SQUARES,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.board = [0] * SQUARES
        self.last = None
        self.current_player = 1
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player = self.current_player
        self.board[action] = player
        self.last = action
        self.current_player = -player
        if 0 in self.board:
            return self._observation(), 0, False, False, {}
        first = self._beds(1) > self._beds(-1)
        return self._observation(), 1 if first == (player == 1) else -1, True, False, {}

    def _beds(self, player):
        """The sizes of a player's beds, the largest first."""
        left = {square for square in range(SQUARES) if self.board[square] == player}
        sizes = []
        while left:
            waiting, size = [left.pop()], 0
            while waiting:
                size += 1
                for square in BESIDE[waiting.pop()]:
                    if square in left:
                        left.remove(square)
                        waiting.append(square)
            sizes.append(size)
        return sorted(sizes, reverse=True)

    def valid_moves(self):
        empty = [square for square in range(SQUARES) if not self.board[square]]
        if self.last is None:
            return empty
        near = BESIDE[self.last]
        return [square for square in empty if square not in near] or empty

    def render(self):
        lines = []
        for row in range(ROWS):
            squares = self.board[row * COLUMNS : (row + 1) * COLUMNS]
            lines.append(" ".join(".12"[square] for square in squares))
        last = "none" if self.last is None else f"square {self.last}"
        mover = 1 if self.current_player == 1 else 2
        return "\n".join([*lines, f"Planted last: {last}", f"Player {mover} to move"])

    def _observation(self):
        player = self.current_player
        seen = [float(s == player) for s in self.board] + [float(s == -player) for s in self.board]
        last = [0.0] * SQUARES
        if self.last is not None:
            last[self.last] = 1.0
        return np.array(seen + last, np.float32)
