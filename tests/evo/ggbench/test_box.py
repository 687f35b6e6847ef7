"""The box: no game gets out, and each that breaks a rule ends in a verdict within its deadline."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from support import hostile
from support.ahead import Ahead
from support.purse_game import PURSE

from evo.ggbench import box as box_module
from evo.ggbench.box import Box, BoxLimits, GameFaultError, NoLockError
from evo.ggbench.filters import FilterVerdict, digest, run_filters
from evo.ggbench.game import packaged
from evo.ggbench.guest.lock import ALLOWED, instructions

LIMITS = BoxLimits(answer=2.0, total=8.0, memory=400 << 20)


SLOW = "draws_answers", "lets_searches", "gives_the_moves"
CASES = {bad.name: bad for bad in hostile.ALL}
NAMES = [pytest.param(n, marks=[pytest.mark.long] * n.startswith(SLOW)) for n in CASES]
"""Those that wait for the limit of all answers take eight seconds each."""


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> Iterator[Ahead[FilterVerdict]]:
    """The last verdict of each that is asked for: most of their time is waiting for a deadline."""
    items: list[Any] = [i for i in request.session.items if i.path == request.path]
    asked = [each for each in items if "verdicts" in each.fixturenames]
    bad = {name: CASES[name] for name in (each.callspec.params["name"] for each in asked)}
    jobs = {n: lambda one=one: run_filters(one.game, limits=LIMITS)[-1] for n, one in bad.items()}
    with Ahead(jobs, 6) as ahead:
        yield ahead


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_or_faulty_game_ends_in_its_verdict(
    name: str, verdicts: Ahead[FilterVerdict]
) -> None:
    last, bad = verdicts.of(name), CASES[name]
    assert not last.passed
    assert (last.stage, bad.reason in last.reason) == (bad.stage, True), last
    assert not Path("/tmp/from_the_box").exists()


def test_a_program_too_deep_to_be_compared_by_its_tree_is_compared_as_a_text() -> None:
    deep = "if True: pass\n" + "elif True: pass\n" * 1500 + hostile.GOOD
    assert all(verdict.passed for verdict in run_filters(hostile.game_of(deep)))
    [*_, last] = run_filters(hostile.game_of(deep), known_digests=[digest(deep)])
    assert (last.stage, last.passed) == ("known", False)


def test_a_game_cannot_see_the_hosts_environment_or_folder() -> None:
    spy = hostile.GOOD.replace('f"{self.left} left"', "repr(dict(__import__('os').environ))")
    with Box(hostile.game_of(spy)) as box:
        environment = box.new(0).text
    assert set(os.environ) - set(eval(environment)) >= {"PATH"}


def test_a_game_sees_no_folder_of_its_host() -> None:
    places = "sys.argv, sys.orig_argv, sys.path, sys.executable, sys.prefix, sys.base_prefix"
    spy = "import sys\n" + hostile.GOOD.replace(
        'f"{self.left} left"',
        f"repr(({places}, list(sys.path_importer_cache))) + ' '.join(repr(vars(m).get(n)) for n in "
        "('__file__', '__path__', '__spec__', '__cached__', '__loader__') "
        "for m in list(sys.modules.values()) if 'object at' not in repr(vars(m).get(n)) "
        "if '/' in repr(vars(m).get(n)))",
    )
    with Box(hostile.game_of(spy)) as box:
        text = box.new(0).text
    assert text
    assert "/" not in text
    with Box(PURSE) as box:
        arguments = Path(f"/proc/{box.process.pid}/cmdline")
        [interpreter, *rest] = arguments.read_text().split("\0")
    assert interpreter == sys.executable
    assert not any("/" in each for each in rest)
    assert box.process.returncode is not None, "nothing lives on after the box"


def test_filters_keep_no_boards() -> None:
    large = hostile.GOOD.replace('f"{self.left} left"', "'\U0001f600' * 20_000")
    large = large.replace("0, 9, (2,)", "0, 9, (8000,)").replace("self.left = 9", "self.left = 12")
    large = large.replace("[self.left, min(self.count, 9)]", "[9] * 8000")
    tracemalloc.start()
    try:
        verdicts = run_filters(hostile.game_of(large))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert verdicts[-1].passed, verdicts[-1]
    assert peak < 16 << 20


def test_a_game_may_be_thought_about_for_longer_than_it_may_compute() -> None:
    with Box(PURSE, replace(LIMITS, total=1.0)) as box:
        box.new(0)
        sleep(1.2)
        assert box.play(box.new(0).legal[0]).legal


def test_a_process_that_a_fault_ended_begins_again_with_the_next_game() -> None:
    source = hostile.GOOD.replace("action):", "action):\n        while self.seed % 2: pass")
    source = source.replace("self.left = 9", "self.left, self.seed = 9, seed")
    with Box(hostile.game_of(source), replace(LIMITS, answer=0.5)) as box:
        for seed in range(3):
            move = box.new(seed).legal[0]
            with pytest.raises(GameFaultError, match="deadline") if seed == 1 else nullcontext():
                assert box.play(move).result is None


def test_a_game_is_the_same_in_every_process() -> None:
    deck = hostile.GOOD.replace("{self.left} left", "{list(set('a king of hearts'.split()))}")
    with Box(hostile.game_of(deck)) as one, Box(hostile.game_of(deck)) as other:
        assert one.new(0) == other.new(0)


def test_many_quick_answers_end_with_the_time_for_all_of_them() -> None:
    with (
        Box(PURSE, replace(LIMITS, total=0.5)) as box,
        pytest.raises(GameFaultError, match="deadline"),
    ):
        list(map(box.new, range(100_000)))


def test_a_game_that_was_not_shipped_is_refused_without_a_lock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(box_module, "LOCKED", False)
    with (
        pytest.raises(NoLockError, match="does not ship with this package"),
        Box(hostile.game_of(hostile.GOOD)),
    ):
        pass
    with Box(packaged()["auction"]) as box:
        assert box.new(0).legal


def test_the_table_allows_nothing_that_leads_out() -> None:
    names = set(ALLOWED)
    assert {"read", "write", "mmap", "exit_group"} <= names
    assert not names & {"open", "openat", "socket", "execve", "clone", "fork", "kill", "ptrace"}
    assert len(instructions()) < 256


def test_what_a_game_says_of_its_fault_is_one_short_line() -> None:
    loud = hostile.GOOD.replace("self.count += 1", "raise ValueError('\\x1b[2J\\n' * 4000)")
    with Box(hostile.game_of(loud)) as box, pytest.raises(GameFaultError) as fault:
        box.play(box.new(0).legal[0])
    assert str(fault.value).isprintable()
    assert len(str(fault.value)) <= 200


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("while type(self).steps > 200: pass", "deadline"),
        ("self.count += np.nan if type(self).steps > 200 else 0", "not finite"),
        ("if type(self).steps > 200: raise KeyError(action)", "KeyError"),
    ],
)
def test_a_game_that_turns_bad_in_training_is_refused_there(lines: str, reason: str) -> None:
    counts = "    steps = 0\n    def step(self, action):\n        type(self).steps += 1\n"
    turns = hostile.GOOD.replace("    def step(self, action):\n", f"{counts}        {lines}\n")

    def learn(box: Box) -> None:
        batch = box.train(list(range(8)), [], 1.0)
        for _ in range(200):
            batch = box.learn([int(row.argmax()) for row in batch.masks], 1.0)

    with (
        Box(hostile.game_of(turns), BoxLimits(answer=2.0)) as game_box,
        pytest.raises(GameFaultError, match=reason),
    ):
        learn(game_box)
