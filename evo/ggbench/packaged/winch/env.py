import gymnasium as gym
import numpy as np
from gymnasium import spaces

END, HEAVES, TURNS = 3, 3, 24


class CustomEnv(gym.Env):
    """Three Ropes: pull or heave; two locked knots win."""

    def __init__(self):
        self.action_space = spaces.Discrete(6)
        # each knot as one of 7 levels, seen from my side; rope used last; heaves; turns
        self.observation_space = spaces.Box(0, 1, (3 * 7 + 3 + 2 * (HEAVES + 1) + 1,), np.float32)

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
        moved = self.knots[rope] + way * (2 if action >= 3 else 1)
        self.knots[rope] = max(-END, min(END, moved))
        self.last, self.turns = rope, self.turns + 1
        self.current_player = 1 - player
        if self.knots.count(way * END) >= 2:
            return self._observation(), 1, True, False, {}
        if self.turns < TURNS:
            return self._observation(), 0, False, False, {}
        first = sum(self.knots) > 0
        return self._observation(), 1 if first == (player == 0) else -1, True, False, {}

    def valid_moves(self):
        free = [rope for rope in range(3) if abs(self.knots[rope]) < END]
        ropes = [rope for rope in free if rope != self.last] or free
        return ropes + ([rope + 3 for rope in ropes] if self.heaves[self.current_player] else [])

    def render(self):
        lines = []
        for name, knot in zip("ABC", self.knots):
            line = ["."] * 7
            line[knot + END] = "o"
            locked = " (locked)" if abs(knot) == END else ""
            lines.append(f"Rope {name}: -3 {''.join(line)} +3, knot at {knot:+d}{locked}")
        last = "none" if self.last is None else "ABC"[self.last]
        lines.append(f"Rope used last: {last}")
        lines.append(f"Heaves left: player 1 has {self.heaves[0]}, player 2 has {self.heaves[1]}")
        lines.append(
            f"Turns played: {self.turns} of {TURNS}; player {self.current_player + 1} moves"
        )
        return "\n".join(lines)

    def _observation(self):
        seen = [0.0] * self.observation_space.shape[0]
        way = 1 if self.current_player == 0 else -1
        for rope, knot in enumerate(self.knots):
            seen[7 * rope + END + way * knot] = 1.0
        if self.last is not None:
            seen[21 + self.last] = 1.0
        seen[24 + self.heaves[self.current_player]] = 1.0
        seen[24 + HEAVES + 1 + self.heaves[1 - self.current_player]] = 1.0
        seen[-1] = self.turns / TURNS
        return np.array(seen, np.float32)
