import gymnasium as gym
import numpy as np
from gymnasium import spaces

CARDS = [4, 7, 3, 8, 5, 6]
COINS = 12


class CustomEnv(gym.Env):
    """Six Cards: raise or pass; whoever owns more value at the end wins."""

    def __init__(self):
        self.action_space = spaces.Discrete(4)
        # the card, the bid as a level, my coins, the other's coins, values, and the lead
        self.observation_space = spaces.Box(-1, 1, (6 + 3 * (COINS + 1) + 4,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.card, self.bid = 0, 0
        self.coins, self.value = [COINS, COINS], [0, 0]
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player = self.current_player
        self.current_player = 1 - player
        if action:
            self.bid += action
            return self._observation(), 0, False, False, {}
        # the highest bid, if there is one, is always the opponent's
        self.coins[1 - player] -= self.bid
        self.value[1 - player] += CARDS[self.card]
        self.card, self.bid = self.card + 1, 0
        if self.card < len(CARDS):
            return self._observation(), 0, False, False, {}
        first = (self.value[0], self.coins[0]) > (self.value[1], self.coins[1])
        return self._observation(), 1 if first == (player == 0) else -1, True, False, {}

    def valid_moves(self):
        left = self.coins[self.current_player] - self.bid
        return [0] + [raised for raised in (1, 2, 3) if raised <= left]

    def render(self):
        offered = (
            "none" if self.card == len(CARDS) else f"number {self.card + 1}, value {CARDS[self.card]}"
        )
        lines = [
            f"Card on sale: {offered}",
            f"Cards to come: {' '.join(map(str, CARDS[self.card + 1 :])) or 'none'}",
            f"Highest bid: {self.bid}",
        ]
        for player in range(2):
            mark = " (to move)" if player == self.current_player else ""
            held = f"{self.coins[player]} coins, cards worth {self.value[player]}"
            lines.append(f"Player {player + 1}{mark}: {held}")
        return "\n".join(lines)

    def _observation(self):
        mine, other = self.current_player, 1 - self.current_player
        seen = [0.0] * self.observation_space.shape[0]
        if self.card < len(CARDS):
            seen[self.card] = 1.0
            seen[-4] = CARDS[self.card] / 8
        for place, level in enumerate((self.bid, self.coins[mine], self.coins[other])):
            seen[6 + place * (COINS + 1) + level] = 1.0
        seen[-3] = (self.value[mine] - self.value[other]) / 33
        seen[-2] = (self.coins[mine] - self.coins[other]) / COINS
        seen[-1] = self.bid / COINS
        return np.array(seen, np.float32)
