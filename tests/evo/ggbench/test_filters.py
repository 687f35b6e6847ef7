# ruff: noqa: E501 - programs in strings
"""What models write daily is accepted: each game goes through the real box and all its filters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from support.ahead import Ahead
from support.hostile import GOOD, first, game_of

from evo.ggbench.box import RANDOM_MOVES, Box
from evo.ggbench.filters import FilterVerdict, run_filters
from evo.ggbench.guest.serve import STANDARD


def _begin(*lines: str, before: str = "") -> str:
    """The good game with more state, made by ``reset``; ``before``: lines before its class."""
    text = "self.left = 9\n" + "".join(f"        {line}\n" for line in lines)
    return f"{before}\n" + GOOD.replace("self.left = 9\n", text)


BOARD = """
import gymnasium as gym
import numpy as np
from gymnasium import spaces
class CustomEnv(gym.Env):
    N = 30
    def __init__(self):
        super().__init__()
        self.action_space = spaces.Discrete(self.N * self.N)
        self.observation_space = spaces.Box(-1, 1, (self.N, self.N), np.float32)
        self.reset()
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.board = np.zeros((self.N, self.N), np.float32)
        self.current_player, self.turn = 1, 0
        return self.board.copy(), {}
    def step(self, action):
        row, column = divmod(int(action), self.N)
        self.board[row, column] = self.current_player
        self.turn += 1
        is_over = self.turn == 12 or (row + column + self.turn) % 17 == 0
        self.current_player *= -1
        return self.board.copy(), int(is_over), is_over, False, {}
    def render(self):
        return "\\n".join("".join(".XO"[int(cell)] for cell in row) for row in self.board)
    def valid_moves(self):
        return [int(n) for n in np.flatnonzero(self.board.ravel() == 0)]
"""


GAMES = {
        "a state of all sorts": _begin(
        "self.pile, self.best = Pile(9), wins(9)", "self.stack: Stack[int] = Stack()",
        "self.turns, self.numbers = cycle([1, -1]), count()", "next(self.turns)",
        "self.share, self.price = Fraction(1, 3), Decimal('0.1')",
        "self.nodes = [{'next': []} for _ in range(2)]",
        "self.nodes[0]['next'].append(self.nodes[1]); self.nodes[1]['next'].append(self.nodes[0])",
        "self.me = self",
        before="from dataclasses import dataclass, field\nfrom fractions import Fraction\n"
        "from decimal import Decimal\nimport cmath, statistics, typing\nfrom typing import *\n"
        "@dataclass\nclass Pile:\n    left: int\n    taken: list = field(default_factory=list)\n"
        "T = TypeVar('T')\n"
        "class Stack(Generic[T]):\n    def __init__(self) -> None:\n        self.items: List[T] = []\n"
        "class Info(TypedDict):\n    left: int\n"
        "class Board(Protocol):\n    def full(self) -> bool: ...\n"
        "Cell = Literal[0, 1]\ntyping.get_type_hints(Info)\nfrom itertools import *\n"
        "LINES = list(combinations(range(4), 2)) + list(product('ab', repeat=2))\n"
        "from functools import lru_cache\n@lru_cache(None)\n"
        "def wins(n):\n    return any(not wins(n - k) for k in (1, 2, 3) if k <= n)",
    ),
        "a program that does much besides": first(
        "import re, string, textwrap, unicodedata, pprint, difflib", "import atexit, gc, signal, sys",
        "sys.setrecursionlimit(10_000)",
        "def depth(n):", "    return 0 if n == 0 else 1 + depth(n - 1)", "depth(3000)",
        "atexit.register(lambda: [0 for _ in iter(int, 1)])",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); gc.disable(); gc.freeze()",
    ).replace('f"{self.left} left"', "textwrap.dedent('  é♠ {}').format(self.left)")
    + "\nif __name__ == '__main__':\n    input()\n",
        "a generator in the state": _begin("self.order = (n for n in range(50))", "next(self.order)"),
        "own generators": _begin(
        "self.dice = random.Random(seed)", "self.rng = np.random.default_rng(seed)",
        "self.old = np.random.RandomState(seed)", "self.face = 0", "self.first = self.np_random.integers(6)",
        "random.shuffle([1, 2]); np.random.shuffle([1, 2])",
        before="import random",
    ).replace('f"{self.left} left"', 'f"{self.left} left, {self.face}"')
    .replace("self.count += 1", "self.count += 1; self.face = self.rng.integers(9)"),
        "a board of 30 by 30": BOARD,
        "a copy that is itself": GOOD + "    def __deepcopy__(self, memo):\n        return self\n",
        "an environment with slots": GOOD.replace(
        "class CustomEnv(gym.Env):\n", "class CustomEnv(gym.Env):\n    __slots__ = ('left', 'count')\n"
    ),
        "rewards and ends of numpy": GOOD.replace("int(not self.left), not self.left", "not self.left, np.array(not self.left)")}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts() -> Iterator[Ahead[list[FilterVerdict]]]:
    jobs = {name: partial(run_filters, game_of(source)) for name, source in GAMES.items()}
    with Ahead(jobs, 4) as ahead:
        yield ahead


@pytest.mark.parametrize("name", GAMES)
def test_what_models_write_daily_is_accepted(
    name: str, verdicts: Ahead[list[FilterVerdict]]
) -> None:
    last = verdicts.of(name)[-1]
    assert last.passed, last.reason


def test_the_modules_that_an_author_is_promised_are_there() -> None:
    source = "".join(f"import {name}\n" for name in STANDARD.split()) + GOOD
    with Box(game_of(source)) as box:
        assert box.new(0).legal


def test_a_search_leaves_the_game_as_it_was_whatever_its_state_holds() -> None:
    agent = {"kind": "search", "simulations": 30, "policy": None}
    odd = "a state of all sorts", "a generator in the state", "a copy that is itself"
    for name in (*odd, "own generators"):
        source = GAMES[name]
        with Box(game_of(source)) as box:
            box.new(1)
            box.choose(agent, 0)
            searched = [box.play(0), box.play(1)]
            box.new(1)
            assert searched == [box.play(0), box.play(1)], name


@pytest.mark.parametrize(
    "dice",
    [
        *("random.Random(seed)", "np.random.default_rng(seed)", "np.random.RandomState(seed)"),
        *("self.np_random", "[self.np_random]", "[np.random.default_rng(seed)]", "random"),
    ],
)
def test_no_agent_foresees_dice_of_any_generator(dice: str) -> None:
    draw = ".choice(3)" if "np" in dice else ".choices([0, 1, 2])[0]"  # as random moves are drawn
    draw = f"[0]{draw}" if dice.startswith("[") else draw
    kept = "self.kept = (n for n in [1]); " if dice.startswith("[np") else ""  # it has no copy
    start = f"{kept}self.dice = {dice}; self.left = 9"
    source = "import random\n" + GOOD.replace("self.left = 9", start)
    source = source.replace("action - 1", f"9 * (action == self.dice{draw})")
    search = {"kind": "search", "simulations": 40, "policy": None}
    with Box(game_of(source)) as box:
        for agent in (search, RANDOM_MOVES):
            first = sum(len(box.match((agent, agent), seed)[0]) == 1 for seed in range(30))
            assert first < 20, "one guess in three is right"
