"""Games that are faulty or mean harm: what each tries, its text, and what its verdict must say.

Each is the well-behaved game below with one method replaced, or a text of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from evo.ggbench.game import ProgramGame

GOOD = """
import gymnasium as gym
import numpy as np
from gymnasium import spaces

class CustomEnv(gym.Env):
    def __init__(self):
        self.action_space = spaces.Discrete(3)
        self.observation_space = spaces.Box(0, 9, (2,), np.float32)
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 9
        self.current_player = 1
        self.count = 0
        return self.seen(), {}
    def seen(self):
        return np.array([self.left, min(self.count, 9)], np.float32)
    def step(self, action):
        self.left = max(0, self.left - action - 1)
        self.count += 1
        self.current_player *= -1
        return self.seen(), int(not self.left), not self.left, False, {}
    def render(self):
        return f"{self.left} left"
    def valid_moves(self):
        return [move for move in range(3) if move < max(self.left, 1)]
"""


@dataclass(frozen=True)
class Hostile:
    """``source``: the game; ``stage`` and ``reason``: of its verdict, the latter a part of it."""

    name: str
    source: str
    stage: str
    reason: str

    @property
    def game(self) -> ProgramGame:
        return game_of(self.source, self.name)


def game_of(source: str, name: str = "a game") -> ProgramGame:
    """A game that does not ship."""
    return ProgramGame(name, "# Rules\n", source, "Moves.", None, "test")


def _step(*lines: str) -> str:
    """The good game that first does something else in each step."""
    body = "".join(f"        {line}\n" for line in lines)
    head = "    def step(self, action):\n"
    return GOOD.replace(head, head + body)


def _with_mark(line: str) -> str:
    """The good game that shows what it drew anew for itself: two of its games are never alike."""
    return GOOD.replace("self.left = 9", f"self.left = 9; {line}").replace(
        "{self.left} left", "{self.left} left, {self.mark}"
    )


def _method(name: str, *lines: str) -> str:
    """The good game with a method instead of its own."""
    body = "".join(f"        {line}\n" for line in lines)
    return f"{GOOD}    def {name}(self, *_, **__):\n{body}"


def first(*lines: str) -> str:
    """Lines that run when the text is read."""
    return "\n".join(lines) + "\n" + GOOD


def _refused(stage: str, **sources: tuple[str, str]) -> list[Hostile]:
    """Games by name, refused at a stage for a reason."""
    return [Hostile(name, source, stage, reason) for name, (source, reason) in sources.items()]


def _patched(line: str) -> str:
    """The good game, with another view than the guest's own."""
    return first(
        "import sys",
        "guest = sys.modules['evo.ggbench.guest.serve'].Guest",
        "honest = guest._view",
        "def patched(self):",
        "    view = honest(self)",
        f"    {line}",
        "    return view",
        "guest._view = patched",
    )


NO_PERMISSION, SILENT = "PermissionError", "deadline"
_LINE = ("import json, os", "def say(message): os.write(1, json.dumps(message).encode() + b'\\n')")

ATTACKS = _refused(
    "execution",
    reads_a_file=(first("open('/etc/passwd').read()"), NO_PERMISSION),
    writes_a_file=(first("open('/tmp/from_the_box', 'w')"), NO_PERMISSION),
    lists_a_folder=(first("import os", "os.listdir('/')"), NO_PERMISSION),
    removes_a_file=(first("import os", "os.unlink('/tmp/anything')"), NO_PERMISSION),
    reads_memory_of_others=(first("open('/proc/self/mem', 'rb')"), NO_PERMISSION),
    starts_a_shell=(first("import os", "raise OSError(os.system('true'))"), "OSError: 32512"),
    forks=(first("import os", "os.fork()"), NO_PERMISSION),
    executes=(first("import os", "os.execv('/bin/true', ['true'])"), NO_PERMISSION),
    kills_its_parent=(first("import os", "os.kill(os.getppid() or 1, 9)"), "Error"),
    connects=(first("import socket", "socket.create_connection(('1.1.1.1', 80))"), "Error"),
    imports_a_subprocess=(first("import subprocess, asyncio"), "No module named"),
    starts_a_thread=(
        first("import _thread", "_thread.start_new_thread(print, ())"),
        "can't start new thread",
    ),
    opens_a_pipe=(first("import os", "os.pipe()"), NO_PERMISSION),
    raises_its_limits=(
        first("import resource as r", "r.setrlimit(r.RLIMIT_CPU, (-1, -1))"),
        "not allowed to raise",
    ),
    maps_executable_memory=(
        first("import mmap", "mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC | mmap.PROT_READ)"),
        NO_PERMISSION,
    ),
    calls_the_kernel=(
        first(
            "import ctypes, errno",
            "libc = ctypes.CDLL(None, use_errno=True)",
            "if libc.open(b'/etc/passwd', 0) < 0: raise OSError(ctypes.get_errno(), 'refused')",
        ),
        NO_PERMISSION,
    ),
    traces=(
        first(
            "import ctypes",
            "libc = ctypes.CDLL(None, use_errno=True)",
            "if libc.ptrace(0, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), 'refused')",
        ),
        NO_PERMISSION,
    ),
    uses_a_foreign_system_call=(
        first("import ctypes", "ctypes.CDLL(None).syscall(0x40000000 + 39)"),
        "ended by signal 31",
    ),
    loops_and_swallows_everything=(
        _step(
            "while True:", "    try:", "        while True: pass", "    except BaseException: pass"
        ),
        SILENT,
    ),
    sleeps=(_step("import time", "time.sleep(1000)"), SILENT),
    computes_in_c=(first("x = 7 ** 7 ** 9"), SILENT),
    allocates=(first("x = bytearray(1 << 34)"), "MemoryError"),
    allocates_without_end=(_step("x = []", "while True: x.append(bytes(1 << 26))"), "MemoryError"),
    recurses=(_method("valid_moves", "return self.valid_moves()"), "RecursionError"),
    crashes_the_interpreter=(first("import ctypes", "ctypes.string_at(0)"), "ended by signal 11"),
    leaves=(_step("import os", "os._exit(0)"), "ended with code 0"),
    exits=(_step("raise SystemExit"), "SystemExit"),
    closes_the_pipe=(_step("import os", "os.close(1)"), "ended with code 1"),
    forges_an_answer=(
        first(*_LINE, "say({'number': 1, 'answer': {'actions': 3, 'shape': [2]}})"),
        "observation: found {'actions'",
    ),
    forges_an_answer_to_nothing=(first(*_LINE, "say({'number': 77})"), "not asked"),
    sends_no_json=(first("import os", "os.write(1, b'abc')"), "no JSON"),
    sends_deep_json=(first("import os", "os.write(1, b'[' * 60000)"), "no JSON"),
    sends_a_flood=(
        first("import os", "while True: os.write(1, b'x' * 4096)"),
        "an answer of more than",
    ),
    sends_half_an_answer=(
        first("import os, time", "os.write(1, b'\\0\\0')", "time.sleep(1000)"),
        SILENT,
    ),
    claims_endless_actions=(
        first(*_LINE, "say({'number': 1, 'answer': {'actions': 10**9, 'shape': [2]}})"),
        "actions: found 1000000000",
    ),
    claims_huge_observations=(
        GOOD.replace("0, 9, (2,)", "0, 9, (100, 1000)"),
        "observations have the shape [100, 1000]",
    ),
    prints_without_end=(_step("while True: print('x' * 10000)"), SILENT),
    has_a_mean_exception=(
        first(
            "class Mean(Exception):",
            "    def __str__(self): raise ValueError('again')",
            "raise Mean",
        ),
        "(no message)",
    ),
    replaces_the_guest=(
        first(
            "import sys",
            "guest = sys.modules['evo.ggbench.guest.serve']",
            "guest.Guest.new = lambda self, seed: {'legal': ['a']}",
        ),
        "found {'legal': ['a']}",
    ),
    draws_answers_out_to_the_last_second=(_step("import time", "time.sleep(1.5)"), SILENT),
    sends_byte_after_byte=(
        first("import os, time", "while True: os.write(1, b' '); time.sleep(0.1)"),
        SILENT,
    ),
    hooks_the_collector=(
        first(
            "import gc", "gc.callbacks.append(lambda *_: [0 for _ in iter(int, 1)])", "gc.collect()"
        ),
        SILENT,
    ),
    never_finishes_dying=(
        _step(
            "class Undead(SystemExit):",
            "    def __del__(self):",
            "        while True: pass",
            "raise Undead",
        ),
        SILENT,
    ),
    profiles_without_end=(
        first("import sys", "def spin(*_):", "    while True: pass", "sys.setprofile(spin)"),
        SILENT,
    ),
    swaps_the_encoder=(
        first("import json", "json.dumps = lambda *_, **__: '{\"number\": 1}'"),
        "wrong form",
    ),
    moves_by_numbers_equal_to_all=(
        "class Any(int):\n"
        "    def __eq__(self, other): return True\n"
        "    def __hash__(self): return 0\n"
        "    def __int__(self): return 10 ** 6\n" + _method("valid_moves", "return [Any(0)]"),
        "legal: found 1000000",
    ),
    names_a_player_without_end=(
        GOOD.replace(
            "self.current_player = 1\n",
            "self.current_player = type('P', (), {'__repr__': lambda _: 'x' * (1 << 29)})()\n",
        ),
        "MemoryError",
    ),
    claims_a_deep_number=(
        first(*_LINE, "say({'number': 1, 'answer': {'actions': eval('[' * 90 + ']' * 90)}})"),
        "actions: found [[[",
    ),
    sends_json_as_deep_as_it_may_be=(
        first(
            "import os",
            "deep = b'[' * 900 + b']' * 900",
            'body = b\'{"number": 1, "answer": {"actions": \' + deep + b\'}}\'',
            "os.write(1, body + b'\\n')",
        ),
        "no JSON",
    ),
    shows_a_long_board_behind_the_guests_back=(
        _patched("view['text'] = 'x' * 900_000"),
        "at most 20000 characters",
    ),
    names_a_long_player=(_patched("view['player'] = 'x' * 900_000"), "at most 200 characters"),
)

FAULTS = _refused(
    "execution",
    is_no_python=("def (:", "SyntaxError"),
    is_nested_deeply=("x = absent" + "()" * 2500 + "\n" + GOOD, "NameError"),
    holds_a_lone_surrogate=("x = '\ud800'", "surrogates not allowed"),
    has_a_wrong_action_space=(GOOD.replace("Discrete(3)", "MultiBinary(3)"), "no Discrete space"),
    steps_to_four_values=(GOOD.replace("left, False, {}", "left, {}"), "expected 5, got 4"),
    observes_another_shape=(GOOD.replace("([self.left,", "([0, self.left,"), "has the shape [3]"),
    observes_beyond_its_space=(GOOD.replace("([self", "([10 + self"), "outside its space"),
    renders_nothing=(_method("render", "return None"), "render returns no text"),
    offers_a_move_twice=(_method("valid_moves", "return [0, 0]"), "names a move twice"),
    offers_a_move_that_is_none=(_method("valid_moves", "return [3]"), "legal: found 3"),
    refuses_what_it_offers=(_step("return self.seen(), -10, True, False, {}"), "reward -10"),
    shows_itself_by_a_move=(
        _method("render", "self.left = max(self.left - 1, 1)", "return str(self.left)"),
        "render or valid_moves changes the game",
    ),
    draws_its_moves=(
        _method("valid_moves", "return [int(self.np_random.integers(3))]"),
        "valid_moves returns other moves",
    ),
    reads_a_line=(_step("input('your move: ')"), "lost sys.stdin"),
    overflows_the_stack=(
        first(
            "import sys",
            "sys.setrecursionlimit(10**9)",
            "class Mirror:",
            "    def __repr__(self): return repr(self)",
            "repr(Mirror())",
        ),
        "ended by signal 11",
    ),
    raises_at_great_length=(_step("raise ValueError('x' * (1 << 26))"), "ValueError: xxx"),
    raises_what_has_a_long_name=(
        _step("raise type('\x1b[31m' * 10**5, (Exception,), {})('x')"),
        "[31m [31m",
    ),
    offers_moves_without_end=(
        _method("valid_moves", "import itertools", "return itertools.count()"),
        "more than 100,000 moves",
    ),
)

OTHERS = [
    *_refused(
        "keyword",
        has_a_power_of_actions=(GOOD.replace("Discrete(3)", "Discrete(26 ** 5)"), "26 ** 5"),
    ),
    *_refused(
        "alternation",
        moves_one_player_twice=(GOOD.replace("self.current_player *= -1", "pass"), "moved twice"),
    ),
    *_refused(
        "repeatability",
        differs_under_one_seed=(
            _with_mark("import time; self.mark = time.monotonic_ns()"),
            "another game",
        ),
        counts_on_the_kernel_for_dice=(
            _with_mark("import os; self.mark = os.urandom(8).hex()"),
            "another game",
        ),
        shares_its_board_with_its_copies=(
            GOOD.replace("self.left = 9", "self.left = 9; self.pile = Pile()")
            .replace("self.left = max", "self.pile.all -= 1; self.left = max")
            .replace("{self.left} left", "{self.left} left, {self.pile.all}")
            .replace(
                "class CustomEnv",
                "class Pile:\n    def __init__(self): self.all = 9\n"
                "    def __deepcopy__(self, memo): return self\nclass CustomEnv",
            ),
            "a search changes the game",
        ),
        lets_searches_wait=(
            _step("import sys, time", "if sys._getframe(2).f_code.co_name == 'search':").replace(
                "'search':\n", "'search': time.sleep(1000)\n"
            ),
            SILENT,
        ),
    ),
    *_refused(
        "timeout",
        gives_the_moves_of_a_search_a_byte_at_a_time=(
            first(
                "import os, sys, time",
                "main = sys.modules['evo.ggbench.guest.serve']",
                "honest = main.send",
                "def drip(content):",
                "    if b'moves' not in content:",
                "        return honest(content)",
                "    for byte in content:",
                "        os.write(1, bytes([byte])); time.sleep(0.3)",
                "main.send = drip",
            ),
            SILENT,
        ),
        never_ends=(GOOD.replace("max(0, self.left - action - 1)", "9"), "goes on after"),
    ),
    *_refused(
        "undecided", ends_undecided=(GOOD.replace("int(not self.left), not", "0, not"), "no winner")
    ),
    *_refused(
        "execution",
        is_correct_for_40_moves_and_then_hangs=(
            _step("kind = type(self)", "kind.all += 1", "while kind.all > 40: pass").replace(
                "class CustomEnv(gym.Env):", "class CustomEnv(gym.Env):\n    all = 0"
            ),
            SILENT,
        ),
    ),
]

ALL = [*ATTACKS, *FAULTS, *OTHERS]
