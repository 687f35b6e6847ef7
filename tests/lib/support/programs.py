"""Valid programs of either dialect, drawn node by node from the whole language."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, strategies as st

from xgl import Program
from xgl.escaping import is_visible
from xgl.language import syntax as syn
from xgl.language.control_flow import unrolled
from xgl.language.dialects import DIALECTS, Dialect

Drawn = st.SearchStrategy[Any]

MUTABLE = [name for name in syn.REGISTERS if name[0] not in syn.CONSTANT_TYPES]
_LETTERS = st.characters(exclude_categories=("C", "Z")).filter(is_visible)
_TEXT = st.text(_LETTERS | st.sampled_from(" \n\t\"'\\{}#&"))
_LITERAL = st.builds(syn.Literal, _TEXT)
_REGISTER = st.builds(syn.Register, st.sampled_from(syn.REGISTERS))
_LIST_REGISTER = st.builds(syn.Register, st.sampled_from(syn.LIST_REGISTERS))
_STORY = st.one_of(
    st.builds(syn.Story),
    st.builds(syn.Story, tokens=st.integers(1, 50)),
    st.builds(syn.Story, prompt=_TEXT),
)


def call(name: str, *arguments: Drawn) -> Drawn:
    """Of a function of the language."""
    return st.builds(lambda *items: syn.Function(name, items), *arguments)


def _strings(leaf: Drawn, dialect: Dialect) -> tuple[Drawn, Drawn]:
    """String and list expressions over ``leaf`` strings."""

    def join(parts: Drawn) -> Drawn:
        items = st.lists(parts, max_size=3).map(lambda members: syn.ListOf(tuple(members)))
        lists = items | _LIST_REGISTER | st.builds(syn.Chain, items, _LIST_REGISTER)
        lists |= call("shuffle", lists) | call("split", parts) | call("split", parts, parts)
        forms = [
            st.builds(syn.Cat, parts, parts),
            st.builds(syn.Cut, parts, parts, st.sampled_from(["before", "after"])),
            call("remove_common_words", parts, parts | lists),
            call("first_n_tokens", parts, st.builds(syn.Number, st.integers(0, 9))),
            call("sample", lists),
            call("join", parts, lists),
        ]
        if dialect.stored_prefix:
            forms.append(st.builds(syn.Given, parts, parts))
        return st.one_of(forms)

    strings = st.recursive(leaf, join, max_leaves=5)
    items = st.lists(strings, max_size=3).map(lambda members: syn.ListOf(tuple(members)))
    lists = st.one_of(items, _LIST_REGISTER, st.builds(syn.Chain, _LIST_REGISTER, items))
    return strings, lists | call("shuffle", lists)


def _sums(terms: Drawn) -> Drawn:
    signed_terms = st.lists(st.tuples(st.sampled_from([1, -1]), terms), min_size=1, max_size=3)
    return st.builds(syn.Sum, signed_terms.map(tuple))


def _xents(strings: Drawn) -> Drawn:
    """The bar between target and prefix is the xent's own where it can be."""
    maybe = st.none() | strings
    bare = strings.filter(lambda text: not isinstance(text, syn.Given))
    kinds = st.sampled_from(syn.XENT_KINDS)
    return st.builds(syn.Xent, kinds, bare, maybe, maybe) | st.builds(
        syn.Xent, kinds, strings, strings, maybe
    )


def _conditions(strings: Drawn, lists: Drawn, dialect: Dialect) -> Drawn:
    counts = call("num_words", strings) | call("len", strings | lists)
    bounds: Drawn = st.integers(0, 60)
    if dialect.python_conditions:
        bounds |= st.sampled_from([0.5, 20.25, 1e-3])
    sums = _sums(_xents(strings) | st.builds(syn.Number, bounds) | counts)
    truth = st.builds(syn.Truth, strings, st.lists(strings, max_size=2).map(tuple), st.booleans())
    word_tests = call("only_uses_words", strings | lists, strings)
    word_tests |= call("only_uses_chars", strings, strings)
    simple = (
        truth | word_tests | st.builds(syn.Comparison, sums, st.sampled_from(syn.COMPARATORS), sums)
    )
    if not dialect.python_conditions:
        return simple
    alike = st.sampled_from(["==", "!="])
    words = call("word_set", strings) | call("common_word_set", strings, strings)
    simple |= st.builds(syn.Comparison, sums, alike, sums)
    simple |= st.builds(syn.Test, strings, st.sampled_from(["==", "!=", "in", "not in"]), strings)
    simple |= st.builds(syn.Test, lists, alike, lists)
    simple |= st.builds(syn.Test, strings, st.sampled_from(["in", "not in"]), lists)
    simple |= st.builds(syn.Test, words, alike | st.sampled_from(syn.COMPARATORS), words)
    several = st.lists(simple, min_size=2, max_size=3).map(tuple)
    logic = st.builds(syn.Logic, st.sampled_from(["and", "or"]), several)
    return simple | logic | st.builds(syn.Logic, st.just("not"), st.tuples(logic | truth))


def instructions(dialect: Dialect) -> Drawn:
    """Any one valid instruction."""
    strings, lists = _strings(_LITERAL | _REGISTER, dialect)
    assignable, assignable_lists = _strings(_LITERAL | _REGISTER | _STORY, dialect)
    players, flags = st.sampled_from(syn.PLAYERS), st.sampled_from(syn.FLAGS)
    targets = st.tuples(st.sampled_from(MUTABLE), assignable)
    targets |= st.tuples(st.sampled_from(syn.LIST_REGISTERS), assignable_lists)
    registers = st.lists(st.sampled_from(MUTABLE), min_size=1, max_size=3).map(tuple)
    conditions = _conditions(strings, lists, dialect)
    return st.one_of(
        st.builds(syn.Assign, st.lists(targets, min_size=1, max_size=3).map(tuple)),
        st.builds(syn.Elicit, players, registers, st.none() | st.integers(1, 30)),
        st.builds(syn.Ensure, st.lists(conditions, min_size=1, max_size=2).map(tuple)),
        st.builds(syn.Reward, players, _sums(_xents(strings))),
        st.builds(
            syn.Reveal, players, st.lists(strings | lists, min_size=1, max_size=3).map(tuple)
        ),
        st.builds(syn.Beacon, flags),
        st.builds(syn.Replay, flags, st.integers(0, 3)),
    )


_LINES = {name: instructions(dialect) for name, dialect in DIALECTS.items()}


@st.composite
def _programs(draw: st.DrawFn) -> Program:
    dialect = draw(st.sampled_from(list(DIALECTS)))
    lines = draw(st.lists(_LINES[dialect], min_size=1, max_size=7))
    program = Program(tuple(lines), dialect)
    assume(len(unrolled(program)[0]) <= syn.MAX_STEPS)
    return program


PROGRAMS: st.SearchStrategy[Program] = _programs()
