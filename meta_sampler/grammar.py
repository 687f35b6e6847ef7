"""A grammar of XGL for constrained decoding: every text of it is a valid program
(docs/reference/meta_samplers.md), as far as its lines are not too long.

Beyond validity it states, by the bits of a state, what makes a program playable: registers are set
before they are read, an ensure stands behind an elicit, flags are placed in order before they are
jumped to, a player is paid after it has moved, and a text ends only after the main player was paid
for a move. A blank line may end a text.

Expressions are made of registers, joined and cut, and spelled as ``xgl.language.unparse`` spells
them. Literals stand in statements and as prompts of stories only: small models write them for ever.

Rules are written as llguidance reads them, in its variant of Lark's syntax: ``"text"``,
``/pattern/``, and ``rule::change``, a rule that gets the state of 64 bits after a change, ``_`` for
none. A form that holds in some states only ends with ``%if`` and its condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from math import isqrt

from meta_sampler.settings import LocalSettings
from xgl.language import syntax as syn
from xgl.language.canonical import POOL, PUBLIC_POOL
from xgl.language.dialects import DIALECTS

BITS = 64
_LINE_BITS = 7
_PRIVATE, _PUBLIC = 10, 3
"""Registers of each pool that a text may use; three facts on each must fit into the bits."""
STRINGS = POOL[:_PRIVATE] + PUBLIC_POOL[:_PUBLIC]
"""String registers that a text may set, in order of preference."""
STATELESS = frozenset({"literal", "story", "end"})
"""Rules that neither read the state nor pass it on; llguidance requires that no others lack it."""
LITERAL = 40
"""Most characters of a literal."""
TARGETS = 4
"""Most values that one assign stores, registers that one elicit fills, or values shown."""
BESIDE = 2
"""Most pieces on either side of a piece that holds a move, and registers of an outer prefix."""
ALONE = ("xent", "nex")
"""Kinds that mean something without a prefix; xed(s) and dex(s) are 0."""


@lru_cache(maxsize=64)
def xgl_grammar(
    dialect: str,
    settings: LocalSettings,
    constants: tuple[str, ...] = (),
    main: str = syn.MAIN_PLAYER,
) -> str:
    """The grammar of a dialect's programs within ``settings``, as llguidance reads it.

    ``constants``: registers of types a, b, c that the metadata fill, so that they can always be
    read; ``main``: the player who must move and be paid.
    """
    return _Grammar(dialect, settings, constants, main).text()


def repetitions(item: str, between: str, most: int) -> list[str]:
    """The forms of one to ``most`` items with ``between`` between them."""
    return [between.join([item] * count) for count in range(1, most + 1)]


def numbers(most: int) -> str:
    """The pattern of the numbers from 1 to ``most``."""
    return f"/{'|'.join(map(str, range(1, most + 1)))}/"


# -- the state: conditions on it, and changes ------------------------------------------------------

_FACTS = (
    *(f"{fact} {name}" for fact in ("set", "spent", "moved") for name in STRINGS),
    *(f"moved {player}" for player in syn.PLAYERS),
    *("seen", "paid"),
    *(f"{event} {flag}" for event in ("placed", "taken") for flag in syn.FLAGS),
)
"""Registers that were set, are spent, or hold a move; players who moved; a term that names a move;
a main player that was paid; flags placed and jumped to. A bit each, and the number of lines."""
_BITS = {fact: bit for bit, fact in enumerate(_FACTS)}
_LINE_COUNT = f"[{len(_FACTS)}:{len(_FACTS) + _LINE_BITS}]"
assert len(_FACTS) + _LINE_BITS <= BITS


def holds(fact: str) -> str:
    return f"bit_set({_BITS[fact]})"


def fails(fact: str) -> str:
    return f"bit_clear({_BITS[fact]})"


def both(one: str, other: str) -> str:
    """Either condition may be empty, for always."""
    return f"and({one}, {other})" if one and other else one or other


def either(one: str, other: str) -> str:
    return f"or({one}, {other})"


def readable(name: str) -> str:
    """A register was set and is not spent."""
    return both(holds(f"set {name}"), fails(f"spent {name}"))


def _range(first: str, names: Sequence[str]) -> str:
    return f"[{_BITS[first]}:{_BITS[first] + len(names)}]"


SOMEONE_MOVED = f"ne({_range(f'moved {syn.PLAYERS[0]}', syn.PLAYERS)}, 0)"
"""A player moved; then a register that holds a move can be read."""


def fewer_lines(than: int) -> str:
    """Fewer lines stand before the present one."""
    return f"lt({_LINE_COUNT}, {max(0, than)})"


def _mask(facts: Iterable[str]) -> int:
    return sum(1 << _BITS[fact] for fact in facts)


def note(*facts: str) -> str:
    """The change that sets the bits of facts."""
    return f"bit_or({hex(_mask(facts))})"


class _Grammar:
    """Forms of rules, by name. A register is *spent* while it must not be read: in the assign that
    sets it first, if a dialect stores all values together, and in a term that has named it."""

    def __init__(
        self, dialect: str, settings: LocalSettings, constants: tuple[str, ...], main: str
    ) -> None:
        self.dialect, self.settings = DIALECTS[dialect], settings
        self.constants, self.main = constants, main
        self.rules: dict[str, list[str]] = {}

    def text(self) -> str:
        """The whole grammar; a text begins with the rule ``opening`` and no bit set."""
        self._strings()
        self._sums()
        self._conditions()
        self._assign()
        self._elicit()
        self._ensure()
        self._reward()
        self._reveal()
        if self.settings.loops:
            self._loops()
        self._flow()
        lines = ["start: opening::0x0"]
        for name, forms in self.rules.items():
            head = name if name in STATELESS else f"{name}::_"
            lines.append(f"{head}: " + "\n    | ".join(forms))
        return "\n".join(lines) + "\n"

    def add(self, rule: str, *forms: str, when: str = "") -> None:
        """Further forms of a rule, under a condition."""
        conditional = (f"{form} %if {when}" if when else form for form in forms)
        self.rules.setdefault(rule, []).extend(conditional)

    def readable_strings(self, least: int = 1) -> str:
        """At least so many string registers can be read; empty for always.

        The bits can be counted but not subtracted: for some number n at least n + ``least`` are
        set and at most n spent, and every spent register is set.
        """
        if len(self.constants) >= least:
            return ""
        set_range, spent_range = (_range(f"{x} {STRINGS[0]}", STRINGS) for x in ("set", "spent"))
        cases = (
            f"and(bit_count_ge({set_range}, {n + least}), bit_count_le({spent_range}, {n}))"
            for n in range(len(STRINGS) - least + 1)
        )
        return reduce(either, cases)

    # -- lines -----------------------------------------------------------------------------------

    def _flow(self) -> None:
        """The order of the lines that have a rule; room is kept for a move and its reward while
        they are missing, since a text that may not end would have to break off."""
        most, main_moved = self.settings.max_lines, holds(f"moved {self.main}")
        paid = holds("paid")
        room_for_one = either(paid, fewer_lines(most - 1))
        room = either(both(main_moved, room_for_one), either(paid, fewer_lines(most - 2)))
        conditions = {
            **dict.fromkeys(("assign", "elicit_other", "reward_other", "beacon", "replay"), room),
            **dict.fromkeys(("ensure", "reveal"), both(room, self.readable_strings())),
            "elicit_main": room_for_one,
            "reward_main": main_moved,
        }
        for rule, when in conditions.items():
            if rule in self.rules:
                self.add("line", f"{rule}::_", when=when)
        self.add("next", rf'"\n" line::incr({_LINE_COUNT})', when=fewer_lines(most - 1))
        self.add("next", '""', r'"\n\n"', when=paid)
        if self.settings.ends_at_reward:
            self.add("end", '""', r'"\n\n"')

    def _assign(self) -> None:
        """The first line stores a story, as that of almost every game of the papers does."""
        spent = _mask([f"spent {name}" for name in STRINGS])
        for remaining in range(1, TARGETS + 1):
            rest = f"after_targets_{remaining}"
            for name in STRINGS:
                for value in ("value", "story", "moved_value"):
                    self._store(f"targets_{remaining}", name, value, rest)
            if remaining > 1:
                self.add(rest, f'", " targets_{remaining - 1}::_')
            self.add(rest, f'")" next::bit_and({hex((1 << BITS) - 1 - spent)})')
        self.add("assign", f'"assign(" targets_{TARGETS}::_')
        for name in STRINGS:
            self._store("first_target", name, "story", f"after_targets_{TARGETS}")
        self.add("opening", '"assign(" first_target::_')

    def _store(self, rule: str, name: str, value: str, rest: str) -> None:
        """``name=value``; a register that was not set before is new in its line."""
        holds_move = value == "moved_value"
        facts = [f"set {name}", *([f"moved {name}"] if holds_move else [])]
        when = SOMEONE_MOVED if holds_move else ""
        form = f'"{name}=" {value if value in STATELESS else f"{value}::_"} {rest}'
        again = f"{form}::{note(*facts)}"
        if not self.dialect.parallel_assign:
            self.add(rule, again, when=when)
            return
        fresh = f"{form}::{note(*facts, f'spent {name}')}"
        self.add(rule, fresh, when=both(when, fails(f"set {name}")))
        self.add(rule, again, when=both(when, holds(f"set {name}")))

    def _elicit(self) -> None:
        limit = numbers(self.settings.max_move_tokens)
        for remaining in range(1, TARGETS + 1):
            rest = f"after_moves_{remaining}"
            for name in STRINGS:
                change = note(f"set {name}", f"moved {name}")
                self.add(f"moves_{remaining}", f'"{name}" {rest}::{change}')
            if remaining > 1:
                self.add(rest, f'", " moves_{remaining - 1}::_')
            self.add(rest, f'", " {limit} ")" next::_', '")" next::_')
        for player in dict.fromkeys((self.main, *self.settings.players)):
            rule, opening = self._seat("elicit", player)
            self.add(rule, f"{opening} moves_{TARGETS}::{note(f'moved {player}')}")

    def _seat(self, line: str, player: str) -> tuple[str, str]:
        """The rule of a player's lines, and how they begin: black's name is left out."""
        name = "" if player == syn.MAIN_PLAYER else f"{player}, "
        return f"{line}_{'main' if player == self.main else 'other'}", f'"{line}({name}"'

    def _ensure(self) -> None:
        self.add("ensure", '"ensure(" conditions::_ ")" next::_', when=SOMEONE_MOVED)
        self.add("conditions", *repetitions("condition::_", ' ", " ', 2))

    def _reward(self) -> None:
        """Rewards of players that have moved; ``env`` keeps a reward in one dialect only."""
        after_pay = "end" if self.settings.ends_at_reward else f"next::{note('paid')}"
        main_moved, partner = f"moved {self.main}", syn.PARTNERS.get(self.main)
        for player in dict.fromkeys((self.main, *self.settings.players)):
            if player == "env" and not self.dialect.env_rewarded:
                continue
            rule, opening = self._seat("reward", player)
            form, moved = f'{opening} sum::_ ")"', holds(f"moved {player}")
            if player == self.main:
                self.add(rule, f"{form} {after_pay}", when=moved)
            elif player == partner:  # its gain is a loss of the main player, which is so paid too
                self.add(rule, f"{form} next::_", when=both(moved, fails(main_moved)))
                self.add(rule, f"{form} {after_pay}", when=both(moved, holds(main_moved)))
            else:
                self.add(rule, f"{form} next::_", when=moved)

    def _reveal(self) -> None:
        """Reveals to players who do not see everything."""
        self.add("values", *repetitions("names::_", ' ", " ', TARGETS))
        for player in self.settings.players:
            if player not in syn.OMNISCIENT:
                self.add("reveal", f'"reveal({player}, " values::_ ")" next::_')

    def _loops(self) -> None:
        """Each flag is placed once and jumped to by one replay behind it."""
        first, second = syn.FLAGS
        # two loops inside each other stay within MAX_STEPS
        times = numbers(isqrt(syn.MAX_STEPS // self.settings.max_lines) - 1)
        for flag in syn.FLAGS:
            free = fails(f"placed {flag}")
            if flag == first and self.dialect.flag_order:
                free = both(free, fails(f"placed {second}"))
            self.add("beacon", f'"beacon({flag})" next::{note(f"placed {flag}")}', when=free)
            ready = both(holds(f"placed {flag}"), fails(f"taken {flag}"))
            taken = note(f"taken {flag}")
            self.add("replay", f'"replay({flag}, " {times} ")" next::{taken}', when=ready)

    # -- strings and conditions ------------------------------------------------------------------

    def _strings(self) -> None:
        """``names``: registers and cuts, joined; ``moved_names`` hold a move, ``still_names`` none.

        What a register holds decides the bits of the register that stores it, so the two are
        separate rules: were one text of both, the grammar would be in two states at once.
        """
        for name in STRINGS:
            can_read, moved = readable(name), f"moved {name}"
            self.add("register", f'"{name}"', when=can_read)
            self.add("moved_register", f'"{name}"', when=both(can_read, holds(moved)))
            self.add("still_register", f'"{name}"', when=both(can_read, fails(moved)))
        for name in self.constants:
            self.add("register", f'"{name}"')
            self.add("still_register", f'"{name}"')
        any_one, moved_one, still = "register::_", "moved_register::_", "still_register::_"
        cuts = ('" // "', '" % "')
        self.add("piece", any_one, *(f"{any_one} {cut} {any_one}" for cut in cuts))
        self.add("moved_piece", moved_one, *(f"{moved_one} {cut} {any_one}" for cut in cuts))
        self.add("moved_piece", *(f"{any_one} {cut} {moved_one}" for cut in cuts))
        self.add("still_piece", still, *(f"{still} {cut} {still}" for cut in cuts))
        most, plus = self.settings.max_joined, ' " + " '
        self.add("names", *repetitions("piece::_", plus, most))
        self.add("value", *repetitions("still_piece::_", plus, most))
        self.add("few", *repetitions("piece::_", plus, BESIDE))
        sides = ("moved_piece::_", 'moved_piece::_ " + " few::_')
        self.add("moved_names", *sides, *(f'few::_ " + " {side}' for side in sides))
        self.add("moved_value", "moved_names::_")
        self.add("literal", rf'/"[ !#-\[\]-~]{{0,{LITERAL}}}"/')
        self.add("story", '"story()"')
        if self.dialect.story_arguments:
            self.add("story", '"story(" /[1-9][0-9]?/ ")"', '"story(" literal ")"')

    def _conditions(self) -> None:
        """Comparisons of sums; statements about a move, which may have two quoted parts as in «no
        common words»."""
        self.add("bound", "/0|[1-9][0-9]{0,2}/", "term::_")
        self.add("condition", *(f'short_sum::_ " {sign} " bound::_' for sign in syn.COMPARATORS))
        if self.settings.truths:
            quoted = 'literal " + " {} " + " literal " + " {}'
            self.add("statement", "moved_names::_", quoted.format("moved_names::_", "names::_"))
            self.add("statement", quoted.format("names::_", "moved_names::_"))
            calls = (f'"{word}(" statement::_ ")"' for word in ("is_true", "is_false"))
            self.add("condition", "statement::_", *calls)

    # -- sums ------------------------------------------------------------------------------------

    def _sums(self) -> None:
        """``sum``, of a reward, and ``short_sum``, of a condition.

        A term is a chain of registers, target | prefix, outer, each named at most once in it (a
        named one is spent), so that no string is scored against itself; and it holds a move,
        because every reward must depend on one. ``any_N``, ``compared_N`` (targets; ``compared``
        must be followed by a prefix), ``prefix_N`` and ``outer_N`` take up to N further registers.
        """
        most, can_read = self.settings.max_joined, self.readable_strings()
        for kind in syn.XENT_KINDS:
            target = "any" if kind in ALONE else "compared"
            when = "" if kind in ALONE else self.readable_strings(2)
            self.add("term", f'"{kind}(" {target}_{most}::_', when=when)
        prefix, outer = f'" | " prefix_{most}::_', f'", " outer_{BESIDE}::_'
        following = {"any": prefix, "compared": prefix, "prefix": outer}
        for part in (*following, "outer"):
            for remaining in range(1, 1 + (BESIDE if part == "outer" else most)):
                self._register(part, remaining)
                after = f"after_{part}_{remaining}"
                if remaining > 1:
                    spare = self.readable_strings(2) if part == "compared" else can_read
                    self.add(after, f'" + " {part}_{remaining - 1}::_', when=spare)
                if part in following:
                    self.add(after, following[part], when=can_read)
                if part != "compared":
                    self.add(after, '")"', when=holds("seen"))
        self.add("further", '" + " term::_', '" - " term::_')
        for name, terms in (("sum", self.settings.max_terms), ("short_sum", 2)):
            for count in range(terms):
                rest = " further::_" * count
                self.add(name, f"term::_{rest}", f'"-" term::_{rest}')

    def _register(self, rule: str, remaining: int) -> None:
        """One register; if it is the last that can be named, the term must hold a move by then."""
        name, after = f"{rule}_{remaining}", f"after_{rule}_{remaining}"
        move_seen = holds("seen") if (rule, remaining) == ("outer", 1) else ""
        for register in STRINGS:
            can_read, moved = readable(register), f"moved {register}"
            about = f'"{register}" {after}::{note(f"spent {register}", "seen")}'
            self.add(name, about, when=both(can_read, holds(moved)))
            beside = f'"{register}" {after}::{note(f"spent {register}")}'
            self.add(name, beside, when=both(both(can_read, fails(moved)), move_seen))
        for register in self.constants:
            self.add(name, f'"{register}" {after}::_', when=move_seen)
