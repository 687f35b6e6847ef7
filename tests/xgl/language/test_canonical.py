"""Identity: what carries no meaning never changes ``game_id``, what does always changes it."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xgl import Metadata, Program, game, parse, to_text
from xgl.language import syntax as syn
from xgl.language.canonical import canonicalise
from xgl.language.visitors import rename

QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PRIVATE = [name for name in syn.REGISTERS if name[0] in "stxy"]
PUBLIC = [name for name in syn.REGISTERS if name[0] == "p"]


@QUICK
@given(data=st.data())
def test_renaming_within_a_pool_never_changes_the_game(
    programs: st.SearchStrategy[Program], data: st.DataObject
) -> None:
    program = data.draw(programs)
    names = dict(zip(PRIVATE, data.draw(st.permutations(PRIVATE)), strict=True))
    names |= dict(zip(PUBLIC, data.draw(st.permutations(PUBLIC)), strict=True))
    lists = syn.LIST_REGISTERS
    names |= dict(zip(lists, data.draw(st.permutations(lists)), strict=True))
    copy = replace(
        program, instructions=tuple(rename(line, names) for line in program.instructions)
    )
    assert game(copy) == game(program)


@QUICK
@given(data=st.data())
def test_comments_spacing_and_quoting_never_change_the_game(
    programs: st.SearchStrategy[Program], data: st.DataObject
) -> None:
    program = data.draw(programs)
    lines = [
        spelling
        for line in to_text(program).split("\n")
        for spelling in (*data.draw(NOTES), _respell(line, data.draw(SPACES)))
    ]
    assert game(parse("\n".join(lines), program.dialect)) == game(program)


NOTES = st.lists(st.sampled_from(["", "   ", "# elicit(s)", "\t#"]), max_size=2)
SPACES = st.lists(st.sampled_from(["", " ", "  ", "\t"]), min_size=3, max_size=7)


def _respell(line: str, spaces: list[str]) -> str:
    """The same tokens with other spaces, other quotes and a comment."""
    text, before = "", tokenize.OP
    for place, token in enumerate(tokenize.generate_tokens(io.StringIO(line).readline)):
        space = spaces[place % len(spaces)]
        if {before, token.type} <= {tokenize.NAME, tokenize.NUMBER}:
            space = space or " "
        is_text = token.type == tokenize.STRING
        text += space + (repr(ast.literal_eval(token.string)) if is_text else token.string)
        before = token.type
    return text + "  # reward(xent(s))"


@QUICK
@given(data=st.data())
def test_dialect_and_metadata_change_the_game(
    programs: st.SearchStrategy[Program], data: st.DataObject
) -> None:
    program = data.draw(programs)
    other = "xent" if program.dialect == "paper" else "paper"
    ids = {game(program).game_id, game(replace(program, dialect=other)).game_id}
    ids |= {game(program, metadata).game_id for metadata in METADATA}
    assert len(ids) == 2 + len(METADATA)


METADATA = [
    Metadata(story_tokens=25),
    Metadata(max_len=11),
    Metadata(max_failures=9),
    Metadata(max_characters=4095),
    Metadata(token_bits=False),
    Metadata(constants={"a": "x"}),
    Metadata(constants={"b": "x"}),
    Metadata(constants={"a": "y"}),
]


@QUICK
@given(data=st.data())
def test_the_canonical_form_is_a_fixed_point_that_can_be_read_back(
    programs: st.SearchStrategy[Program], data: st.DataObject
) -> None:
    program = data.draw(programs)
    game_ = game(program)
    assert canonicalise(game_.program) == game_.program
    assert parse(game_.code, game_.dialect) == game_.program
    assert game(game_.program).game_id == game_.game_id


def test_canonical_text_by_hand() -> None:
    game_ = game(
        parse(
            """
            assign(y3='one', p2=story())   # names by first use
            elicit(black, x2, 5)
            ensure(a1 + t)
            reward(xed(y3|x2)-xent(p0))
            """
        )
    )
    assert game_.code == (
        'assign(s="one", p=story())\nelicit(t, 5)\nensure(a1 + x)\nreward(xed(s | t) - xent(p1))'
    )


def test_reads_come_before_the_target_of_an_assign() -> None:
    assert game(parse("assign(x=y + t)")).code == "assign(x=s + t)"
    assert game(parse("assign(x=y, s=t)")).code == "assign(t=s, y=x)"


def test_all_forty_registers_have_a_name() -> None:
    code = "\n".join(f"reveal({name})" for name in reversed(syn.REGISTERS))
    game_ = game(parse(code))
    names = [line.values[0].name for line in game_.program.instructions]  # type: ignore[union-attr]
    assert sorted(names) == sorted(syn.REGISTERS)
    assert [name for name in names if name[0] in "abc"] == [
        name for name in reversed(syn.REGISTERS) if name[0] in "abc"
    ]


BASE = 'assign(s="a", t=s)\nelicit(x, 5)\nbeacon(flag_1)\nreward(xed(s | x))\nreplay(flag_1, 2)'


def test_the_id_is_the_same_on_every_machine() -> None:
    game_ = game(parse(BASE))
    assert game_.game_id == "38a9f07fd45b4e35"
    assert len(game_.game_id) == 16
