"""The rule books against the programs: each game again, written from its rule book alone.

Both are played with the same random moves; dice, cards and numbers are the program's.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from evo.ggbench.game import packaged_game


class Restated:
    """Player 0 moves first; ``play`` returns the winner, None while the game goes on."""

    def __init__(self, env: Any) -> None:
        self.turn = 0

    @property
    def mover(self) -> int:
        return self.turn % 2

    def legal(self) -> list[int]:
        raise NotImplementedError

    def play(self, move: int) -> int | None:
        raise NotImplementedError

    def see(self, env: Any) -> None:
        """What chance brings after a move."""


class Auction(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.lots, self.bid = [4, 7, 3, 8, 5, 6], 0
        self.coins, self.worth = [12, 12], [0, 0]

    def legal(self) -> list[int]:
        return [0] + [n for n in (1, 2, 3) if self.bid + n <= self.coins[self.mover]]

    def play(self, move: int) -> int | None:
        self.turn += 1
        if move:
            self.bid += move
            return None
        self.coins[self.mover] -= self.bid  # the passer's opponent, who moves first on the next lot
        self.worth[self.mover] += self.lots.pop(0)
        self.bid = 0
        if self.lots:
            return None
        for left, right in (self.worth, self.coins):
            if left != right:
                return 0 if left > right else 1
        return 1


class Duel(Restated):
    """Cards by their place: Strikes 2, 3, 4, 6, then Wards 3, 5."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.lives = [20, 20]
        self.hand = [set(range(6)), set(range(6))]
        self.discarded: list[set[int]] = [set(), set()]
        self.ward: list[int | None] = [None, None]

    def legal(self) -> list[int]:
        rally = [6] if len(self.discarded[self.mover]) >= 2 else []
        return sorted(self.hand[self.mover]) + rally

    def play(self, move: int) -> int | None:
        player, other = self.mover, 1 - self.mover
        self.hand[player].discard(move)
        if move == 6:
            self.hand[player] |= self.discarded[player]
            self.discarded[player] = set()
        elif move >= 4:
            self._discard_ward(player)
            self.ward[player] = move
        else:
            ward = self.ward[other]
            protection = 0 if ward is None else {4: 3, 5: 5}[ward]
            self.lives[other] -= max(0, [2, 3, 4, 6][move] - protection)
            self._discard_ward(other)
            self.discarded[player].add(move)
        self.turn += 1
        if self.lives[other] <= 0:
            return player
        if self.turn < 60:
            return None
        return 0 if self.lives[0] > self.lives[1] else 1

    def _discard_ward(self, player: int) -> None:
        ward = self.ward[player]
        if ward is not None:
            self.discarded[player].add(ward)
            self.ward[player] = None


GAMES = {each.__name__.lower(): each for each in Restated.__subclasses__()}
"""``sevens`` and ``winch`` are restated in ``test_game.py``."""


@pytest.mark.parametrize("name", GAMES)
def test_a_program_does_what_its_rule_book_says(name: str) -> None:
    space: dict[str, Any] = {"__name__": "game"}
    exec(compile(packaged_game(name).source, name, "exec"), space)
    env, rng, winners = space["CustomEnv"](), random.Random(name), set()
    for seed in range(60):
        env.reset(seed=seed)
        rule_book, winner = GAMES[name](env), None
        while winner is None:
            assert env.valid_moves() == rule_book.legal()
            player, move = rule_book.mover, rng.choice(rule_book.legal())
            winner = rule_book.play(move)
            reward, is_over, is_truncated = env.step(move)[1:4]
            assert (is_over, is_truncated) == (winner is not None, False)
            assert reward == (0 if winner is None else 1 if winner == player else -1)
            if winner is None:
                rule_book.see(env)
        winners.add(winner)
    assert winners == {0, 1}
