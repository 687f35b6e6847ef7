"""Expressions of the grammar of XGL, by kind: strings, lists, sets of words, sums, conditions.

Built from the tables of ``xgl.language.syntax`` and ``xgl.language.dialects``, spelled as
``xgl.language.unparse`` spells them. A rule of strings has a twin, ``moved…``, of those that hold
a move, and another, ``still…``, of those that hold none.

Every term of a sum depends on a move, because every reward must. Without literals a term is a chain
of registers, target | prefix, outer, each named at most once in it: a named register is spent. So
no string is scored against itself. With literals a term is made of texts, and only the rule about
moves holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from meta_sampler.constrained.grammar import Grammar, Pattern, Ref, State, Symbol, both, repetitions
from meta_sampler.settings import GrammarSettings
from xgl.language import syntax as syn
from xgl.language.characters import is_visible

_CUTS = (" // ", " % ")
_BESIDE = 2
"""Most registers on either side of a literal."""
_ITEMS = 3
"""Most items of a list that is written out."""
_ALIKE = (" == ", " != ")
_WITHIN = (" in ", " not in ")


def add_expressions(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """All rules that ``value``, ``sum``, ``condition`` and ``shown`` need."""
    _registers(grammar, state)
    _strings(grammar, state, settings)
    add_sums(grammar, state, settings)
    if settings.helpers:
        for depth in range(settings.depth + 1):
            _lists(grammar, depth, settings.literals)
            _calls(grammar, depth, settings.literals)
    _values(grammar, state, settings)
    _conditions(grammar, state, settings)


# -- strings ---------------------------------------------------------------------------------------


@lru_cache
def literal(most: int) -> Pattern:
    """A literal of up to ``most`` printable characters, without escapes."""
    return Pattern(f'"[{_class_of_printable()}]{{0,{most}}}"', most + 2)


def _class_of_printable() -> str:
    """What Python calls printable in the basic plane, without quotes and backslashes."""
    codes = (code for code in range(min(0x10000, sys.maxunicode)) if _plain(chr(code)))
    runs = [[c for _, c in run] for _, run in groupby(enumerate(codes), lambda x: x[1] - x[0])]
    return "".join(f"\\u{{{run[0]:x}}}-\\u{{{run[-1]:x}}}" for run in runs)


def _plain(character: str) -> bool:
    return is_visible(character) and character not in '"\\'


def _registers(grammar: Grammar, state: State) -> None:
    for name in state.strings:
        grammar.add("register", [name], when=state.readable(name))
        has_move = f"moved {name}"
        grammar.add(
            "moved_register", [name], when=both(state.readable(name), state.holds(has_move))
        )
        grammar.add(
            "still_register", [name], when=both(state.readable(name), state.fails(has_move))
        )
    for name in state.constants:
        grammar.add("register", [name])
        grammar.add("still_register", [name])
    for name in state.lists:
        grammar.add("list_register", [name], when=state.readable(name))


def _strings(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """``names``: registers and cuts, joined; ``text``: the same with a literal among them."""
    add, register, moved_register = grammar.add, Ref("register"), Ref("moved_register")
    add("literal", [literal(settings.max_characters)])
    add("piece", [register], *([register, cut, register] for cut in _CUTS))
    add("moved_piece", [moved_register], *([moved_register, cut, register] for cut in _CUTS))
    add("moved_piece", *([register, cut, moved_register] for cut in _CUTS))
    add("names", *repetitions(Ref("piece"), " + ", 1, settings.max_joined))
    few = add("few", *repetitions(Ref("piece"), " + ", 1, _BESIDE))
    still = Ref("still_register")
    add("still_piece", [still], *([still, cut, still] for cut in _CUTS))
    add("still_names", *repetitions(Ref("still_piece"), " + ", 1, settings.max_joined))
    add("text", [Ref("names")])
    add("moved_names", *_surround(Ref("moved_piece"), few))
    add("moved_text", [Ref("moved_names")])
    if settings.literals:
        _with_literals(grammar, state, few)


def _with_literals(grammar: Grammar, state: State, few: Ref) -> None:
    """At most one literal in a text, so that lines stay short."""
    add, quote, register = grammar.add, Ref("literal"), Ref("register")
    add("moved_piece", *([Ref("moved_register"), cut, quote] for cut in _CUTS))
    add("piece_of_literal", [quote], *([register, cut, quote] for cut in _CUTS))
    alone, *concatenations = _surround(Ref("piece_of_literal"), few)
    add("text", alone)
    add("text", *concatenations, when=state.readable_strings())
    add("moved_text", [quote, " + ", Ref("moved_names")])
    add("moved_text", [Ref("moved_names"), " + ", quote])


def _surround(middle: Symbol, few: Symbol) -> Iterator[tuple[Symbol, ...]]:
    for before in ((), (few, " + ")):
        for after in ((), (" + ", few)):
            yield (*before, middle, *after)


# -- lists and helper functions --------------------------------------------------------------------


def _lists(grammar: Grammar, depth: int, literals: bool) -> None:
    item = Ref(f"string_{depth}")
    grammar.add(item.rule, [Ref("few")], *([[Ref("literal")]] if literals else []))
    items = repetitions(item, ", ", 1, _ITEMS)
    brackets = grammar.add(f"items_{depth}", ["[", "]"], *(["[", *form, "]"] for form in items))
    name = Ref("list_register")
    grammar.add(f"list_{depth}", [name], [brackets], [name, " + ", brackets], [name, " + ", name])
    if depth:
        grammar.add(item.rule, [Ref(f"call_string_{depth}")])
        grammar.add(f"list_{depth}", [Ref(f"call_list_{depth}")])


def _calls(grammar: Grammar, depth: int, literals: bool) -> None:
    """Every function of the table, its arguments one level below."""
    if depth == 0:
        return
    for name, signature in syn.FUNCTIONS.items():
        most = len(signature.arguments)
        for count in range(most - signature.optional, most + 1):
            forms = _call_forms(name, signature, signature.arguments[:count], depth, literals)
            grammar.add(f"call_{signature.result}_{depth}", *forms)


def _call_forms(
    name: str,
    signature: syn.Signature,
    kinds: Sequence[tuple[syn.Kind, ...]],
    depth: int,
    literals: bool,
) -> list[Sequence[Symbol]]:
    forms: list[list[Symbol]] = [[]]
    for index, choices in enumerate(kinds):
        own = signature.method and index == 0
        opening = f".{name}(" if own else ")"
        forms = [
            [*form, *_separator(index, signature.method), symbol, *([opening] if own else [])]
            for form in forms
            for kind in choices
            for symbol in _argument(kind, depth, own, literals)
        ]
    head: list[Symbol] = [] if signature.method else [f"{name}("]
    return [[*head, *form, ")"] for form in forms]


def _separator(index: int, method: bool) -> list[Symbol]:
    return [", "] if index > int(method) else []


def _argument(kind: syn.Kind, depth: int, own: bool, literals: bool) -> list[Symbol]:
    match kind:
        case "string":
            quote: list[Symbol] = [Ref("literal")] if literals else []
            return [Ref("register"), *quote] if own else [Ref(f"string_{depth - 1}")]
        case "list":
            return [Ref(f"list_{depth - 1}")]
        case "number":
            return [Pattern("[1-9][0-9]?", 2)]
        case _:  # sets of words come from calls only
            return [Ref(f"call_{kind}_{depth - 1}")] if depth > 1 else []


def _values(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """Values right of ``=``: ``value`` may be one of several, ``rich_value`` is the only one of its
    line."""
    dialect, add = state.dialect, grammar.add
    some = "" if settings.literals else state.readable_strings()
    add("value", [Ref("still_names")])
    add("story", ["story()"])
    add("moved_value", [Ref("moved_text")])
    if settings.literals:
        _values_with_literals(grammar, state)
    add("shown", [Ref("text")], when=some)
    if dialect.story_arguments:
        add("story", ["story(", Pattern("[1-9][0-9]?", 2), ")"], ["story(", Ref("literal"), ")"])
    if dialect.stored_prefix:
        add("rich_value", [Ref("text"), " | ", Ref("names")], when=state.readable_strings())
    if settings.helpers:
        add("rich_value", [Ref(f"call_string_{settings.depth}")], when=some)
        add("rich_list", [Ref(f"list_{settings.depth}")], when=some)
        add("shown", [Ref("list_0")])


def _values_with_literals(grammar: Grammar, state: State) -> None:
    """Values with a literal; those that hold a move and those that do not are separate rules, so
    that no text has two states of the grammar."""
    quote, moved_names, few = Ref("literal"), Ref("moved_names"), Ref("few")
    still = grammar.add("still_few", *repetitions(Ref("still_piece"), " + ", 1, _BESIDE))
    cut = ([Ref("still_register"), cut, quote] for cut in _CUTS)
    grammar.add("value", [quote], *cut, [still, " + ", quote])
    concatenations = ([quote, " + ", still], [still, " + ", quote, " + ", still])
    grammar.add("value", *concatenations, when=state.readable_strings())
    grammar.add(
        "moved_value",
        [few, " + ", quote, " + ", moved_names],
        [moved_names, " + ", quote, " + ", few],
    )


# -- conditions ------------------------------------------------------------------------------------


def _conditions(grammar: Grammar, state: State, settings: GrammarSettings) -> None:
    """``condition`` is used by itself, ``decided`` inside and, or, not."""
    wide = state.dialect.python_conditions
    add, number = grammar.add, Pattern("0|[1-9][0-9]{0,2}", 3)
    bound = add("bound", [number], [Ref("term")])
    if wide:
        add("bound", [Pattern(r"(0|[1-9][0-9]{0,2})\.[0-9]", 5)])
    for sign in (*syn.COMPARATORS, *(("==", "!=") if wide else ())):
        add("decided", [Ref("short_sum"), f" {sign} ", bound])
    if settings.helpers:
        _decided_by_helpers(grammar, wide)
    if settings.truths:
        add("decided", *([f"{word}(", Ref("statement"), ")"] for word in ("is_true", "is_false")))
        _statements(grammar)
    add("condition", [Ref("decided")], *([[Ref("statement")]] if settings.truths else []))
    if wide:
        add("decided", [Ref("text"), " in ", Ref("moved_text")])
        for sign in (*_ALIKE, *_WITHIN):
            add("decided", [Ref("moved_text"), sign, Ref("text")])
        for word in (" and ", " or "):
            add("logic", [Ref("decided"), word, Ref("decided")])
        add("logic", ["not ", Ref("decided")])


def _statements(grammar: Grammar) -> None:
    """Statements about a move: a text, or two quoted parts as in «no common words»."""
    quote, moved_names, names = Ref("literal"), Ref("moved_names"), Ref("names")
    grammar.add("statement", [Ref("moved_text")])
    grammar.add("statement", [quote, " + ", moved_names, " + ", quote, " + ", names])
    grammar.add("statement", [quote, " + ", names, " + ", quote, " + ", moved_names])


def _decided_by_helpers(grammar: Grammar, wide: bool) -> None:
    add, count = grammar.add, Ref("call_number_1")
    add("decided", [Ref("call_truth_1")])
    for sign in syn.COMPARATORS:
        add(
            "decided",
            [count, f" {sign} ", Pattern("[0-9]|[1-9][0-9]", 2)],
            [count, f" {sign} ", count],
        )
    if wide:
        words, lists = Ref("call_words_1"), Ref("list_0")
        for order in (*_ALIKE, *(f" {sign} " for sign in syn.COMPARATORS)):
            add("decided", [words, order, words])
        add("decided", *([lists, order, lists] for order in _ALIKE))
        add("decided", *([Ref("moved_text"), order, lists] for order in _WITHIN))


_ALONE = ("xent", "nex")
"""Kinds that mean something without a prefix; xed(s) and dex(s) are 0."""
_OUTER = 2
"""Most registers of an outer prefix."""


# -- sums ------------------------------------------------------------------------------------------


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
    text, about_move = Ref("text"), Ref("moved_text")
    for kind in syn.XENT_KINDS:
        if kind in _ALONE:
            grammar.add("term", *_score_forms(kind, about_move))
        grammar.add(
            "term",
            *_score_forms(kind, about_move, " | ", text),
            *_score_forms(kind, text, " | ", about_move),
        )


def _score_forms(kind: str, *arguments: Symbol) -> Iterator[tuple[Symbol, ...]]:
    yield (f"{kind}(", *arguments, ")")
    yield (f"{kind}(", *arguments, ", ", Ref("few"), ")")


def _terms_of_registers(grammar: Grammar, state: State, most: int) -> None:
    for kind in syn.XENT_KINDS:
        alone = kind in _ALONE
        chain = Ref(f"{'any' if alone else 'compared'}_{most}")
        form = [f"{kind}(", chain]
        grammar.add("term", form, when="" if alone else state.readable_strings(2))
    for remaining in range(1, most + 1):
        _targets(grammar, state, "any", remaining, most)
        _targets(grammar, state, "compared", remaining, most)
        _register(grammar, state, "prefix", remaining)
        _continuations(grammar, state, "prefix", remaining)
        outer = [", ", Ref(f"outer_{_OUTER}")]
        grammar.add(f"after_prefix_{remaining}", outer, when=state.readable_strings())
    for remaining in range(1, _OUTER + 1):
        _register(grammar, state, "outer", remaining, last=remaining == 1)
        _continuations(grammar, state, "outer", remaining)


def _targets(grammar: Grammar, state: State, rule: str, remaining: int, most: int) -> None:
    """The scored string: ``compared`` must be followed by a prefix, so one register remains."""
    _register(grammar, state, rule, remaining)
    after = f"after_{rule}_{remaining}"
    if remaining > 1:
        spare = state.readable_strings(1 if rule == "any" else 2)
        grammar.add(after, [" + ", Ref(f"{rule}_{remaining - 1}")], when=spare)
    grammar.add(after, [" | ", Ref(f"prefix_{most}")], when=state.readable_strings())
    if rule == "any":
        grammar.add(after, [")"], when=state.holds("seen"))


def _continuations(grammar: Grammar, state: State, rule: str, remaining: int) -> None:
    """A further register, or the end once a move was seen."""
    after = f"after_{rule}_{remaining}"
    if remaining > 1:
        more = [" + ", Ref(f"{rule}_{remaining - 1}")]
        grammar.add(after, more, when=state.readable_strings())
    grammar.add(after, [")"], when=state.holds("seen"))


def _register(
    grammar: Grammar, state: State, rule: str, remaining: int, last: bool = False
) -> None:
    """One register; if it is the last one that can be named, the term must hold a move by then."""
    name, after = f"{rule}_{remaining}", f"after_{rule}_{remaining}"
    move_seen = state.holds("seen") if last else ""
    for register in state.strings:
        moved_fact = f"moved {register}"
        about = [register, Ref(after, state.note(f"spent {register}", "seen"))]
        grammar.add(name, about, when=both(state.readable(register), state.holds(moved_fact)))
        beside = [register, Ref(after, state.note(f"spent {register}"))]
        still = both(state.readable(register), state.fails(moved_fact))
        grammar.add(name, beside, when=both(still, move_seen))
    for register in state.constants:
        grammar.add(name, [register, Ref(after)], when=move_seen)
