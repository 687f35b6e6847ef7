"""A grammar of XGL for constrained decoding: every text of it is a valid program
(docs/reference/meta_samplers.md), as far as its lines are not too long.

Beyond validity it states, by the bits of a state, what makes a program playable: registers are set
before they are read, an ensure stands behind an elicit, flags are placed in order before they are
jumped to, a player is paid after it has moved, and a text ends only after the main player was paid
for a move. A blank line may end a text.

Expressions are made of registers, joined and cut, and spelled as ``xgl.language.unparse`` spells
them. Literals stand in statements and as prompts of stories only: small models write them for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from math import isqrt
from string import Template

from meta_sampler.settings import LocalSettings
from xgl.language import syntax as syn
from xgl.language.canonical import POOL, PUBLIC_POOL
from xgl.language.dialects import DIALECTS

_PRIVATE, _PUBLIC = 10, 3
"""Registers of each pool that a text may use; three facts on each must fit into the bits."""
STRINGS = POOL[:_PRIVATE] + PUBLIC_POOL[:_PUBLIC]
"""String registers that a text may set, in order of preference."""
LITERAL = 40
"""Most characters of a literal."""
TARGETS = 4
"""Most values that one assign stores, registers that one elicit fills, or values shown."""
BESIDE = 2
"""Most pieces on either side of a piece that holds a move, and registers of an outer prefix."""

RULES = r"""
// The first line stores a story, as that of almost every game of the papers does. Room is kept for
// a move and its reward while they are missing: a text that may not end would have to break off.

start: opening::0x0
opening::_: "assign(" story_target::_
line::_: (assign::_ | elicit_other::_ | reward_other::_) %if $room
    | (beacon::_ | replay::_) %if and($loops, $room)
    | (ensure::_ | reveal::_) %if and($room, $can_read)
    | elicit_main::_ %if $room_for_one
    | reward_main::_ %if bit_set(moved $main)
next::_: "\n" line::incr($lines) %if lt($lines, $last_line)
    | "\n\n"? %if bit_set(paid)

// A register is spent while it must not be read: in the assign that sets it first, if a dialect
// stores all values together, and in a term that has named it.

assign::_: "assign(" target::_
target::_: story_target::_
    | moved_target::_ %if $someone_moved
    | "$r=" value::_ after_target::bit_or(set $r) %if $is_old
    | "$r=" value::_ after_target::bit_or(set $r, spent $r) %if $is_new
moved_target::_: "$r=" moved_names::_ after_target::bit_or(set $r, moved $r) %if $is_old
    | "$r=" moved_names::_ after_target::bit_or(set $r, moved $r, spent $r) %if $is_new
story_target::_: "$r=" story after_target::bit_or(set $r) %if $is_old
    | "$r=" story after_target::bit_or(set $r, spent $r) %if $is_new
story: "story(" $story_argument ")"
after_target::_: ", " target::incr($items) %if lt($items, $more_targets)
    | ")" next::bit_and($line_end)

elicit_main::_: "elicit($main, " moves::bit_or(moved $main)
elicit_other::_: "elicit($other, " moves::bit_or(moved $other)
moves::_: "$r" after_move::bit_or(set $r, moved $r)
after_move::_: ", " moves::incr($items) %if lt($items, $more_targets)
    | (", " /$limits/)? ")" next::bit_and($line_end)
reveal::_: "reveal($informed, " names::_ (", " names::_){0,$more_targets} ")" next::_

// Players are paid who have moved. A gain of the main player's partner is a loss of its own, so it
// is paid too.

reward_main::_: "reward($main, " sum::_ ")" $after_pay
reward_other::_: "reward($earner, " sum::_ ")" next::_ %if bit_set(moved $earner)
    | "reward($partner, " sum::_ after_partner::_ %if bit_set(moved $partner)
after_partner::_: ")" next::_ %if bit_clear(moved $main)
    | ")" $after_pay %if bit_set(moved $main)

// Each flag is placed once and jumped to by one replay behind it.

beacon::_: "beacon(flag_1)" next::bit_or(placed flag_1) %if and(bit_clear(placed flag_1), $in_order)
    | "beacon(flag_2)" next::bit_or(placed flag_2) %if bit_clear(placed flag_2)
replay::_: "replay($flag, " /$times/ ")" next::bit_or(taken $flag) %if $is_open

// What a register holds decides the bits of the register that stores it, so texts with a move and
// without are separate rules: were one text of both, the grammar would be in two states at once.

register::_: "$r" %if $readable
    | "$constant"
moved_register::_: "$r" %if and($readable, bit_set(moved $r))
still_register::_: "$r" %if and($readable, bit_clear(moved $r))
    | "$constant"
piece::_: register::_ (CUT register::_)?
moved_piece::_: moved_register::_ (CUT register::_)?
    | register::_ CUT moved_register::_
still_piece::_: still_register::_ (CUT still_register::_)?
names::_: piece::_ (" + " piece::_){0,$more_joined}
few::_: piece::_ (" + " piece::_){0,$more_beside}
value::_: still_piece::_ (" + " still_piece::_){0,$more_joined}
moved_names::_: (few::_ " + ")? moved_piece::_ (" + " few::_)?
CUT: " // " | " % "
LITERAL: /"[ !#-\[\]-~]{0,$literal}"/

// A statement is about a move, and may have two quoted parts as in "no common words".

ensure::_: "ensure(" condition::_ (", " condition::_)? ")" next::_ %if $someone_moved
condition::_: short_sum::_ (" < " | " <= " | " > " | " >= ") (/0|[1-9][0-9]{0,2}/ | term::_)
    | statement::_ %if $truths
    | ("is_true(" | "is_false(") statement::_ ")" %if $truths
statement::_: moved_names::_
    | LITERAL " + " moved_names::_ " + " LITERAL " + " names::_
    | LITERAL " + " names::_ " + " LITERAL " + " moved_names::_

// A term is a chain of registers, target | prefix, outer, each named at most once in it, so that no
// string is scored against itself; and it holds a move, because every reward must depend on one.
// xed and dex are 0 without a prefix.

sum::_: "-"? term::_ (SIGN term::_){0,$more_terms}
short_sum::_: "-"? term::_ (SIGN term::_)?
SIGN: " + " | " - "
term::_: ("xent(" | "nex(") any::_
    | ("xed(" | "dex(") compared::_ %if $can_read_two
after_any::_: " + " any::incr($items) %if and(lt($items, $more_joined), $can_read)
    | " | " prefix::bit_and($no_items) %if $can_read
    | ")" %if bit_set(seen)
after_compared::_: " + " compared::incr($items) %if and(lt($items, $more_joined), $can_read_two)
    | " | " prefix::bit_and($no_items) %if $can_read
after_prefix::_: " + " prefix::incr($items) %if and(lt($items, $more_joined), $can_read)
    | ", " outer::bit_and($no_items) %if $can_read
    | ")" %if bit_set(seen)
after_outer::_: " + " outer::incr($items) %if and(lt($items, $more_beside), $can_read)
    | ")" %if bit_set(seen)
"""
"""Rules as llguidance reads them, in its variant of Lark's syntax: ``"text"``, ``/pattern/``, and
``rule::change``, a rule that gets the state of 64 bits after a change, ``_`` for none. A form that
holds in some states only ends with ``%if`` and its condition.

Filled in are the bits of facts, which have names here, and what begins with ``$``. A form with
``$r``, a string register, or with a constant or player of some kind stands once for each of them.
No form is one rule alone with a change, which llguidance 1.9 would drop.
"""
CHAIN = """
$part::_: "$r" after_$part::bit_or(spent $r, seen) %if and($readable, bit_set(moved $r))
    | "$r" after_$part::bit_or(spent $r) %if and(and($readable, bit_clear(moved $r)), $may_wait)
    | "$constant" after_$part::_ %if $may_wait
"""
"""A register of a part of a term; where it is the last that can be named, it holds a move, or one
before it did."""

FACTS = (
    *(f"{fact} {name}" for fact in ("set", "spent", "moved") for name in STRINGS),
    *(f"moved {player}" for player in syn.PLAYERS),
    *("seen", "paid"),
    *(f"{event} {flag}" for event in ("placed", "taken") for flag in syn.FLAGS),
)
"""Registers that were set, are spent, or hold a move; players who moved; a term that names a move;
a main player that was paid; flags placed and jumped to. A bit each, from the lowest on."""
COUNTED = 64
"""Most lines of a text, and items of a line or of a part of a term. The numbers of those before the
present ones follow the facts, six bits each: together they fill the 64 bits."""
LINES, ITEMS = (f"[{bit}:{bit + 6}]" for bit in (len(FACTS), len(FACTS) + 6))
NEVER = "not(true)"
assert len(FACTS) + 12 <= 64
assert syn.MAX_LINES <= COUNTED


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
    language, last_line = DIALECTS[dialect], settings.max_lines - 1
    room_for_one = f"or(bit_set(paid), lt({LINES}, {last_line}))"
    room_for_two = f"or(bit_set(paid), lt({LINES}, {last_line - 1}))"
    no_items = (1 << len(FACTS) + 6) - 1
    values = {
        "main": main,
        "lines": LINES,
        "items": ITEMS,
        "last_line": last_line,
        "room": f"or(and(bit_set(moved {main}), {room_for_one}), {room_for_two})",
        "room_for_one": room_for_one,
        "can_read": _can_read(1, constants),
        "can_read_two": _can_read(2, constants),
        "readable": "and(bit_set(set $r), bit_clear(spent $r))",
        "is_open": "and(bit_set(placed $flag), bit_clear(taken $flag))",
        "someone_moved": f"ne({_range(f'moved {syn.PLAYERS[0]}', len(syn.PLAYERS))}, 0)",
        "is_old": "bit_set(set $r)" if language.parallel_assign else "true",
        "is_new": "bit_clear(set $r)" if language.parallel_assign else NEVER,
        "no_items": hex(no_items),
        "line_end": hex(no_items & ~_mask(f"spent {name}" for name in STRINGS)),
        "after_pay": r'"\n\n"?' if settings.ends_at_reward else "next::bit_or(paid)",
        "in_order": "bit_clear(placed flag_2)" if language.flag_order else "true",
        "story_argument": "(/[1-9][0-9]?/ | LITERAL)?" if language.story_arguments else '""',
        "loops": "true" if settings.loops else NEVER,
        "truths": "true" if settings.truths else NEVER,
        "limits": "|".join(map(str, range(1, settings.max_move_tokens + 1))),
        # two loops inside each other stay within MAX_STEPS
        "times": "|".join(map(str, range(1, isqrt(syn.MAX_STEPS // settings.max_lines)))),
        "literal": LITERAL,
        "more_targets": TARGETS - 1,
        "more_terms": min(settings.max_terms, syn.MAX_LINE_CHARACTERS) - 1,
        "more_joined": min(settings.max_joined, COUNTED) - 1,
        "more_beside": BESIDE - 1,
    }
    others = [player for player in dict.fromkeys(settings.players) if player != main]
    partner = syn.PARTNERS.get(main, "")
    unpaid = {partner, *(() if language.env_rewarded else ("env",))}
    each: dict[str, Iterable[str]] = {
        "r": STRINGS,
        "constant": constants,
        "other": others,
        "earner": [player for player in others if player not in unpaid],
        "partner": [player for player in others if player == partner],
        "informed": [player for player in settings.players if player not in syn.OMNISCIENT],
        "flag": syn.FLAGS,
    }
    rules = [RULES]
    for part in ("any", "compared", "prefix", "outer"):
        more = f"or(bit_set(seen), lt({ITEMS}, {BESIDE - 1}))" if part == "outer" else "true"
        rules.append(CHAIN.replace("$part", part).replace("$may_wait", more))
    forms = Template("".join(rules)).safe_substitute(values).splitlines()
    for name, choices in each.items():
        forms = [new for form in forms for new in _for_each(form, f"${name}", choices)]
    text = "\n".join(forms).replace(f"({syn.MAIN_PLAYER}, ", "(")  # whose name is left out
    text = re.sub(r" \([^()]*\)\{0,0\}", "", text)  # llguidance has no repetition of 0 times
    return re.sub(r"(bit_set|bit_clear|bit_or)\((.*?)\)", _with_bits, text)


def _for_each(form: str, name: str, choices: Iterable[str]) -> list[str]:
    """A form with each of the choices in place of a name; one that never holds if there is none."""
    if name not in form:
        return [form]
    [head] = re.findall(r"^(?:\S+:|    \|) ", form)
    rest = form.removeprefix(head)
    forms = [rest.replace(name, choice) for choice in choices] or [f'"-" %if {NEVER}']
    return [head + forms[0], *(f"    | {other}" for other in forms[1:])]


def _with_bits(call: re.Match[str]) -> str:
    """A condition or a change with the bits of the facts that it names."""
    facts = call[2].split(", ")
    return f"{call[1]}({hex(_mask(facts)) if call[1] == 'bit_or' else FACTS.index(*facts)})"


def _mask(facts: Iterable[str]) -> int:
    return sum(1 << FACTS.index(fact) for fact in facts)


def _range(first: str, length: int) -> str:
    """The bits of a fact and those that follow it."""
    return f"[{FACTS.index(first)}:{FACTS.index(first) + length}]"


def _can_read(least: int, constants: Sequence[str]) -> str:
    """At least so many string registers can be read.

    The bits can be counted but not subtracted: for some number n at least n + ``least`` are set
    and at most n spent, and every spent register is set.
    """
    if len(constants) >= least:
        return "true"
    set_range, spent_range = (_range(f"{x} {STRINGS[0]}", len(STRINGS)) for x in ("set", "spent"))
    cases = (
        f"and(bit_count_ge({set_range}, {n + least}), bit_count_le({spent_range}, {n}))"
        for n in range(len(STRINGS) - least + 1)
    )
    return reduce("or({}, {})".format, cases)
