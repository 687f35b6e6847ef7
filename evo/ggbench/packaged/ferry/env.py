import gymnasium as gym
import numpy as np
from gymnasium import spaces

HOME, FACES, RUNNERS, TURNS = 10, 4, 3, 60
SAFE = (3, 6)


class CustomEnv(gym.Env):
    """Ferry Dice: two dice, three runners; land on others to send them back."""

    def __init__(self):
        self.action_space = spaces.Discrete(2 * RUNNERS)
        # squares of both players' runners as levels, dice, and what each move would do
        size = 2 * RUNNERS * (HOME + 1) + 2 * FACES + 2 * 2 * RUNNERS
        self.observation_space = spaces.Box(0, 1, (size,), np.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.runners = [[0] * RUNNERS, [0] * RUNNERS]
        self.dice = [self._roll(), self._roll()]
        self.turns = 0
        self.current_player = 0
        return self._observation(), {}

    def _roll(self):
        return int(self.np_random.integers(1, FACES + 1))

    def step(self, action):
        if action not in self.valid_moves():
            return self._observation(), -10, True, False, {}
        player, die, runner = self.current_player, action // RUNNERS, action % RUNNERS
        mine, others = self.runners[player], self.runners[1 - player]
        mine[runner] = min(HOME, mine[runner] + self.dice[die])
        for other in self._sent_back(mine[runner], others):
            others[other] = 0
        self.dice[die] = self._roll()
        self.turns += 1
        self.current_player = 1 - player
        if mine.count(HOME) >= 2:
            return self._observation(), 1, True, False, {}
        if self.turns < TURNS:
            return self._observation(), 0, False, False, {}
        first = sum(self.runners[0]) > sum(self.runners[1])
        return self._observation(), 1 if first == (player == 0) else -1, True, False, {}

    def _sent_back(self, square, others):
        if square in SAFE or square == HOME:
            return []
        return [other for other in range(RUNNERS) if others[other] == square]

    def valid_moves(self):
        mine = self.runners[self.current_player]
        return [move for move in range(2 * RUNNERS) if mine[move % RUNNERS] < HOME]

    def render(self):
        def shown(square):
            return {0: "start", HOME: "home"}.get(square, str(square))

        lines = [f"Dice: {self.dice[0]} and {self.dice[1]}"]
        for player, runners in enumerate(self.runners):
            mark = " (to move)" if player == self.current_player else ""
            lines.append(f"Player {player + 1}{mark}: runners at {', '.join(map(shown, runners))}")
        return "\n".join([*lines, f"Turns played: {self.turns} of {TURNS}"])

    def _observation(self):
        seen = []
        mine, others = self.runners[self.current_player], self.runners[1 - self.current_player]
        for runners in (mine, others):
            for square in runners:
                seen += [float(square == level) for level in range(HOME + 1)]
        for die in self.dice:
            seen += [float(die == face) for face in range(1, FACES + 1)]
        for die in self.dice:
            for square in mine:
                goal = min(HOME, square + die)
                hit = square < HOME and bool(self._sent_back(goal, others))
                seen += [float(hit), float(square < HOME == goal)]
        return np.array(seen, np.float32)
