"""The games that ship: their rule books, and their programs against an independent restatement."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from evo.ggbench.filters import run_filters
from evo.ggbench.game import find_all, packaged
from xgl.errors import ConfigError


def environment(name: str) -> Any:
    """Ours: no box is needed."""
    space: dict[str, Any] = {"__name__": "game"}
    exec(compile(packaged()[name].source, name, "exec"), space)
    return space["CustomEnv"]()


def test_a_game_that_ships_passes_every_filter() -> None:
    for game in packaged().values():
        assert [verdict for verdict in run_filters(game) if not verdict.passed] == []


def test_the_games_that_the_paper_released_are_read_from_its_three_folders(tmp_path: Path) -> None:
    for number in (10, 9):
        texts = {
            f"descriptions/{number}.txt": f"# Game {number}",
            f"envs/env_{number}.py": f"x = {number}",
            f"actions/{number}.txt": "m",
        }
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
    (tmp_path / "envs" / "__init__.py").touch()
    games = find_all(str(tmp_path))
    assert [(game.name, game.title) for game in games] == [
        ("released9", "Game 9"),
        ("released10", "Game 10"),
    ]
    assert find_all(str(tmp_path / "10")) == games[1:]
    assert [game.name for game in find_all("winch")] == ["winch"]
    (tmp_path / "actions" / "9.txt").unlink()
    with pytest.raises(ConfigError, match=r"actions/9\.txt cannot be read"):
        find_all(str(tmp_path))
    with pytest.raises(ConfigError, match="expected a folder with a game"):
        find_all("nowhere")


# -- The rule books against the programs: each game again, written from its rule book alone --------


class Restated:
    """Player 0 moves first; ``play`` returns the winner, None while the game goes on."""

    turn = 0

    @property
    def mover(self) -> int:
        return self.turn % 2

    def legal(self) -> list[int]:
        raise NotImplementedError

    def play(self, move: int) -> int | None:
        raise NotImplementedError


class Winch(Restated):
    """Ropes A, B and C, whose knots are pulled by one, or twice in a game by two."""

    def __init__(self) -> None:
        self.knots, self.last, self.doubles = [0, 0, 0], -1, [2, 2]

    def legal(self) -> list[int]:
        free = [rope for rope in range(3) if abs(self.knots[rope]) < 4]
        usable = [rope for rope in free if rope != self.last] or free
        return usable + [rope + 3 for rope in usable if self.doubles[self.mover]]

    def play(self, move: int) -> int | None:
        player, way = self.mover, (1, -1)[self.mover]
        self.last, neighbour = move % 3, (move + 1) % 3
        self.doubles[player] -= move >= 3
        height = self.knots[self.last] + way * (2 if move >= 3 else 1)
        self.knots[self.last] = min(4, max(-4, height))
        if abs(self.knots[neighbour]) < 4:
            self.knots[neighbour] -= way
        self.turn += 1
        majorities = [sum(knot == side for knot in self.knots) >= 2 for side in (4, -4)]
        if any(majorities):
            return 0 if majorities[0] else 1
        if self.turn < 26:
            return None
        total = sum(self.knots)
        return int(total < 0 or (total == 0 and self.doubles[0] < self.doubles[1]))


class Auction(Restated):
    def __init__(self) -> None:
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

    def __init__(self) -> None:
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


@pytest.mark.parametrize("name", GAMES)
def test_a_program_does_what_its_rule_book_says(name: str) -> None:
    env, rng, winners = environment(name), random.Random(name), set()
    for seed in range(60):
        env.reset(seed=seed)
        rule_book, winner = GAMES[name](), None
        while winner is None:
            assert env.valid_moves() == rule_book.legal()
            player, move = rule_book.mover, rng.choice(rule_book.legal())
            winner = rule_book.play(move)
            reward, is_over, is_truncated = env.step(move)[1:4]
            assert (is_over, is_truncated) == (winner is not None, False)
            assert reward == (0 if winner is None else 1 if winner == player else -1)
        winners.add(winner)
    assert winners == {0, 1}
