"""Hostile programs end soon: the law that no text takes more than two seconds of processor time.

The bounds here are of processor time and far above what is measured; before its mend each of these
programs took longer by a factor of ten or more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.cost_fuzzer import search

from xgl import ProgramError, parse
from xgl.cli.commands import program_facts
from xgl.library import Source
from xgl.runtime.meter import Meter

SECONDS = 2.0


@contextmanager
def time_limit() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def number_list(first: int, count: int = 250) -> str:
    return ", ".join(f'"{index:03}"' for index in range(first, first + count))


REMOVALS = ", ".join(f"remove_common_words(t, {name})" for name in ("l", "l1", "l2") * 17)
COMPILED = "\n".join(
    [
        *(f"assign({name}=[{number_list(250 * i)}])" for i, name in enumerate(("l", "l1", "l2"))),
        "elicit(t, 10)",
        "beacon(flag_1)",
        f"reveal({REMOVALS})",
        "replay(flag_1, 332)",
        "reward(xent(t))",
    ]
)


LOOP = "beacon(flag_1)\n{body}\nreplay(flag_1, {times})"


def wide(part: str, count: int) -> str:
    return ", ".join([part] * count)


WIDE = {
    "draws": 'assign(l=["a", "b", "c"])\n'
    + LOOP.format(body=f"assign(l1=[{wide('sample(l)', 160)}])", times=200),
    "shuffles": f"assign(l=[{wide('s', 250)}])\n"
    + LOOP.format(body=f"reveal({wide('shuffle(l)', 150)})", times=200),
    "sums": LOOP.format(body="reward(" + " + ".join(["xed(s | t, x)"] * 32) + ")", times=330),
    "sixty statements": "elicit(x, 9)\n"
    + LOOP.format(body="\n".join([f"ensure({wide('is_true(s)', 60)})"] * 60), times=12),
    "wide elicits": LOOP.format(
        body=f"elicit({wide('t', 150)})\nelicit(alice, {wide('x, y3, t', 50)})", times=250
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_statements_in_loops_are_played_and_checked_soon(name: str, table: Any) -> None:
    with time_limit():
        play = table.play(WIDE[name], *["m"] * 99_999, dialect="xent", alice=["m"] * 99_999)
    assert play.outcome in ("finished", "oversize")
    assert bool(play.reason) == (play.outcome == "oversize")
    with time_limit():
        program_facts(Source("wide", "", WIDE[name], "xent"))


def test_what_loops_make_too_long_is_refused_in_one_sentence() -> None:
    with pytest.raises(ProgramError, match="302204 parts in all steps; expected at most 100000"):
        parse(LOOP.format(body=f"elicit({wide('t', 600)})\nelicit({wide('x', 600)})", times=250))
    with pytest.raises(ProgramError, match="109463 parts in all steps; expected at most 100000"):
        parse(LOOP.format(body=f"ensure({'<'.join('0' * 160)})", times=136), "xent")


NEAR = f'assign(s="{"a" * 1240}")\nassign(t="{"a" * 1240}baa")\nassign(s=s + s + "aa")\n'
MANY = "".join(map(chr, range(0x4E00, 0x4E00 + 1_900)))
FOLDED = f'assign(s="{MANY}")\n'
CHANGING = ", ".join(f'x=remove_common_words("", [s + s + "{index:02}"])' for index in range(42))

SEARCHED = {
    "cut after": NEAR + LOOP.format(body=f"assign({wide('x=s % t', 200)})", times=120),
    "in": NEAR
    + "elicit(x, 9)\n"
    + LOOP.format(body=f"ensure({wide('t not in s', 150)})", times=200),
    "items that change": FOLDED + LOOP.format(body=f"assign({CHANGING})", times=90),
}


@pytest.mark.parametrize("code", [*SEARCHED.values(), COMPILED])
def test_texts_are_searched_and_folded_within_the_meter(code: str, table: Any) -> None:
    """A mark of 1,243 letters that all but occurs everywhere, items of 1,900 letters, and three
    lists of 250 words, 51 removals a turn, 333 turns."""
    with time_limit():
        play = table.play(code, "000 abc 251 def 502", dialect="xent")
    assert play.outcome == "oversize", play.reason


def test_no_search_gives_work_back_and_a_small_game_has_the_usual_work() -> None:
    small = Meter(limit=12)
    small.search("a", "a mark that is longer")
    assert small.work == small.most_work == Meter().most_work


def test_a_short_search_for_cost_breaks_no_law() -> None:
    assert search(count=50, seed=1) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 4))
def test_a_search_for_cost_breaks_no_law(seed: int) -> None:
    assert search(count=500, seed=seed) == []
