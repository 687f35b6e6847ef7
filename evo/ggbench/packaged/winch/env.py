import gymnasium as gym
import numpy as np
from gymnasium import spaces

END, HEAVES, TURNS = 4, 2, 26
LEVELS = 2 * END + 1


class CustomEnv(gym.Env):
    """Three Ropes: pull or heave, and the next rope slips; two locked ropes win."""

    def __init__(self):
        self.action_space = spaces.Discrete(6)
        # each knot as one of 9 levels, seen from my side; rope used last; heaves; turns; the sum
        size = 3 * LEVELS + 3 + 2 * (HEAVES + 1) + 2
        self.observation_space = spaces.Box(-1, 1, (size,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.knots = [0, 0, 0]
        self.last, self.turns = None, 0
        self.heaves = [HEAVES, HEAVES]
        self.current_player = 0
        return self._observation(), {}

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player, rope = self.current_player, action % 3
        way = 1 if player == 0 else -1
        if action >= 3:
            self.heaves[player] -= 1
        self._move(rope, way * (2 if action >= 3 else 1))
        if abs(self.knots[(rope + 1) % 3]) < END:
            self._move((rope + 1) % 3, -way)
        self.last, self.turns = rope, self.turns + 1
        self.current_player = 1 - player
        for side in (way, -way):
            if self.knots.count(side * END) >= 2:
                return self._observation(), side * way, True, False, {}
        if self.turns < TURNS:
            return self._observation(), 0, False, False, {}
        # the sum decides, then heaves, then player 1
        first = (sum(self.knots), self.heaves[0]) >= (0, self.heaves[1])
        return self._observation(), 1 if first == (player == 0) else -1, True, False, {}

    def _move(self, rope, steps):
        self.knots[rope] = max(-END, min(END, self.knots[rope] + steps))

    def valid_moves(self):
        free = [rope for rope in range(3) if abs(self.knots[rope]) < END]
        ropes = [rope for rope in free if rope != self.last] or free
        return ropes + ([rope + 3 for rope in ropes] if self.heaves[self.current_player] else [])

    def render(self):
        lines = []
        for name, knot in zip("ABC", self.knots):
            line = ["."] * LEVELS
            line[knot + END] = "o"
            locked = " (locked)" if abs(knot) == END else ""
            lines.append(f"Rope {name}: {''.join(line)} {knot:+d}{locked}")
        last = "none" if self.last is None else "ABC"[self.last]
        lines.append(f"Rope used last: {last}")
        lines.append(f"Heaves left: {self.heaves[0]} and {self.heaves[1]}")
        lines.append(
            f"Turns played: {self.turns} of {TURNS}; player {self.current_player + 1} moves"
        )
        return "\n".join(lines)

    def _observation(self):
        mine = self.current_player
        way = 1 if mine == 0 else -1
        seen = []
        for knot in self.knots:
            seen += [float(level == way * knot) for level in range(-END, END + 1)]
        seen += [float(rope == self.last) for rope in range(3)]
        for player in (mine, 1 - mine):
            seen += [float(self.heaves[player] == count) for count in range(HEAVES + 1)]
        return np.array([*seen, self.turns / TURNS, way * sum(self.knots) / 12], np.float32)
