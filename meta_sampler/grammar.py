"""A grammar of XGL for constrained decoding: every text of it is a valid program
(docs/reference/meta_samplers.md), as far as its lines are not too long.

Beyond validity it states, by the bits of :class:`~meta_sampler.grammar.State`, what
makes a program playable: registers are set before they are read, an ensure stands behind an elicit,
flags are placed in order before they are jumped to, a player is paid after it has moved, and a text
ends only after the main player was paid for a move. A blank line may end a text.

Expressions are made of registers, joined and cut, and spelled as ``xgl.language.unparse`` spells
them. Literals stand in statements and as prompts of stories only: small models write them for ever.

Rules are data, written out for llguidance in its variant of Lark's syntax. A rule may carry a state
of 64 bits (:class:`State`): each of its forms says when it applies and which state it passes on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from math import isqrt
from typing import Any, NamedTuple

from meta_sampler.settings import LocalSettings
from xgl.language import syntax as syn
from xgl.language.canonical import POOL, PUBLIC_POOL
from xgl.language.dialects import DIALECTS, Dialect


class Ref(NamedTuple):
    """A rule that gets the state changed by ``change``; "_" passes on the same state."""

    rule: str
    change: str = "_"


class Pattern(NamedTuple):
    regex: str


Symbol = str | Ref | Pattern
"""An item of a form; a ``str`` is literal text."""
Form = tuple[tuple[Symbol, ...], str]
"""One way to write a rule, and its condition on the state; empty for always."""


class Grammar:
    """Rules by name; a text begins with the rule ``opening`` and no bit set."""

    def __init__(self) -> None:
        self.rules: dict[str, list[Form]] = {}

    def add(self, name: str, *forms: Sequence[Any], when: str = "") -> Ref:
        """Further forms of a rule, each a sequence of symbols; returns a reference to it."""
        self.rules.setdefault(name, []).extend((tuple(form), when) for form in forms)
        return Ref(name)

    def lark(self) -> str:
        """The grammar as llguidance reads it."""
        with_state = self._with_state()

        def text(symbol: Symbol) -> str:
            if isinstance(symbol, Ref):
                return f"{symbol.rule}::{symbol.change}" if symbol.rule in with_state else symbol[0]
            return f"/{symbol.regex}/" if isinstance(symbol, Pattern) else json.dumps(symbol)

        lines = ["start: opening::0x0"]
        for name, forms in self.rules.items():
            choices = [
                (" ".join(map(text, symbols)) or '""') + (f" %if {when}" if when else "")
                for symbols, when in forms
            ]
            head = f"{name}::_" if name in with_state else name
            lines.append(f"{head}: " + "\n    | ".join(choices))
        return "\n".join(lines) + "\n"

    def _with_state(self) -> set[str]:
        """Rules that read the state or pass it on; llguidance requires that no others carry it."""
        names: set[str] = set()

        def reads_it(name: str) -> bool:
            return any(
                when or any(isinstance(symbol, Ref) and symbol.rule in names for symbol in symbols)
                for symbols, when in self.rules[name]
            )

        while new := set(filter(reads_it, self.rules.keys() - names)):
            names |= new
        return names


def repetitions(item: Symbol, between: str, least: int, most: int) -> list[tuple[Symbol, ...]]:
    """The forms of ``least`` to ``most`` items with ``between`` between them."""
    return [(item, *((between, item) * (count - 1))) for count in range(least, most + 1)]


BITS = 64
_LINE_BITS = 7
_PRIVATE, _PUBLIC = 10, 3
"""Registers of each pool that a text may use; three facts on each must fit into the bits."""


@dataclass(frozen=True)
class State:
    """The bit of each fact: registers that were set, are spent, or hold a move; players who moved;
    flags placed and jumped to; the number of lines.

    A register is *spent* while it must not be read: in the assign that sets it first, if a dialect
    stores all values together, and in a term that has named it.
    """

    dialect: Dialect
    constants: tuple[str, ...] = ()
    """Registers of types a, b, c that the metadata fill: they can always be read."""
    main: str = syn.MAIN_PLAYER
    """The player who must move and be paid."""

    @property
    def strings(self) -> tuple[str, ...]:
        """String registers that a text may set, in order of preference."""
        return POOL[:_PRIVATE] + PUBLIC_POOL[:_PUBLIC]

    @cached_property
    def _bits(self) -> dict[str, int]:
        facts = [f"{fact} {name}" for fact in ("set", "spent", "moved") for name in self.strings]
        facts += [f"moved {player}" for player in syn.PLAYERS]
        facts += ["seen", "paid"]
        facts += [f"{event} {flag}" for event in ("placed", "taken") for flag in syn.FLAGS]
        assert len(facts) + _LINE_BITS <= BITS
        return {fact: bit for bit, fact in enumerate(facts)}

    @property
    def _lines(self) -> str:
        return f"[{len(self._bits)}:{len(self._bits) + _LINE_BITS}]"

    # -- conditions ------------------------------------------------------------------------------

    def holds(self, fact: str) -> str:
        """The condition that a fact's bit is set."""
        return f"bit_set({self._bits[fact]})"

    def fails(self, fact: str) -> str:
        """The condition that a fact's bit is not set."""
        return f"bit_clear({self._bits[fact]})"

    def readable(self, name: str) -> str:
        """The condition that a register was set and is not spent."""
        return both(self.holds(f"set {name}"), self.fails(f"spent {name}"))

    def readable_strings(self, least: int = 1) -> str:
        """The condition that ``least`` string registers can be read; empty for always.

        The bits can be counted but not subtracted: for some number n at least n + ``least`` are
        set and at most n spent, and every spent register is set.
        """
        if len(self.constants) >= least:
            return ""
        set_range, spent_range = self._range("set"), self._range("spent")
        cases = (
            both(
                f"bit_count_ge({set_range}, {count + least})",
                f"bit_count_le({spent_range}, {count})",
            )
            for count in range(len(self.strings) - least + 1)
        )
        return reduce(either, cases)

    def _range(self, fact: str) -> str:
        first = self._bits[f"{fact} {self.strings[0]}"]
        return f"[{first}:{first + len(self.strings)}]"

    @property
    def someone_moved(self) -> str:
        """The condition that a player moved; then a register that holds a move can be read."""
        first = self._bits[f"moved {syn.PLAYERS[0]}"]
        return f"ne([{first}:{first + len(syn.PLAYERS)}], 0)"

    def fewer_lines(self, than: int) -> str:
        """The condition that fewer than ``than`` lines stand before the present one."""
        return f"lt({self._lines}, {max(0, than)})"

    # -- changes ---------------------------------------------------------------------------------

    def note(self, *facts: str) -> str:
        """The change that sets the bits of facts."""
        return f"bit_or({hex(self._mask(facts))})"

    @property
    def after_assign(self) -> str:
        """The change after an assign: the registers that it set can be read."""
        spent_facts = [f"spent {name}" for name in self.strings]
        return f"bit_and({hex((1 << BITS) - 1 - self._mask(spent_facts))})"

    @property
    def next_line(self) -> str:
        """The change that counts one more line."""
        return f"incr({self._lines})"

    def _mask(self, facts: Sequence[str]) -> int:
        return sum(1 << self._bits[fact] for fact in dict.fromkeys(facts))


def both(one: str, other: str) -> str:
    """Either condition may be empty, for always."""
    return f"and({one}, {other})" if one and other else one or other


def either(one: str, other: str) -> str:
    return f"or({one}, {other})"


LITERAL = 40
"""Most characters of a literal."""
TARGETS = 4
"""Most values that one assign stores, registers that one elicit fills, or values shown."""
BESIDE = 2
"""Most pieces on either side of a piece that holds a move, and registers of an outer prefix."""
CUTS = (" // ", " % ")
ALONE = ("xent", "nex")
"""Kinds that mean something without a prefix; xed(s) and dex(s) are 0."""


@lru_cache(maxsize=64)
def xgl_grammar(
    dialect: str,
    settings: LocalSettings,
    constants: tuple[str, ...] = (),
    main: str = syn.MAIN_PLAYER,
) -> Grammar:
    """The grammar of a dialect's programs within ``settings``.

    ``constants``: registers of types a, b, c that hold a text before play; ``main``: the player
    who must move and be paid.
    """
    grammar = Grammar()
    state = State(DIALECTS[dialect], constants, main)
    _strings(grammar, state, settings.max_joined)
    _sums(grammar, state, settings)
    _conditions(grammar, state, settings.truths)
    _assign(grammar, state)
    _elicit(grammar, state, settings)
    _ensure(grammar, state)
    _reward(grammar, state, settings)
    _reveal(grammar, settings)
    if settings.loops:  # two loops inside each other stay within MAX_STEPS
        _loops(grammar, state, isqrt(syn.MAX_STEPS // settings.max_lines) - 1)
    _flow(grammar, state, settings)
    return grammar


# -- lines -----------------------------------------------------------------------------------------


def _flow(grammar: Grammar, state: State, settings: LocalSettings) -> None:
    """The order of the lines that have a rule; room is kept for a move and its reward while they
    are missing, since a text that may not end would have to break off."""
    most, main_moved = settings.max_lines, state.holds(f"moved {state.main}")
    room_for_one = either(state.holds("paid"), state.fewer_lines(most - 1))
    room = either(
        both(main_moved, room_for_one), either(state.holds("paid"), state.fewer_lines(most - 2))
    )
    conditions = {
        "assign": room,
        "elicit_other": room,
        "ensure": both(room, state.readable_strings()),
        "reveal": both(room, state.readable_strings()),
        "reward_other": room,
        "beacon": room,
        "replay": room,
        "elicit_main": room_for_one,
        "reward_main": main_moved,
    }
    for rule, when in conditions.items():
        if rule in grammar.rules:
            grammar.add("line", [Ref(rule)], when=when)
    grammar.add("next", ["\n", Ref("line", state.next_line)], when=state.fewer_lines(most - 1))
    grammar.add("next", [], ["\n\n"], when=state.holds("paid"))
    if settings.ends_at_reward:
        grammar.add("end", [], ["\n\n"])


def _assign(grammar: Grammar, state: State) -> None:
    """The first line stores a story, as that of almost every game of the papers does."""
    for remaining in range(1, TARGETS + 1):
        rest = f"after_targets_{remaining}"
        for name in state.strings:
            for value in ("value", "story", "moved_value"):
                _store(grammar, state, f"targets_{remaining}", name, value, rest)
        if remaining > 1:
            grammar.add(rest, [", ", Ref(f"targets_{remaining - 1}")])
        grammar.add(rest, [")", Ref("next", state.after_assign)])
    grammar.add("assign", ["assign(", Ref(f"targets_{TARGETS}")])
    for name in state.strings:
        _store(grammar, state, "first_target", name, "story", f"after_targets_{TARGETS}")
    grammar.add("opening", ["assign(", Ref("first_target")])


def _store(grammar: Grammar, state: State, rule: str, name: str, value: str, rest: str) -> None:
    """``name=value``; a register that was not set before is new in its line."""
    holds_move = value == "moved_value"
    facts = [f"set {name}", *([f"moved {name}"] if holds_move else [])]
    when = state.someone_moved if holds_move else ""
    form: tuple[Symbol, ...] = (f"{name}=", Ref(value))
    again = Ref(rest, state.note(*facts))
    if not state.dialect.parallel_assign:
        grammar.add(rule, [*form, again], when=when)
        return
    fresh = Ref(rest, state.note(*facts, f"spent {name}"))
    grammar.add(rule, [*form, fresh], when=both(when, state.fails(f"set {name}")))
    grammar.add(rule, [*form, again], when=both(when, state.holds(f"set {name}")))


def _elicit(grammar: Grammar, state: State, settings: LocalSettings) -> None:
    limit = Pattern("|".join(map(str, range(1, settings.max_move_tokens + 1))))
    for remaining in range(1, TARGETS + 1):
        rest = f"after_moves_{remaining}"
        for name in state.strings:
            changes = state.note(f"set {name}", f"moved {name}")
            grammar.add(f"moves_{remaining}", [name, Ref(rest, changes)])
        if remaining > 1:
            grammar.add(rest, [", ", Ref(f"moves_{remaining - 1}")])
        grammar.add(rest, [", ", limit, ")", Ref("next")], [")", Ref("next")])
    for player in dict.fromkeys((state.main, *settings.players)):
        registers = Ref(f"moves_{TARGETS}", state.note(f"moved {player}"))
        rule, name = _seat("elicit", player, state.main)
        grammar.add(rule, [f"elicit({name}", registers])


def _seat(line: str, player: str, main: str) -> tuple[str, str]:
    """The rule of a player's lines, and how they begin: black's name is left out."""
    name = "" if player == syn.MAIN_PLAYER else f"{player}, "
    return f"{line}_main" if player == main else f"{line}_other", name


def _ensure(grammar: Grammar, state: State) -> None:
    form = ["ensure(", Ref("conditions"), ")", Ref("next")]
    grammar.add("ensure", form, when=state.someone_moved)
    grammar.add("conditions", *repetitions(Ref("condition"), ", ", 1, 2))


def _reward(grammar: Grammar, state: State, settings: LocalSettings) -> None:
    """Rewards of players that have moved; ``env`` keeps a reward in one dialect only."""
    after_pay = Ref("end") if settings.ends_at_reward else Ref("next", state.note("paid"))
    main_moved, partner = f"moved {state.main}", syn.PARTNERS.get(state.main)
    for player in dict.fromkeys((state.main, *settings.players)):
        if player == "env" and not state.dialect.env_rewarded:
            continue
        rule, name = _seat("reward", player, state.main)
        form, moved = [f"reward({name}", Ref("sum"), ")"], state.holds(f"moved {player}")
        if player == state.main:
            grammar.add(rule, [*form, after_pay], when=moved)
        elif player == partner:  # its gain is a loss of the main player, which is so paid too
            grammar.add(rule, [*form, Ref("next")], when=both(moved, state.fails(main_moved)))
            grammar.add(rule, [*form, after_pay], when=both(moved, state.holds(main_moved)))
        else:
            grammar.add(rule, [*form, Ref("next")], when=moved)


def _reveal(grammar: Grammar, settings: LocalSettings) -> None:
    """Reveals to players who do not see everything."""
    grammar.add("values", *repetitions(Ref("names"), ", ", 1, TARGETS))
    for player in settings.players:
        if player not in syn.OMNISCIENT:
            grammar.add("reveal", [f"reveal({player}, ", Ref("values"), ")", Ref("next")])


def _loops(grammar: Grammar, state: State, max_jumps: int) -> None:
    """Each flag is placed once and jumped to by one replay behind it."""
    first, second = syn.FLAGS
    times = Pattern("|".join(map(str, range(1, max_jumps + 1))))
    for flag in syn.FLAGS:
        free = state.fails(f"placed {flag}")
        if flag == first and state.dialect.flag_order:
            free = both(free, state.fails(f"placed {second}"))
        place = [f"beacon({flag})", Ref("next", state.note(f"placed {flag}"))]
        grammar.add("beacon", place, when=free)
        ready = both(state.holds(f"placed {flag}"), state.fails(f"taken {flag}"))
        form = [f"replay({flag}, ", times, ")", Ref("next", state.note(f"taken {flag}"))]
        grammar.add("replay", form, when=ready)


# -- strings and conditions ------------------------------------------------------------------------


def _strings(grammar: Grammar, state: State, most: int) -> None:
    """``names``: registers and cuts, joined; ``moved_names`` hold a move, ``still_names`` none.

    What a register holds decides the bits of the register that stores it, so the two are separate
    rules: were one text of both, the grammar would be in two states at once.
    """
    add, dialect = grammar.add, state.dialect
    for name in state.strings:
        readable, moved = state.readable(name), f"moved {name}"
        add("register", [name], when=readable)
        add("moved_register", [name], when=both(readable, state.holds(moved)))
        add("still_register", [name], when=both(readable, state.fails(moved)))
    for name in state.constants:
        add("register", [name])
        add("still_register", [name])
    any_one, moved_one, still = map(Ref, ("register", "moved_register", "still_register"))
    add("piece", [any_one], *([any_one, cut, any_one] for cut in CUTS))
    add("moved_piece", [moved_one], *([moved_one, cut, any_one] for cut in CUTS))
    add("moved_piece", *([any_one, cut, moved_one] for cut in CUTS))
    add("still_piece", [still], *([still, cut, still] for cut in CUTS))
    add("names", *repetitions(Ref("piece"), " + ", 1, most))
    add("value", *repetitions(Ref("still_piece"), " + ", 1, most))
    few = add("few", *repetitions(Ref("piece"), " + ", 1, BESIDE))
    sides = [(before, after) for before in ((), (few, " + ")) for after in ((), (" + ", few))]
    add("moved_names", *((*before, Ref("moved_piece"), *after) for before, after in sides))
    add("moved_value", [Ref("moved_names")])
    add("literal", [Pattern(f'"[ !#-\\[\\]-~]{{0,{LITERAL}}}"')])
    add("story", ["story()"])
    if dialect.story_arguments:
        add("story", ["story(", Pattern("[1-9][0-9]?"), ")"], ["story(", Ref("literal"), ")"])


def _conditions(grammar: Grammar, state: State, truths: bool) -> None:
    """Comparisons of sums; statements about a move, which may have two quoted parts as in «no
    common words»."""
    add, moved_names, names = grammar.add, Ref("moved_names"), Ref("names")
    bound = add("bound", [Pattern("0|[1-9][0-9]{0,2}")], [Ref("term")])
    for sign in syn.COMPARATORS:
        add("condition", [Ref("short_sum"), f" {sign} ", bound])
    if truths:
        quote = Ref("literal")
        add("statement", [moved_names])
        add("statement", [quote, " + ", moved_names, " + ", quote, " + ", names])
        add("statement", [quote, " + ", names, " + ", quote, " + ", moved_names])
        add("condition", [Ref("statement")])
        add("condition", *([f"{word}(", Ref("statement"), ")"] for word in ("is_true", "is_false")))


# -- sums ------------------------------------------------------------------------------------------


def _sums(grammar: Grammar, state: State, settings: LocalSettings) -> None:
    """``sum``, of a reward, and ``short_sum``, of a condition.

    A term is a chain of registers, target | prefix, outer, each named at most once in it (a named
    one is spent), so that no string is scored against itself; and it holds a move, because every
    reward must depend on one. ``any_N``, ``compared_N`` (targets; ``compared`` must be followed by
    a prefix), ``prefix_N`` and ``outer_N`` take up to N further registers.
    """
    most, add, readable = settings.max_joined, grammar.add, state.readable_strings()
    for kind in syn.XENT_KINDS:
        chain = Ref(f"{'any' if kind in ALONE else 'compared'}_{most}")
        when = "" if kind in ALONE else state.readable_strings(2)
        add("term", [f"{kind}(", chain], when=when)
    prefix, outer = [" | ", Ref(f"prefix_{most}")], [", ", Ref(f"outer_{BESIDE}")]
    following = {"any": prefix, "compared": prefix, "prefix": outer}
    for part in (*following, "outer"):
        for remaining in range(1, 1 + (BESIDE if part == "outer" else most)):
            _register(grammar, state, part, remaining)
            after = f"after_{part}_{remaining}"
            if remaining > 1:
                spare = state.readable_strings(2) if part == "compared" else readable
                add(after, [" + ", Ref(f"{part}_{remaining - 1}")], when=spare)
            if part in following:
                add(after, following[part], when=readable)
            if part != "compared":
                add(after, [")"], when=state.holds("seen"))
    further = add("further", *([sign, Ref("term")] for sign in (" + ", " - ")))
    for name, terms in (("sum", settings.max_terms), ("short_sum", 2)):
        for count in range(terms):
            rest = [further] * count
            add(name, [Ref("term"), *rest], ["-", Ref("term"), *rest])


def _register(grammar: Grammar, state: State, rule: str, remaining: int) -> None:
    """One register; if it is the last one that can be named, the term must hold a move by then."""
    name, after = f"{rule}_{remaining}", f"after_{rule}_{remaining}"
    move_seen = state.holds("seen") if (rule, remaining) == ("outer", 1) else ""
    for register in state.strings:
        readable, moved = state.readable(register), f"moved {register}"
        about = [register, Ref(after, state.note(f"spent {register}", "seen"))]
        grammar.add(name, about, when=both(readable, state.holds(moved)))
        beside = [register, Ref(after, state.note(f"spent {register}"))]
        grammar.add(name, beside, when=both(both(readable, state.fails(moved)), move_seen))
    for register in state.constants:
        grammar.add(name, [register, Ref(after)], when=move_seen)
