"""Theorem 25: games of the library from the reverse prompt game, by axiom moves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from meta_sampler.derivation import START, derive, main
from meta_sampler.symbolic import normal_form
from xgl.language.parser import parse
from xgl.language.unparse import to_text
from xgl.library import find

DERIVED = ("unexpected_prefix", "one_way_cut", "simple_cut", "one_way_explanations", "derailment")
DERIVED += ("message", "coordination", "contrast", "echo", "pair", "rival")


@pytest.mark.parametrize("name", DERIVED)
def test_a_game_is_reached_by_valid_games_that_differ_by_one_step(name: str) -> None:
    entry = find(name)
    target = parse(entry.text, entry.dialect)
    steps = derive(target)
    assert steps[0][1] == START
    assert normal_form(steps[-1][1]) == normal_form(target)
    programs = [program for _, program in steps]
    assert all(parse(to_text(program), program.dialect) == program for program in programs)
    for before, after in pairwise(programs[1:]):
        one, other = set(before.instructions), set(after.instructions)
        assert len(one ^ other) <= 1


def test_the_command_prints_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rival"]) == 0
    output = capsys.readouterr().out
    assert "# Rival in " in output
    assert "zero-summing" in output
    assert "λ = 0" in output
    assert main([]) == 0
    assert capsys.readouterr().out.count(" steps\n") >= 5
    assert main(["naive_chess"]) == 2
    assert "expected a game without loops and statements" in capsys.readouterr().err
