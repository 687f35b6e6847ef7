import gymnasium as gym
import numpy as np
from gymnasium import spaces

ROWS, COLUMNS = 3, 5
SQUARES = ROWS * COLUMNS
CORNERS = (0, COLUMNS - 1, SQUARES - COLUMNS, SQUARES - 1)
ENOUGH = 7
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
    """Tide: a shell turns its neighbours; player 2 wins with seven of fifteen."""

    def __init__(self):
        self.action_space = spaces.Discrete(SQUARES)
        # my shells, the other's
        self.observation_space = spaces.Box(0, 1, (2 * SQUARES,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.board = [0] * SQUARES
        self.current_player = 1
        return self._observation(), {}

    def step(self, action):
        if self.board[action]:
            return self._observation(), -10, True, False, {}
        player = self.current_player
        self.board[action] = player
        for square in BESIDE[action]:
            if self.board[square] == -player and square not in CORNERS:
                self.board[square] = player
        self.current_player = -player
        if 0 in self.board:
            return self._observation(), 0, False, False, {}
        first = self.board.count(-1) < ENOUGH
        return self._observation(), 1 if first == (player == 1) else -1, True, False, {}

    def valid_moves(self):
        return [square for square in range(SQUARES) if not self.board[square]]

    def render(self):
        lines = []
        for row in range(ROWS):
            squares = self.board[row * COLUMNS : (row + 1) * COLUMNS]
            lines.append(" ".join(".12"[square] for square in squares))
        lines.append(
            f"Shells: player 1 has {self.board.count(1)}, player 2 has {self.board.count(-1)}"
        )
        mover = 1 if self.current_player == 1 else 2
        return "\n".join([*lines, f"Player {mover} to move"])

    def _observation(self):
        player = self.current_player
        seen = [float(s == player) for s in self.board] + [float(s == -player) for s in self.board]
        return np.array(seen, np.float32)
