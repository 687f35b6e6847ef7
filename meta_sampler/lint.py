"""Lint warnings: signs, found without playing, that a valid program is degenerate.

Each rule is a function that says whether a program's symbolic play breaks it; its warning is what
archives and samplers are given.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

from meta_sampler import symbolic as sym
from meta_sampler.symbolic import LinearForm, Part, String, SymbolicPlay, string_of
from xgl.analysis.static_facts import paid_for
from xgl.errors import FlagMissingError, FlowError
from xgl.language import syntax as syn
from xgl.language.control_flow import unrolled
from xgl.language.visitors import find, of_type, reads, stores, writes

Rule = Callable[[SymbolicPlay], bool]
RULES: dict[str, str] = {}
"""The warning of each rule, by the rule's name."""
_BROKEN: dict[str, Rule] = {}
"""Whether a play breaks the rule, by its warning."""


def _rule(warning: str) -> Callable[[Rule], Rule]:
    def enter(rule: Rule) -> Rule:
        RULES[rule.__name__], _BROKEN[warning] = warning, rule
        return rule

    return enter


@lru_cache(maxsize=4096)
def lint_warnings(program: syn.Program) -> frozenset[str]:
    """The warnings of the rules that a program breaks; empty for a sensible one. A program that
    cannot be played symbolically has one warning, which says why."""
    play = SymbolicPlay(program)
    try:
        return frozenset(warning for warning, rule in _BROKEN.items() if rule(play))
    except sym.TooLongError:
        return frozenset({RULES["long_string"]})
    except FlagMissingError:
        return frozenset({RULES["unpaired_flag"]})
    except FlowError:
        return frozenset({RULES["flag_order"]})


# -- scores ----------------------------------------------------------------------------------------


@_rule("a term is always zero")
def zero_term(play: SymbolicPlay) -> bool:
    """xed and dex without a prefix, and scores of the empty string, are 0 on every map."""
    forms = [score.form.terms for score in play.scores]
    return any(not form or not all(key.target for key, _ in form) for form in forms)


@_rule("a string is scored against itself")
def scored_against_itself(play: SymbolicPlay) -> bool:
    """Target and prefix share a text, so the score is about copying."""
    return any(overlap(score.target, score.outer + score.prefix) for score in play.scores)


@_rule("a string stands beside itself in a prefix")
def repeated_context(play: SymbolicPlay) -> bool:
    return any(
        overlap(score.outer, score.prefix)
        or any(overlap((part,), score.prefix[:i]) for i, part in enumerate(score.prefix))
        for score in play.scores
    )


@_rule("a cut at a mark that hardly occurs")
def rare_mark(play: SymbolicPlay) -> bool:
    """A cut at nothing, or at a story, which no other text holds."""
    cuts = [(cut, e.registers) for e in play.events for cut in find(e.line, syn.Cut)]
    marks = [string_of(cut.mark, registers) for cut, registers in cuts]
    return any(not mark or any(isinstance(p, sym.StoryText) for p in mark) for mark in marks)


def overlap(one: String, other: String) -> bool:
    """Whether some piece of text stands in both strings."""
    pieces = list(_pieces(other))
    return any(_share_text(a, b) for a in _pieces(one) for b in pieces)


Piece = tuple[Part, tuple[tuple[str, String], ...]]
"""A story, move, constant or function value, and the cuts (side, mark) made from it."""


def _pieces(string: String) -> Iterator[Piece]:
    for part in string:
        if isinstance(part, sym.CutText):
            cut = (part.side, part.mark)
            yield from ((source, (*cuts, cut)) for source, cuts in _pieces(part.whole))
        elif not isinstance(part, sym.LiteralText):
            yield part, ()


def _share_text(a: Piece, b: Piece) -> bool:
    """Pieces of one source share text unless they are the two sides of one cut."""
    if a[0] != b[0]:
        return False
    first = next(((c, d) for c, d in zip(a[1], b[1], strict=False) if c != d), None)
    return first is None or first[0][1] != first[1][1]


# -- conditions ------------------------------------------------------------------------------------


@_rule("a statement about a string and itself")
def reflexive_statement(play: SymbolicPlay) -> bool:
    names = [reads(demand.node) for demand in play.demands if isinstance(demand.node, syn.Truth)]
    return any(len(set(group)) < len(group) for group in names)


@_rule("a condition that always or never holds")
def decided_condition(play: SymbolicPlay) -> bool:
    """Signs alone decide a comparison: cross-entropies are never negative."""
    pairs = ((e.subject, e.node) for e in play.demands if isinstance(e.node, syn.Comparison))
    return any(_is_constant(form, node.comparator) for form, node in pairs)


def _is_constant(form: Any, comparator: str) -> bool:
    counts = [count for key, count in form.terms if key != sym.BIT]
    if not counts or comparator in ("==", "!="):
        return not counts
    if not form.bits and comparator not in ((">=", "<") if min(counts) > 0 else ("<=", ">")):
        return False  # it may be 0
    never_negative = all(count > 0 for count in counts) and form.bits >= 0
    never_positive = all(count < 0 for count in counts) and form.bits <= 0
    return never_negative or never_positive


@_rule("a condition that the last move cannot change")
def fixed_condition(play: SymbolicPlay) -> bool:
    """Only the last move is made again where a condition fails."""
    return any(demand.last_turn not in sym.turns_in(*demand.strings) for demand in play.demands)


@_rule("a condition stands twice")
def repeated_condition(play: SymbolicPlay) -> bool:
    subjects = [demand.subject for demand in play.demands]
    return len(set(subjects)) < len(subjects)


@_rule("a condition asks for what is paid anyway")
def paid_condition(play: SymbolicPlay) -> bool:
    """A demand that some sum be large adds nothing to a reward of the same sum."""
    totals = {payment.total for payment in play.payments}
    for event, ensure in play.executed_lines(syn.Ensure):
        for condition in ensure.conditions:
            if isinstance(condition, syn.Comparison):
                form = sym.difference(condition, event.registers)
                large = -form if condition.comparator in ("<", "<=") else form
                if large.where(lambda key: key != sym.BIT) in totals:
                    return True
    return False


# -- rewards ---------------------------------------------------------------------------------------


@_rule("a reward term that no move can change")
def fixed_term(play: SymbolicPlay) -> bool:
    """A term that depends on no move is a constant of the map."""
    forms = [form.terms for payment in play.payments for form in payment.terms]
    return any(not any(key.turns for key, _ in form) for form in forms)


def _terms_of_players(play: SymbolicPlay) -> list[list[LinearForm]]:
    """All terms that a player is paid in a play, in order, for each player."""
    terms = defaultdict[str, list[LinearForm]](list)
    for payment in play.payments:
        terms[payment.player] += payment.terms
    return list(terms.values())


@_rule("two reward terms cancel")
def cancelling_terms(play: SymbolicPlay) -> bool:
    return any(
        form in {-other for other in terms[:index]}
        for terms in _terms_of_players(play)
        for index, form in enumerate(terms)
    )


@_rule("a term is paid more than twice")
def repeated_term(play: SymbolicPlay) -> bool:
    return any(max(Counter(terms).values(), default=0) > 2 for terms in _terms_of_players(play))


@_rule("a player is paid for repeating itself")
def paid_repetition(play: SymbolicPlay) -> bool:
    """Texts of one player that are likely after its own earn, whatever the map is."""
    for key, count in chain(*(payment.total.terms for payment in play.payments)):
        players = {play.movers[turn] for turn in key.turns}
        alone = len(players) == 1 and sym.turns_in(key.context)
        if count < 0 and alone and not key.map_parts:
            return True
    return False


@_rule("gibberish is paid for")
def paid_gibberish(play: SymbolicPlay) -> bool:
    """The surprise of a text that holds nothing of the map is paid: any noise earns it."""
    for payment in play.payments:
        surprise: dict[String, float] = {}
        for key, count in payment.total.terms:
            surprise[key.target] = surprise.get(key.target, 0) + count
        if any(count > 0 and not sym.map_parts(target) for target, count in surprise.items()):
            return True
        partner = syn.PARTNERS.get(payment.player)  # who gains what this one pays
        for target in (t for t, n in surprise.items() if n < 0 and not sym.map_parts(t)):
            if {play.movers[turn] for turn in sym.turns_in(target)} == {partner}:
                return True
    return False


@_rule("a failed condition pays again")
def paid_failure(play: SymbolicPlay) -> bool:
    """Back at the move, what was paid behind it stays paid: a player could earn it ten times more
    by failing."""
    mover, may_earn = "", False
    for event in play.events:
        match event.line:
            case syn.Elicit(player):
                mover, may_earn = player, False
            case syn.Reward(player, amount):
                sign, form = paid_for(mover).get(player, 0), sym.sum_form(amount, event.registers)
                may_earn |= any(sign * coefficient > 0 for _, coefficient in form.terms)
            case syn.Ensure() if may_earn:
                return True
    return False


@_rule("no reward ties a move to the map")
def no_map(play: SymbolicPlay) -> bool:
    """No quantity of a reward depends on both a move and a story or constant."""
    return not any(key.map_parts for key in play.rewarded_quantities)


@_rule("a move is scored on stories drawn later only")
def late_stories(play: SymbolicPlay) -> bool:
    """Nothing that the mover could see decides the score. A story drawn later is allowed if another
    one is in view: the unseen rival cancels what any text would earn."""
    first_turns: dict[Part, int] = {}
    for event in play.events:
        for part in chain(*map(sym.all_parts, event.registers.values())):
            first_turns.setdefault(part, event.turn)
    for key in play.rewarded_quantities:  # all its stories after all its moves; one at least
        turns = [first_turns[part] for part in key.map_parts if isinstance(part, sym.StoryText)]
        if not turns or min(turns) <= max(key.turns):
            return False
    return bool(play.rewarded_quantities)


@_rule("a move that is neither rewarded nor shown")
def unused_move(play: SymbolicPlay) -> bool:
    """It also binds no other player's move by a condition, and none moves while it is in view."""
    used_turns = set(chain(*(key.turns for key in play.rewarded_quantities)))
    for event, reveal in play.executed_lines(syn.Reveal):
        used_turns |= sym.turns_in(*(string_of(value, event.registers) for value in reveal.values))
    for event, elicit in play.executed_lines(syn.Elicit):
        seen = sym.turns_in(*event.view(elicit.player))
        used_turns |= {turn for turn in seen if play.movers[turn] != elicit.player}
    for event, ensure in play.executed_lines(syn.Ensure):
        mover = play.movers[event.turn - 1] if event.turn else ""
        strings = (event.registers.get(name, ()) for name in reads(ensure))
        used_turns |= {turn for turn in sym.turns_in(*strings) if play.movers[turn] != mover}
    return len(used_turns) < len(play.movers) and not sym.holds_registers(play.program)


# -- lines -----------------------------------------------------------------------------------------


@_rule("a stored value is never used")
def unused_value(play: SymbolicPlay) -> bool:
    """No iteration reads it; what another's later move may be about is allowed: a story in view, or
    a move."""
    lines = play.program.instructions
    movers = {position: line.player for position, line in of_type(lines, syn.Elicit)}
    holder: dict[str, tuple[int, str]] = {}
    unread = {(i, name) for i, line in enumerate(lines) for name in writes(line)}

    def note(node: Any) -> None:
        unread.difference_update(map(holder.get, reads(node)))

    for event in play.events:
        line = event.line
        if isinstance(line, syn.Elicit):
            seen = {at for name, at in holder.items() if event.sees(line.player, name)}
            if line.player in syn.OMNISCIENT:  # who saw what a text was made of
                seen = {at for at in seen if movers.get(at[0], line.player) != line.player}
            unread -= seen
        for name, _ in stores(line, play.program.dialect, note):
            holder[name] = (event.position, name)
    return bool(unread - _distractors(lines))


def _distractors(lines: tuple[syn.Instruction, ...]) -> set[tuple[int, str]]:
    """Stories in view of a later move: if unread, texts that the move must not be about."""
    moves = [(position, line.player) for position, line in of_type(lines, syn.Elicit)]
    everything = max((i for i, player in moves if player in syn.OMNISCIENT), default=-1)
    public = max((i for i, _ in moves), default=-1)
    return {
        (position, name)
        for position, line in of_type(lines, syn.Assign)
        for name, value in line.targets
        if isinstance(value, syn.Story)
        and position < (public if name[0] in syn.PUBLIC_TYPES else everything)
    }


@_rule("a flag without its beacon or its replay")
def unpaired_flag(play: SymbolicPlay) -> bool:
    """Also the warning of a program that jumps to a flag that was never placed."""
    beacons, replays = play.lines(syn.Beacon), play.lines(syn.Replay)
    return {line.flag for line in beacons} != {line.flag for line in replays}


@_rule("a loop without a move")
def empty_loop(play: SymbolicPlay) -> bool:
    for position, replay in of_type(play.program.instructions, syn.Replay):
        before = play.program.instructions[:position]
        beacons = (at for at, beacon in of_type(before, syn.Beacon) if beacon.flag == replay.flag)
        if replay.times == 0 or not of_type(before[max(beacons, default=0) :], syn.Elicit):
            return True
    return False


@_rule("two values for one register")
def double_value(play: SymbolicPlay) -> bool:
    return any(len(dict(line.targets)) < len(line.targets) for line in play.lines(syn.Assign))


@_rule("two moves for one register")
def double_move(play: SymbolicPlay) -> bool:
    return any(len({*line.registers}) < len(line.registers) for line in play.lines(syn.Elicit))


@_rule("an assignment that only copies")
def copied_register(play: SymbolicPlay) -> bool:
    values = (value for line in play.lines(syn.Assign) for _, value in line.targets)
    return any(isinstance(value, syn.Register) for value in values)


@_rule("a reward to someone who makes no move")
def idle_earner(play: SymbolicPlay) -> bool:
    return any(line.player not in play.cast for line in play.lines(syn.Reward))


@_rule("a reveal that informs nobody")
def idle_reveal(play: SymbolicPlay) -> bool:
    """It goes to a player who sees everything, or who makes no move afterwards."""
    lines, later, useful = play.program.instructions, set[str](), set[int]()
    for position in reversed(unrolled(play.program)[0]):
        line = lines[position]
        if isinstance(line, syn.Elicit):
            later.add(line.player)
        elif isinstance(line, syn.Reveal) and line.player in later - set(syn.OMNISCIENT):
            useful.add(position)
    return any(position not in useful for position, _ in of_type(lines, syn.Reveal))


@_rule("a player who earns nothing")
def unpaid_player(play: SymbolicPlay) -> bool:
    """Black and white earn together; env earns nothing anyway."""
    earning = {line.player for line in play.lines(syn.Reward)} | {"env"}
    pair = {"black", "white"}
    return bool(play.cast - earning - (pair if earning & pair else set()))


@_rule("a move by someone who knows nothing")
def blind_move(play: SymbolicPlay) -> bool:
    """A player moves who sees no register and was shown nothing."""
    knowing = set(syn.OMNISCIENT)
    for line in play.program.instructions:
        if any(name[0] in syn.PUBLIC_TYPES for name in writes(line)):
            knowing |= play.cast
        if isinstance(line, syn.Reveal):
            knowing.add(line.player)
        if isinstance(line, syn.Elicit) and line.player not in knowing:
            return True
    return False


# Symbolic play stops at a string of more than ``MAX_SIZE`` parts, and at flag_1 behind flag_2.
RULES |= {"long_string": "a string grows too long", "flag_order": "flags in the wrong order"}
