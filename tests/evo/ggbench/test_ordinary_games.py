# ruff: noqa: E501 - programs in strings
"""What models write daily is accepted: each game goes through the real box and all its filters."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from support.hostile import GOOD, game_of

from evo.ggbench.box import Box
from evo.ggbench.filters import FilterVerdict, run_filters
from evo.ggbench.guest.main import STANDARD

SEEN = "np.array([self.left, min(self.count, 9)], np.float32)"


def _first(*lines: str) -> str:
    """Lines before the good game's class."""
    return "\n".join(lines) + "\n" + GOOD


def _begin(*lines: str, before: str = "") -> str:
    """The good game with more state, made by ``reset``; ``before``: lines before its class."""
    text = "self.left = 9\n" + "".join(f"        {line}\n" for line in lines)
    return f"{before}\n" + GOOD.replace("self.left = 9\n", text)


def _step(*lines: str) -> str:
    """The good game that first does something else in each step."""
    head = "    def step(self, action):\n"
    return GOOD.replace(head, head + "".join(f"        {line}\n" for line in lines))


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
    "dataclass": _begin(
        "self.pile = Pile(9)",
        before="from dataclasses import dataclass, field\n"
        "@dataclass\nclass Pile:\n    left: int\n    taken: list = field(default_factory=list)",
    ),
    "frozen dataclass with slots and order": _begin(
        "self.cards = sorted([Card(3, 'b'), Card(1, 'a')])",
        "self.pairs = {card: 1 for card in self.cards}",
        before="from dataclasses import dataclass, replace, asdict\nfrom typing import ClassVar\n"
        "@dataclass(frozen=True, order=True, slots=True)\n"
        "class Card:\n    value: int\n    suit: str\n    deck: ClassVar[int] = 2",
    ),
    "annotations future": "from __future__ import annotations\n"
    "from dataclasses import dataclass\n@dataclass\nclass Move:\n    after: Move | None = None\n"
    + _begin("self.last = Move(Move())"),
    "environment is a dataclass": GOOD.replace(
        "class CustomEnv", "from dataclasses import dataclass\n@dataclass(eq=False)\nclass CustomEnv"
    ),
    "enum": _begin(
        "self.turn = Side.FIRST",
        before="from enum import Enum, IntEnum, Flag, auto, unique\n@unique\nclass Side(Enum):\n"
        "    FIRST = auto()\n    SECOND = auto()\nclass Marks(Flag):\n    A = auto()\n    B = auto()",
    ),
    "moves of an IntEnum": "from enum import IntEnum\n"
    "class Take(IntEnum):\n    ONE = 0\n    TWO = 1\n    THREE = 2\n"
    + GOOD.replace("return [move for move in range(3)", "return [move for move in Take"),
    "players of an enum": "from enum import Enum\nclass Side(Enum):\n    A = 1\n    B = -1\n"
    + GOOD.replace("self.current_player = 1\n", "self.current_player = Side.A\n").replace(
        "self.current_player *= -1", "self.current_player = Side(-self.current_player.value)"
    ),
    "players are objects": "class Player:\n    def __init__(self):\n        self.score = 0\n"
    + GOOD.replace(
        "self.current_player = 1\n",
        "self.players = [Player(), Player()]; self.current_player = self.players[0]\n",
    ).replace(
        "self.current_player *= -1",
        "self.players.reverse(); self.current_player = self.players[0]",
    ),
    "typing": _begin(
        "self.stack: Stack[int] = Stack()",
        before="from typing import *\nimport typing\nT = TypeVar('T')\n"
        "class Stack(Generic[T]):\n    def __init__(self) -> None:\n        self.items: List[T] = []\n"
        "class Info(TypedDict):\n    left: int\n"
        "class Board(Protocol):\n    def full(self) -> bool: ...\n"
        "Cell = Literal[0, 1]\ntyping.get_type_hints(Info)\n",
    ),
    "typing names": "import numpy.typing as npt\n"
    "from typing import Any, Dict, List, Optional, Tuple, Union, TYPE_CHECKING\n"
    "if TYPE_CHECKING:\n    from nowhere import Nothing\n"
    + GOOD.replace("def seen(self):", "def seen(self) -> npt.NDArray[np.float32]:")
    .replace("def valid_moves(self):", "def valid_moves(self) -> List[int]:")
    .replace("def step(self, action):", "def step(self, action: int) -> Tuple[Any, ...]:"),
    "named tuples": _begin(
        "self.place, self.piece = Place(0, 0), Piece('a')",
        "self.place = self.place._replace(x=1)",
        before="from collections import namedtuple\nfrom typing import NamedTuple\n"
        "Place = namedtuple('Place', 'x y')\nclass Piece(NamedTuple):\n    name: str\n    value: int = 1",
    ),
    "a step that is a named tuple": "from typing import Any, NamedTuple\n"
    "class Step(NamedTuple):\n    observation: Any\n    reward: float\n    terminated: bool\n"
    "    truncated: bool\n    info: dict\n"
    + GOOD.replace(
        "return self.seen(), int(not self.left), not self.left, False, {}",
        "return Step(self.seen(), float(not self.left), not self.left, False, {})",
    ),
    "abstract base": "from abc import ABC, abstractmethod\n"
    "class TwoPlayers(ABC):\n    @abstractmethod\n    def seen(self): ...\n"
    + GOOD.replace("class CustomEnv(gym.Env):", "class CustomEnv(gym.Env, TwoPlayers):"),
    "functools": "from functools import (cache, cached_property, lru_cache, partial, reduce,\n"
    "    singledispatch, singledispatchmethod, total_ordering, wraps)\n"
    "def loud(method):\n    @wraps(method)\n    def inner(*args):\n        return method(*args)\n"
    "    return inner\n@cache\ndef moves(left):\n    return [m for m in range(3) if m < max(left, 1)]\n"
    "@singledispatch\ndef name(value):\n    return str(value)\n"
    + GOOD.replace(
        "    def render(self):", "    @cached_property\n    def most(self):\n"
        "        return 3\n    @loud\n    def render(self):"
    ).replace("[move for move in range(3) if move < max(self.left, 1)]", "moves(self.left)")
    .replace("self.left = 9", "self.left = 9; self.take = partial(min, 3); self.most"),
    "nested classes": GOOD.replace(
        "    def __init__(self):",
        "    class Pile:\n        class Stone:\n            pass\n"
        "        def __init__(self):\n            self.stones = [self.Stone() for _ in range(3)]\n"
        "    def __init__(self):",
    ).replace("self.left = 9", "self.left = 9; self.pile = self.Pile()"),
    "itertools in the state": _begin(
        "self.turns = cycle([1, -1])", "self.numbers = count()", "next(self.turns)",
        before="from itertools import *\nLINES = list(combinations(range(4), 2)) + list(product('ab', repeat=2))",
    ),
    "a generator in the state": _begin("self.order = (n for n in range(50))", "next(self.order)"),
    "lambdas of the environment": _begin(
        "self.effects = {0: lambda: self.take(1), 1: lambda: self.take(2), 2: lambda: self.take(3)}"
    ).replace("self.left = max(0, self.left - action - 1)", "self.effects[action]()")
    + "    def take(self, stones):\n        self.left = max(0, self.left - stones)\n",
    "bound methods of the environment": _begin("self.effects = [self.one, self.two, self.three]")
    .replace("self.left = max(0, self.left - action - 1)", "self.effects[action]()")
    + "".join(
        f"    def {name}(self):\n        self.left = max(0, self.left - {n})\n"
        for n, name in enumerate(("one", "two", "three"), start=1)
    ),
    "collections": _begin(
        "self.piles = defaultdict(list)", "self.queue = deque([1, 2], maxlen=3)",
        "self.counts = Counter('abca')", "self.order = OrderedDict(a=1)", "self.piles[0].append(1)",
        before="from collections import Counter, OrderedDict, defaultdict, deque, ChainMap",
    ),
    "own generators": _begin(
        "self.dice = random.Random(seed)", "self.rng = np.random.default_rng(seed)",
        "self.old = np.random.RandomState(seed)", "self.face = 0", "self.first = self.np_random.integers(6)",
        "random.shuffle([1, 2]); np.random.shuffle([1, 2])",
        before="import random",
    ).replace('f"{self.left} left"', 'f"{self.left} left, {self.face}"')
    .replace("self.count += 1", "self.count += 1; self.face = self.rng.integers(9)"),
    "copies of itself": "import copy\n"
    + GOOD.replace(
        "        return [move for move",
        "        twin = copy.deepcopy(self); twin.left = 0\n        return [move for move",
    ),
    "slots": _begin(
        "self.pile = Pile()", before="class Pile:\n    __slots__ = ('left',)\n"
        "    def __init__(self):\n        self.left = 3",
    ),
    "match and walrus": GOOD.replace(
        "        self.count += 1",
        "        match action:\n            case 0 | 1: pass\n            case n if n > 1: pass\n"
        "            case _: raise ValueError\n        if (n := self.count) is not None: self.count = n + 1",
    ),
    "properties and class methods": GOOD.replace(
        "    def render(self):",
        "    @property\n    def over(self):\n        return not self.left\n    @staticmethod\n"
        "    def most():\n        return 3\n    @classmethod\n    def make(cls):\n        return cls()\n"
        "    def __repr__(self):\n        return 'game'\n    def render(self, mode='human'):",
    ),
    "logging, printing and warnings": "import logging, sys, warnings, traceback\n"
    "logging.basicConfig(level=logging.INFO, stream=sys.stdout)\nlog = logging.getLogger(__name__)\n"
    + GOOD.replace(
        "        self.count += 1",
        "        self.count += 1; log.warning('moved'); print(action, flush=True)\n"
        "        warnings.warn('slow'); sys.stdout.isatty(); sys.stderr.write('x')",
    ),
    "dates": "from datetime import datetime, timedelta\nimport time, calendar\n"
    "datetime.strptime('2024-01-02', '%Y-%m-%d'); time.perf_counter(); datetime.now()\n" + GOOD,
    "numbers": _begin(
        "self.share, self.price = Fraction(1, 3), Decimal('0.1')",
        before="from fractions import Fraction\nfrom decimal import Decimal\nimport cmath, statistics",
    ),
    "numpy everywhere": GOOD.replace(
        "return [move for move in range(3) if move < max(self.left, 1)]",
        "return np.flatnonzero(np.arange(3) < max(self.left, 1))",
    )
    .replace("int(not self.left), not self.left, False", "np.float32(not self.left), np.bool_(not self.left), np.bool_(False)")
    .replace('f"{self.left} left"', "np.array2string(np.array([[self.left]]))"),
    "a pile of numpy": _begin(
        "self.board = np.zeros((3, 3), dtype=int)", "self.mask = np.ma.masked_equal(self.board, 0)",
        "self.names = np.array(['a', None], dtype=object)",
        "np.fft.fft(self.board); np.linalg.norm(self.board)",
    ),
    "moves as a set": GOOD.replace("return [move for", "return {move for").replace(
        "max(self.left, 1)]", "max(self.left, 1)}"
    ),
    "moves as a generator": GOOD.replace("return [move for", "yield from [move for"),
    "gymnasium habits": "from gymnasium.utils import seeding\nfrom gymnasium.envs.registration import register\n"
    "from gymnasium.core import ActType, ObsType\n"
    + GOOD.replace(
        "    def __init__(self):",
        "    metadata = {'render_modes': ['human', 'ansi'], 'render_fps': 4}\n"
        "    def __init__(self, render_mode=None):\n        super().__init__()\n"
        "        self.render_mode = render_mode",
    ).replace("self.left = 9", "self.left = 9; self.own, _ = seeding.np_random(seed)"),
    "a main program that does not run": GOOD + "\nif __name__ == '__main__':\n    input()\n",
    "a winner who is a loser": GOOD.replace("int(not self.left), not", "-int(not self.left), not"),
    "weak references and uuids": _begin(
        "self.pile = Pile(); self.again = weakref.ref(self.pile)",
        before="import weakref, uuid, hashlib, secrets, string\nclass Pile: pass\n"
        "NAME = hashlib.sha256(b'x').hexdigest()",
    ),
    "text": "import re, string, textwrap, unicodedata, pprint, difflib\n"
    + GOOD.replace('f"{self.left} left"', "textwrap.dedent('  é♠ {}').format(self.left)"),
    "parts of numpy that come late": _first(
        "import numpy as np",
        "np.char.upper(['a']); np.strings.add('a', 'b'); np.rec.array([(1,)]); np.einsum('i,i', [1], [1])",
        "np.set_printoptions(precision=2); np.lib.stride_tricks.sliding_window_view(np.zeros(4), 2)",
        "np.polynomial.Polynomial([1]); np.testing.assert_allclose(1, 1)",
    ),
    "dataclasses that inherit": _begin(
        "self.pile = Pile(1, b=2)",
        before="from dataclasses import KW_ONLY, InitVar, astuple, dataclass\n"
        "@dataclass\nclass Heap:\n    a: 'int'\n"
        "@dataclass(slots=True)\nclass Pile(Heap):\n    _: KW_ONLY\n    b: int = 0",
    ),
    "a generic environment": GOOD.replace("(gym.Env):", "(gym.Env[np.ndarray, int]):"),
    "observations that are lists": GOOD.replace(
        "return np.array([self.left, min(self.count, 9)], np.float32)",
        "return [self.left, min(self.count, 9)]",
    ),
    "players are dictionaries": GOOD.replace(
        "self.current_player = 1\n", "self.current_player = {'id': 1}\n"
    ).replace("self.current_player *= -1", "self.current_player = {'id': -self.current_player['id']}"),
    "a player that is a method": GOOD.replace("self.current_player = 1\n", "self.turn = 1\n").replace(
        "self.current_player *= -1", "self.turn *= -1"
    )
    + "    def current_player(self):\n        return self.turn\n",
    "a cached method": GOOD.replace(
        "    def valid_moves", "    @lru_cache(maxsize=None)\n    def twice(self, x):\n"
        "        return 2 * x\n    def valid_moves"
    ).replace("import gymnasium", "from functools import lru_cache\nimport gymnasium"),
    "queues, locks and patterns in the state": _begin(
        "self.queue = queue.Queue(); self.lock = threading.Lock(); self.match = re.match('a', 'a')",
        before="import queue, re, threading",
    ),
    "a module that may be absent": "try:\n    import torch\nexcept ImportError:\n    torch = None\n" + GOOD,
    "a state that holds itself": _begin(
        "self.nodes = [{'next': []} for _ in range(2)]",
        "self.nodes[0]['next'].append(self.nodes[1]); self.nodes[1]['next'].append(self.nodes[0])",
        "self.me = self",
    ),
    "a dictionary of dictionaries": _begin(
        "self.state = {'piles': {0: [1, 2]}, ('a', 1): {3, 4}, 'frozen': frozenset({1})}",
        "self.same = self.state['piles'][0]",
    ),
    "a board of 30 by 30": BOARD,
    "a board of int8": BOARD.replace("N = 30", "N = 5").replace("np.float32", "np.int8"),
    "moves of numpy": BOARD.replace("N = 30", "N = 6").replace(
        "[int(n) for n in np.flatnonzero(self.board.ravel() == 0)]",
        "list(np.flatnonzero(self.board.ravel() == 0))",
    ),
    "a step that wants an int": _step("assert isinstance(action, int)"),
    "memoised recursion": _begin(
        "self.best = wins(9)", before="from functools import lru_cache\n@lru_cache(None)\n"
        "def wins(n):\n    return any(not wins(n - k) for k in (1, 2, 3) if k <= n)",
    ),
    "deep recursion": _first(
        "import sys", "sys.setrecursionlimit(10_000)",
        "def depth(n):", "    return 0 if n == 0 else 1 + depth(n - 1)", "depth(3000)",
    ),
    "moves that are cleared later": _begin("self.moves = []").replace(
        "        self.count += 1", "        self.moves.clear(); self.count += 1"
    ).replace(
        "return [move for move in range(3) if move < max(self.left, 1)]",
        "self.moves[:] = [move for move in range(3) if move < max(self.left, 1)]; return self.moves",
    ),
    "all ways to print": _step(
        "import sys; print('x' * 1000, file=sys.__stdout__, flush=True)",
        "sys.stdout.reconfigure(encoding='utf-8'); sys.stdout.buffer.write(b'x')",
        "sys.__stderr__.write('x'); sys.stdout.writelines(['a', 'b']); sys.stderr.flush()",
    ),
    "atexit, signals and the collector": _first(
        "import atexit, gc, signal", "atexit.register(lambda: [0 for _ in iter(int, 1)])",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); gc.disable(); gc.freeze()",
    ),
    "a finaliser that raises": _begin(
        "self.pile = Pile()", before="class Pile:\n    def __del__(self):\n        raise ValueError"
    ),
    "moves that pickle as a command": "class Move(int):\n    def __reduce__(self):\n"
    "        import os\n        return (os.system, ('true',))\n"
    + GOOD.replace("return [move for", "return [Move(move) for"),
    "a copy that raises": GOOD + "    def __deepcopy__(self, memo):\n        raise RuntimeError\n",
    "a copy that is itself": GOOD + "    def __deepcopy__(self, memo):\n        return self\n",
    "attributes that look into themselves": GOOD
    + "    def __getattr__(self, name):\n        return self.data[name]\n",
    "a generator without a state": _begin("self.dice = random.SystemRandom()", before="import random"),
    "an environment that is equal to others": GOOD
    + "    def __eq__(self, other):\n        return self.left == other.left\n",
    "an environment with slots": GOOD.replace(
        "class CustomEnv(gym.Env):\n", "class CustomEnv(gym.Env):\n    __slots__ = ('left', 'count')\n"
    ),
    "a wrapper": GOOD.replace("CustomEnv", "Inner")
    + "class CustomEnv(gym.Wrapper):\n    def __init__(self):\n        super().__init__(Inner())\n"
    "    def valid_moves(self):\n        return self.env.valid_moves()\n"
    "    def render(self):\n        return self.env.render()\n",
    "a function that makes it": GOOD.replace("CustomEnv", "Inner") + "def CustomEnv():\n    return Inner()\n",
    "it makes itself": GOOD + "\nenv = CustomEnv()\nenv.reset()\n",
    "one array for all observations": _begin("self.buffer = np.zeros(2, np.float32)").replace(
        "return np.array([self.left, min(self.count, 9)], np.float32)",
        "self.buffer[:] = self.left, min(self.count, 9); return self.buffer",
    ),
    "spaces of numpy": GOOD.replace("Discrete(3)", "Discrete(np.int64(3))").replace(
        "spaces.Box(0, 9, (2,), np.float32)", "spaces.Box(low=0, high=255, shape=(2,), dtype=np.uint8)"
    ),
    "a state of its class": _first("STATE = {'n': 0}").replace(
        "self.count += 1", "self.count += 1; STATE['n'] += 1"
    ),
    "rewards and ends of numpy": GOOD.replace("int(not self.left), not self.left", "not self.left, np.array(not self.left)"),
    "a structured array": _begin(
        "self.cells = np.zeros(3, dtype=[('owner', int), ('worth', float)])", "self.cells['owner'][0] = 1"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> object:
    with ThreadPoolExecutor(4) as threads:
        futures: dict[str, Future[list[FilterVerdict]]] = {}

        def verdicts(name: str) -> list[FilterVerdict]:
            names = list(GAMES)
            for each in names[names.index(name) : names.index(name) + 4]:
                if each not in futures:
                    futures[each] = threads.submit(run_filters, game_of(GAMES[each]))
            return futures[name].result()

        yield verdicts


@pytest.mark.parametrize("name", GAMES)
def test_what_models_write_daily_is_accepted(name: str, pool: object) -> None:
    last = pool(name)[-1]  # type: ignore[operator]
    assert last.passed, last.reason


def test_the_modules_that_an_author_is_promised_are_there() -> None:
    source = "".join(f"import {name}\n" for name in STANDARD.split()) + GOOD
    with Box(game_of(source)) as box:
        assert box.new(0).legal


def test_a_search_leaves_the_game_as_it_was_whatever_its_state_holds() -> None:
    agent = {"kind": "search", "simulations": 30, "policy": None}
    for name, source in GAMES.items():
        with Box(game_of(source)) as box:
            box.new(1)
            box.choose(agent, 0)
            searched = [box.play(0), box.play(1)]
            box.new(1)
            assert searched == [box.play(0), box.play(1)], name


@pytest.mark.parametrize(
    "dice",
    [
        "random.Random(seed)",
        "np.random.default_rng(seed)",
        "np.random.RandomState(seed)",
        "self.np_random",
    ],
)
def test_a_search_does_not_foresee_dice_of_any_generator(dice: str) -> None:
    draw = "randint(0, 2)" if dice.startswith("random.") else "choice(3)"
    source = "import random\n" + GOOD.replace("self.left = 9", f"self.left = 9; self.dice = {dice}")
    source = source.replace("action - 1", f"9 * (action == self.dice.{draw})")
    search = {"kind": "search", "simulations": 40, "policy": None}
    with Box(game_of(source)) as box:
        first = sum(len(box.match((search, search), seed)[0]) == 1 for seed in range(60))
    assert first < 40, "one guess in three is right"
