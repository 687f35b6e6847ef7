import gymnasium as gym
import numpy as np
from gymnasium import spaces

COLOURS = ("red", "green", "blue")
VALUES = 5
CARDS = 15
BONUS, GIFT = 6, 5
SHOWN = 6


class CustomEnv(gym.Env):
    """Market Row: take one of the first three cards; values and majorities count."""

    def __init__(self):
        self.action_space = spaces.Discrete(3)
        # the first six cards (value, colour), counts of colours, both sums, cards left
        self.observation_space = spaces.Box(0, 1, (4 * SHOWN + 6 + 2 + 1,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        order = self.np_random.permutation(CARDS)
        self.row = [(int(card) // VALUES, int(card) % VALUES + 1) for card in order]
        self.taken = [[], []]
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player = self.current_player
        self.taken[player].append(self.row.pop(action))
        self.current_player = 1 - player
        if self.row:
            return self._observation(), 0, False, False, {}
        first = self._points(0) > self._points(1)
        return self._observation(), 1 if first == (player == 0) else -1, True, False, {}

    def _count(self, player, colour):
        return sum(card[0] == colour for card in self.taken[player])

    def _points(self, player):
        points = sum(value for _, value in self.taken[player]) + (GIFT if player else 0)
        for colour in range(3):
            points += BONUS * (self._count(player, colour) > self._count(1 - player, colour))
        return points

    def valid_moves(self):
        return list(range(min(3, len(self.row))))

    def render(self):
        def shown(cards):
            return ", ".join(f"{COLOURS[colour]} {value}" for colour, value in cards) or "none"

        lines = [f"Row: {shown(self.row)}"]
        for player in range(2):
            mark = " (to move)" if player == self.current_player else ""
            points = self._points(player)
            lines.append(
                f"Player {player + 1}{mark}: {shown(self.taken[player])}; {points} points now"
            )
        return "\n".join(lines)

    def _observation(self):
        mine, other = self.current_player, 1 - self.current_player
        seen = [0.0] * self.observation_space.shape[0]
        for place, (colour, value) in enumerate(self.row[:SHOWN]):
            seen[4 * place] = value / VALUES
            seen[4 * place + 1 + colour] = 1.0
        for colour in range(3):
            seen[4 * SHOWN + colour] = self._count(mine, colour) / VALUES
            seen[4 * SHOWN + 3 + colour] = self._count(other, colour) / VALUES
        seen[-3] = sum(value for _, value in self.taken[mine]) / 45
        seen[-2] = sum(value for _, value in self.taken[other]) / 45
        seen[-1] = len(self.row) / CARDS
        return np.array(seen, np.float32)
