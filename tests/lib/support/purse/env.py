import gymnasium as gym
import numpy as np
from gymnasium import spaces

PURSE = 21
TOKENS = 6


class CustomEnv(gym.Env):
    """The Shared Purse: hand in a token, take as many pieces; who leaves no answer wins."""

    def __init__(self):
        self.action_space = spaces.Discrete(TOKENS)
        # my tokens, the opponent's tokens, which of mine fit, and the purse as one of 22 levels
        self.observation_space = spaces.Box(0, 1, (3 * TOKENS + PURSE + 1,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.purse = PURSE
        self.tokens = [list(range(1, TOKENS + 1)), list(range(1, TOKENS + 1))]
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        number = action + 1
        if number not in self.tokens[self.current_player] or number > self.purse:
            return self._observation(), -10, True, False, {}
        self.tokens[self.current_player].remove(number)
        self.purse -= number
        self.current_player = 1 - self.current_player
        over = not self.valid_moves()
        return self._observation(), int(over), over, False, {}

    def valid_moves(self):
        return [n - 1 for n in self.tokens[self.current_player] if n <= self.purse]

    def render(self):
        lines = [f"Purse: {self.purse} pieces"]
        for player, tokens in enumerate(self.tokens):
            mark = " (to move)" if player == self.current_player else ""
            held = " ".join(map(str, tokens)) or "none"
            lines.append(f"Player {player + 1}{mark}: tokens {held}")
        return "\n".join(lines)

    def _observation(self):
        seen = [0.0] * (3 * TOKENS + PURSE + 1)
        for number in self.tokens[self.current_player]:
            seen[number - 1] = 1.0
            if number <= self.purse:
                seen[2 * TOKENS + number - 1] = 1.0
        for number in self.tokens[1 - self.current_player]:
            seen[TOKENS + number - 1] = 1.0
        seen[3 * TOKENS + self.purse] = 1.0
        return np.array(seen, np.float32)
