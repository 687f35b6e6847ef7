import gymnasium as gym
import numpy as np
from gymnasium import spaces

WIDE, LONG = 4, 6
SQUARES = WIDE * LONG


class CustomEnv(gym.Env):
    """The Ford: runners go forward and take straight ahead; the first across wins."""

    def __init__(self):
        self.action_space = spaces.Discrete(3 * SQUARES)
        # my runners and the other's, both seen as if I ran towards row 6
        self.observation_space = spaces.Box(0, 1, (2 * SQUARES,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.board = [1] * WIDE + [0] * (SQUARES - 2 * WIDE) + [-1] * WIDE
        self.current_player = 1
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player = self.current_player
        start, goal = action // 3, self._goal(action)
        self.board[start], self.board[goal] = 0, player
        self.current_player = -player
        across = goal // WIDE == (LONG - 1 if player == 1 else 0)
        over = across or not self.valid_moves()
        return self._observation(), int(over), over, False, {}

    def _goal(self, action):
        return action // 3 + self.current_player * WIDE + action % 3 - 1

    def valid_moves(self):
        moves = []
        player, board = self.current_player, self.board
        for square in range(SQUARES):
            if board[square] != player or not 0 <= square + player * WIDE < SQUARES:
                continue
            ahead, column = square + player * WIDE, square % WIDE
            if column > 0 and not board[ahead - 1]:
                moves.append(3 * square)
            if board[ahead] != player:
                moves.append(3 * square + 1)
            if column < WIDE - 1 and not board[ahead + 1]:
                moves.append(3 * square + 2)
        return moves

    def render(self):
        lines = []
        for row in reversed(range(LONG)):
            squares = self.board[row * WIDE : (row + 1) * WIDE]
            lines.append(f"{row + 1} " + " ".join(".12"[square] for square in squares))
        mover = 1 if self.current_player == 1 else 2
        return "\n".join([*lines, "  a b c d", f"Player {mover} to move"])

    def _observation(self):
        player, board = self.current_player, self.board
        if player == -1:  # turn the rows round, not the columns
            board = [board[(LONG - 1 - s // WIDE) * WIDE + s % WIDE] for s in range(SQUARES)]
        own = [float(square == player) for square in board]
        return np.array(own + [float(square == -player) for square in board], np.float32)
