import gymnasium as gym
import numpy as np
from gymnasium import spaces

CARDS = [2, 3, 4, 6, 3, 5]
STRIKES = 4
RALLY = 6
LIFE, TURNS = 20, 60
NAMES = [f"Strike {n}" for n in CARDS[:STRIKES]] + [f"Ward {n}" for n in CARDS[STRIKES:]]


class CustomEnv(gym.Env):
    """Duel of Hands: strikes, wards, and the turn it costs to take them back."""

    def __init__(self):
        self.action_space = spaces.Discrete(7)
        # both hands, wards and lives, what each of my strikes would do, turns
        self.observation_space = spaces.Box(
            0, 1, (2 * (6 + 2 + LIFE + 1) + STRIKES + 1,), np.float32
        )

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.hands = [list(range(6)), list(range(6))]
        self.wards = [None, None]
        self.lives = [LIFE, LIFE]
        self.turns = 0
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player, other = self.current_player, 1 - self.current_player
        if action == RALLY:
            self.hands[player] = [card for card in range(6) if card != self.wards[player]]
        else:
            self.hands[player].remove(action)
            if action >= STRIKES:
                self.wards[player] = action
            else:
                self.lives[other] = max(0, self.lives[other] - self._harm(action, other))
                self.wards[other] = None
        self.turns += 1
        self.current_player = other
        if not self.lives[other]:
            return self._observation(), 1, True, False, {}
        if self.turns < TURNS:
            return self._observation(), 0, False, False, {}
        first = self.lives[0] > self.lives[1]
        return self._observation(), 1 if first == (player == 0) else -1, True, False, {}

    def _harm(self, strike, target):
        ward = self.wards[target]
        return max(0, CARDS[strike] - (CARDS[ward] if ward is not None else 0))

    def _discarded(self, player):
        return 6 - len(self.hands[player]) - (self.wards[player] is not None)

    def valid_moves(self):
        moves = list(self.hands[self.current_player])
        return moves + [RALLY] if self._discarded(self.current_player) >= 2 else moves

    def render(self):
        lines = []
        for player in range(2):
            mark = " (to move)" if player == self.current_player else ""
            hand = ", ".join(NAMES[card] for card in self.hands[player]) or "none"
            ward = "no Ward" if self.wards[player] is None else NAMES[self.wards[player]]
            lines.append(
                f"Player {player + 1}{mark}: {self.lives[player]} life, {ward} in play"
            )
            lines.append(f"  hand: {hand}")
        return "\n".join([*lines, f"Turns played: {self.turns} of {TURNS}"])

    def _observation(self):
        seen = []
        mine = self.current_player
        for player in (mine, 1 - mine):
            seen += [float(card in self.hands[player]) for card in range(6)]
            seen += [float(self.wards[player] == card) for card in (4, 5)]
            seen += [float(self.lives[player] == life) for life in range(LIFE + 1)]
        seen += [self._harm(strike, 1 - mine) / 6 for strike in range(STRIKES)]
        return np.array([*seen, self.turns / TURNS], np.float32)
