"""``sample`` and ``shuffle``: a function of seeds and place, which nobody's retries move."""

from __future__ import annotations

from typing import Any

import pytest

from xgl.runtime.requests import Revealed

LETTERS = 'assign(l=["a", "b", "c", "d", "e", "f", "g", "h"])\n'
ORDER = 'assign(s=" ".join(shuffle(l)))\n'


def order(table: Any, code: str, **arguments: Any) -> str:
    """The longest text in a private register: all the letters in their order."""
    registers = table.play(LETTERS + code, dialect="xent", **arguments).registers
    return max((text for name, text in registers.items() if name in "stxy"), key=len)


def test_chance_is_a_function_of_the_seeds(table: Any) -> None:
    orders = [order(table, ORDER, map_seed=seed) for seed in range(20)]
    assert orders == [order(table, ORDER, map_seed=seed) for seed in range(20)]
    assert len(set(orders)) == 20


def test_every_run_of_a_line_and_every_draw_in_it_is_its_own(table: Any) -> None:
    code = 'assign(s=s + " ".join(shuffle(l)) + "/" + " ".join(shuffle(l)) + "/")\n'
    text = order(table, 'assign(s="")\nbeacon(flag_1)\n' + code + "replay(flag_1, 2)\n")
    assert len(set(text.rstrip("/").split("/"))) == 6


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_retry_has_the_same_chance_and_changes_none_after_it(table: Any, failures: int) -> None:
    code = (
        f'elicit(bob, x, 5)\n{ORDER}reveal(s)\nensure(x in ["good"])\n'
        'assign(t=s, s=sample(l) + "".join(shuffle(l)))\n'
    )
    play = table.play(LETTERS + code, dialect="xent", bob=["bad"] * failures + ["good"])
    plain = table.play(LETTERS + code, dialect="xent", bob=["good"])
    assert play.registers == plain.registers
    reveals = [event for event in play.events if isinstance(event, Revealed)]
    assert len(reveals) == failures + 1
    assert len(set(reveals)) == 1


def test_draws_of_an_empty_list_change_none_after_them(table: Any) -> None:
    draws = 'assign(t=sample(l1), s=" ".join(shuffle(l)))\n'
    empty, full = (f"assign(l1={items})\n{draws}" for items in ("[]", '["x"]'))
    assert order(table, empty) == order(table, full)
