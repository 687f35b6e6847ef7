"""The rule books against the programs: each game again, written from its rule book alone.

Both are played with the same random moves; dice, cards and numbers are the program's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
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


class Purse(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.pieces, self.tokens = 21, [set(range(1, 7)), set(range(1, 7))]

    def legal(self) -> list[int]:
        return sorted(n - 1 for n in self.tokens[self.mover] if n <= self.pieces)

    def play(self, move: int) -> int | None:
        self.tokens[self.mover].discard(move + 1)
        self.pieces -= move + 1
        self.turn += 1
        return None if self.legal() else 1 - self.mover


class Seesaw(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.beam: dict[int, int] = {}
        self.weights = [{1, 2, 3, 4}, {1, 2, 3, 4}]

    def tilt(self, extra: dict[int, int]) -> int:
        return sum(weight * (place - 4) for place, weight in {**self.beam, **extra}.items())

    def legal(self) -> list[int]:
        return sorted(
            9 * (weight - 1) + place
            for weight in self.weights[self.mover]
            for place in range(9)
            if place not in self.beam and -5 <= self.tilt({place: weight}) <= 5
        )

    def play(self, move: int) -> int | None:
        self.beam[move % 9] = move // 9 + 1
        self.weights[self.mover].remove(move // 9 + 1)
        self.turn += 1
        return None if self.legal() else 1 - self.mover


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


class Ford(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.men = [{(c, 1) for c in "abcd"}, {(c, 6) for c in "abcd"}]

    def steps(self) -> Iterator[tuple[int, tuple[str, int], tuple[str, int]]]:
        mine, others = self.men[self.mover], self.men[1 - self.mover]
        for column, row in mine:
            for way, aside in enumerate((-1, 0, 1)):
                goal = (chr(ord(column) + aside), row + (1 if self.mover == 0 else -1))
                on_board = goal[0] in "abcd" and 1 <= goal[1] <= 6
                if on_board and goal not in mine and (aside == 0 or goal not in others):
                    square = 4 * (row - 1) + "abcd".index(column)
                    yield 3 * square + way, (column, row), goal

    def legal(self) -> list[int]:
        return sorted(move for move, _, _ in self.steps())

    def play(self, move: int) -> int | None:
        player = self.mover
        start, goal = next((start, goal) for m, start, goal in self.steps() if m == move)
        self.men[player].remove(start)
        self.men[player].add(goal)
        self.men[1 - player].discard(goal)
        self.turn += 1
        across = goal[1] == (6 if player == 0 else 1)
        return player if across or not self.men[1 - player] or not self.legal() else None


def beside(square: int, rows: int) -> set[int]:
    row, column = divmod(square, 5)
    near = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
    return {5 * r + c for r, c in near if 0 <= r < rows and 0 <= c < 5}


class Meadow(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.flowers: dict[int, int] = {}
        self.last: int | None = None

    def legal(self) -> list[int]:
        empty = [square for square in range(20) if square not in self.flowers]
        far = [s for s in empty if self.last is None or s not in beside(self.last, 4)]
        return far or empty

    def beds(self, player: int) -> list[int]:
        sizes, rest = [], {s for s, owner in self.flowers.items() if owner == player}
        while rest:
            bed = {min(rest)}
            while border := {n for s in bed for n in beside(s, 4) if n in rest} - bed:
                bed |= border
            sizes.append(len(bed))
            rest -= bed
        return sorted(sizes, reverse=True)

    def play(self, move: int) -> int | None:
        self.flowers[move], self.last = self.mover, move
        self.turn += 1
        if len(self.flowers) < 20:
            return None
        ours, theirs = (self.beds(player) + [0] * 20 for player in (0, 1))
        for left, right in zip(ours, theirs, strict=False):
            if left != right:
                return 0 if left > right else 1
        return 1


class Tide(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.shells: dict[int, int] = {}

    def legal(self) -> list[int]:
        return [square for square in range(15) if square not in self.shells]

    def play(self, move: int) -> int | None:
        self.shells[move] = self.mover
        for square in beside(move, 3) - {0, 4, 10, 14}:
            if square in self.shells:
                self.shells[square] = self.mover
        self.turn += 1
        if len(self.shells) < 15:
            return None
        return 1 if sum(owner == 1 for owner in self.shells.values()) >= 7 else 0


class Market(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.row = list(env.row)
        self.cards: list[list[tuple[int, int]]] = [[], []]
        assert sorted(self.row) == [(colour, n) for colour in range(3) for n in range(1, 6)]

    def legal(self) -> list[int]:
        return list(range(len(self.row[:3])))

    def play(self, move: int) -> int | None:
        self.cards[self.mover].append(self.row.pop(move))
        self.turn += 1
        if self.row:
            return None
        assert [len(cards) for cards in self.cards] == [8, 7]
        points = [sum(value for _, value in cards) for cards in self.cards]
        points[1] += 5
        for colour in range(3):
            counts = [sum(c == colour for c, _ in cards) for cards in self.cards]
            if counts[0] != counts[1]:
                points[counts[1] > counts[0]] += 6
        return 0 if points[0] > points[1] else 1


class Duel(Restated):
    """Cards by their place: Strikes 2, 3, 4, 6, then Wards 3, 5."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.lives = [12, 12]
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
        if self.turn < 40:
            return None
        return 0 if self.lives[0] > self.lives[1] else 1

    def _discard_ward(self, player: int) -> None:
        ward = self.ward[player]
        if ward is not None:
            self.discarded[player].add(ward)
            self.ward[player] = None


class Rows(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.rows: list[dict[int, int]] = [{}, {}]
        self.drawn: set[int] = set()
        self.see(env)

    def see(self, env: Any) -> None:
        self.number = env.shown
        self.drawn.add(self.number)

    def legal(self) -> list[int]:
        own, other = self.rows[self.mover], self.rows[1 - self.mover]
        return [n for n in range(6) if n not in own] + [n + 6 for n in range(6) if n not in other]

    def play(self, move: int) -> int | None:
        self.rows[self.mover if move < 6 else 1 - self.mover][move % 6] = self.number
        self.turn += 1
        if self.turn < 12:
            return None
        assert len(self.drawn) == 12
        assert self.drawn <= set(range(1, 41))
        first, second = ([row[place] for place in range(6)] for row in self.rows)
        points = [sum(right > left for left, right in pairwise(row)) for row in (first, second)]
        if points[0] != points[1]:
            return 0 if points[0] > points[1] else 1
        return 0 if first[0] < second[0] else 1


class Ferry(Restated):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.at = [[0, 0, 0], [0, 0, 0]]
        self.dice: list[int] = list(env.dice)

    def see(self, env: Any) -> None:
        indices = [n for n in (0, 1) if env.dice[n] != self.dice[n]]
        assert indices in ([], [self.used])
        assert all(1 <= die <= 4 for die in env.dice)
        self.dice = list(env.dice)

    def legal(self) -> list[int]:
        return [3 * die + n for die in (0, 1) for n in range(3) if self.at[self.mover][n] <= 9]

    def play(self, move: int) -> int | None:
        player, (self.used, runner) = self.mover, divmod(move, 3)
        goal = self.at[player][runner] + self.dice[self.used]
        self.at[player][runner] = min(goal, 10)
        if goal <= 9 and goal not in (3, 6):
            others = self.at[1 - player]
            self.at[1 - player] = [0 if square == goal else square for square in others]
        self.turn += 1
        if sum(square == 10 for square in self.at[player]) == 2:
            return player
        if self.turn < 60:
            return None
        return 0 if sum(self.at[0]) > sum(self.at[1]) else 1


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
