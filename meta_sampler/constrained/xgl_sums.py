"""Sums of xents in the grammar of XGL: every term is about a move, as what is paid must be.

Without literals a term is a chain of registers, target | prefix, outer, each named at most once in
it: what was named is spent. So no string is scored against itself. With literals it is made of
texts, and only the rule about moves is kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from meta_sampler.constrained.grammar_rules import Grammar, Ref, Symbol
from meta_sampler.constrained.grammar_state import State, both
from meta_sampler.settings import GrammarSettings
from xgl.language import syntax as syn

_ALONE = ("xent", "nex")
"""Kinds that mean something without a prefix; xed(s) and dex(s) are 0."""
_OUTER = 2
"""Most registers of an outer prefix."""


def add_sums(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """``sum``, of a reward, and ``short_sum``, of a condition."""
    if settings.literals:
        _terms_of_texts(grammar)
    else:
        _terms_of_registers(grammar, state, settings.max_joined)
    further = grammar.add("further", *([sign, Ref("term")] for sign in (" + ", " - ")))
    for name, terms in (("sum", settings.max_terms), ("short_sum", 2)):
        for count in range(terms):
            rest = [further] * count
            grammar.add(name, [Ref("term"), *rest], ["-", Ref("term"), *rest])


def _terms_of_texts(grammar: Grammar) -> None:
    text, moved = Ref("text"), Ref("moved_text")
    for kind in syn.XENT_KINDS:
        if kind in _ALONE:
            grammar.add("term", *_scored(kind, moved))
        grammar.add("term", *_scored(kind, moved, " | ", text), *_scored(kind, text, " | ", moved))


def _scored(kind: str, *said: Symbol) -> Iterator[tuple[Symbol, ...]]:
    yield (f"{kind}(", *said, ")")
    yield (f"{kind}(", *said, ", ", Ref("few"), ")")


def _terms_of_registers(grammar: Grammar, state: State, most: int) -> None:
    for kind in syn.XENT_KINDS:
        alone = kind in _ALONE
        chain = Ref(f"{'any' if alone else 'compared'}_{most}")
        form = [f"{kind}(", chain]
        grammar.add("term", form, when="" if alone else state.readable_strings(2))
    for left in range(1, most + 1):
        _targets(grammar, state, "any", left, most)
        _targets(grammar, state, "compared", left, most)
        _named(grammar, state, "prefix", left)
        _on(grammar, state, "prefix", left)
        outer = [", ", Ref(f"outer_{_OUTER}")]
        grammar.add(f"after_prefix_{left}", outer, when=state.readable_strings())
    for left in range(1, _OUTER + 1):
        _named(grammar, state, "outer", left, last=left == 1)
        _on(grammar, state, "outer", left)


def _targets(grammar: Grammar, state: State, rule: str, left: int, most: int) -> None:
    """The scored string: ``compared`` must be followed by a prefix, so one register is left."""
    _named(grammar, state, rule, left)
    after = f"after_{rule}_{left}"
    if left > 1:
        spare = state.readable_strings(1 if rule == "any" else 2)
        grammar.add(after, [" + ", Ref(f"{rule}_{left - 1}")], when=spare)
    grammar.add(after, [" | ", Ref(f"prefix_{most}")], when=state.readable_strings())
    if rule == "any":
        grammar.add(after, [")"], when=state.holds("seen"))


def _on(grammar: Grammar, state: State, rule: str, left: int) -> None:
    """A further register, or the end once a move was seen."""
    after = f"after_{rule}_{left}"
    if left > 1:
        more = [" + ", Ref(f"{rule}_{left - 1}")]
        grammar.add(after, more, when=state.readable_strings())
    grammar.add(after, [")"], when=state.holds("seen"))


def _named(grammar: Grammar, state: State, rule: str, left: int, last: bool = False) -> None:
    """One register; where it is the last that can be named, a move must have been seen by it."""
    name, after = f"{rule}_{left}", f"after_{rule}_{left}"
    seen = state.holds("seen") if last else ""
    for register in state.strings:
        moved = f"moved {register}"
        about = [register, Ref(after, state.note(f"spent {register}", "seen"))]
        grammar.add(name, about, when=both(state.readable(register), state.holds(moved)))
        beside = [register, Ref(after, state.note(f"spent {register}"))]
        unmoved = both(state.readable(register), state.fails(moved))
        grammar.add(name, beside, when=both(unmoved, seen))
    for register in state.constants:
        grammar.add(name, [register, Ref(after)], when=seen)
