"""Objections to a valid program: what a researcher would call silly, found without playing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from meta_sampler.screening import normal_form as mean
from meta_sampler.screening.normal_form import Event, Form, Part, Text
from xgl.errors import FlagMissingError, FlowError
from xgl.language import syntax as syn
from xgl.language.control_flow import path
from xgl.language.visitors import descendants, reads, writes

NO_BEACON = "a flag without its beacon or its replay"


@lru_cache(maxsize=4096)
def objections(program: syn.Program) -> frozenset[str]:
    """Kinds of silliness in a program; empty for a sensible one."""
    try:
        events = list(mean.play(program))
        of_play = (*_of_events(events), *_of_pay(events), *_of_map(events))
    except mean.TooLongError:
        return frozenset({"a string grows too long"})
    except FlagMissingError:
        return frozenset({NO_BEACON})
    except FlowError:
        return frozenset({"flags in the wrong order"})
    return frozenset([*of_play, *_of_lines(program), *_dead_values(program)])


# -- strings and sums ----------------------------------------------------------------------------


def _of_events(events: list[Event]) -> Iterator[str]:
    asked = -1
    demanded: set[str] = set()
    for event in events:
        for node in descendants(event.line):
            if isinstance(node, syn.Xent):
                yield from _of_term(node, event.registers)
            if isinstance(node, syn.Cut):
                yield from _of_cut(node, event.registers)
        match event.line:
            case syn.Elicit():
                asked = event.step
            case syn.Ensure(conditions):
                yield from _of_conditions(conditions, event.registers, asked, demanded)


def _of_term(term: syn.Xent, registers: dict[str, Text]) -> Iterator[str]:
    form = mean.term_form(1, term, registers)
    if not form or not all(target for target, _ in form):
        yield "a term is always zero"
    outer, prefix = mean.text(term.outer, registers), mean.text(term.prefix, registers)
    if overlap(mean.text(term.target, registers), outer + prefix):
        yield "a string is scored against itself"
    if overlap(outer, prefix) or _repeats(prefix):
        yield "a string stands beside itself in a prefix"


def _repeats(value: Text) -> bool:
    return any(overlap((part,), value[:i]) for i, part in enumerate(value))


def _of_cut(node: syn.Cut, registers: dict[str, Text]) -> Iterator[str]:
    mark = mean.text(node.mark, registers)
    if not mark or any(part[0] == "story" for part in mark):
        yield "a cut at a mark that hardly occurs"


def _opposite(a: Form, b: Form) -> bool:
    return a == Counter({key: -count for key, count in b.items()})


def _of_conditions(
    conditions: tuple[syn.Condition, ...],
    registers: dict[str, Text],
    asked: int,
    demanded: set[str],
) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, syn.Truth):
            names = list(reads(condition))
            values = mean.text(condition.statement, registers)
            values += tuple(p for v in condition.params for p in mean.text(v, registers))
            dependent = asked in mean.moves((values, ()))
            if len(set(names)) < len(names):
                yield "a statement about a string and itself"
            key = repr(values)
        elif isinstance(condition, syn.Logic):
            yield from _of_conditions(condition.conditions, registers, asked, demanded)
            continue
        elif isinstance(condition, syn.Test | syn.Function):
            found = mean.strings(condition, registers)
            dependent = any(asked in mean.moves((value, ())) for value in found[-2:])
            key = repr(found)
        else:
            form = mean.difference(condition, registers)
            dependent = any(asked in mean.moves(k) for k in form)
            if _decided(form, condition.comparator):
                yield "a condition that always or never holds"
            key = repr(sorted(form.items(), key=repr))
        if not dependent:
            yield "a condition that the last move cannot change"
        if key in demanded:
            yield "a condition stands twice"
        demanded.add(key)


def _decided(form: Form, comparator: str) -> bool:
    """Whether signs alone decide ``form comparator 0``: cross-entropies are never negative."""
    if comparator in ("==", "!="):
        return not any(key != mean.BITS for key in form)
    bits = form.get(mean.BITS, 0)
    counts = [count for key, count in form.items() if key != mean.BITS]
    never_negative = all(c > 0 for c in counts) and bits >= 0
    never_positive = all(c < 0 for c in counts) and bits <= 0
    return never_negative or never_positive or not counts


def overlap(one: Text, other: Text) -> bool:
    """Whether some piece of text stands in both strings."""
    return any(_meet(a, b) for a in _pieces(one) for b in _pieces(other))


def _pieces(value: Text) -> Iterator[tuple[Part, ...]]:
    """Each story, move or constant in a string, followed by the cuts made from it."""
    for part in value:
        if part[0] == "cut":
            yield from ((*piece, (part[1], part[3])) for piece in _pieces(part[2]))
        elif part[0] != "literal":
            yield (part,)


def _meet(a: tuple[Part, ...], b: tuple[Part, ...]) -> bool:
    """Pieces of one source meet unless they are the two sides of one cut."""
    if a[0] != b[0]:
        return False
    first = next(((c, d) for c, d in zip(a[1:], b[1:], strict=False) if c != d), None)
    return first is None or first[0][1] != first[1][1]


# -- what is paid --------------------------------------------------------------------------------


def _of_pay(events: list[Event]) -> Iterator[str]:
    """Rewards that cancel, that no move changes, or that a player earns without the map."""
    movers = {e.step: e.line.player for e in events if isinstance(e.line, syn.Elicit)}
    earned: dict[str, list[Form]] = {}
    for event in events:
        if isinstance(event.line, syn.Reward):
            terms = event.line.amount.terms
            forms = [mean.term_form(sign, term, event.registers) for sign, term in terms]
            yield from _of_terms(forms, earned.setdefault(event.line.player, []))
            earned[event.line.player] += forms
            yield from _of_sum(mean.sum_form(event.line.amount, event.registers), movers)
    yield from _of_demands(events)


def _of_terms(forms: list[Form], earlier: list[Form]) -> Iterator[str]:
    if any(not any(map(mean.moves, form)) for form in forms):
        yield "a reward term that no move can change"
    if any(_opposite(form, other) for i, form in enumerate(forms) for other in earlier + forms[:i]):
        yield "two reward terms cancel"
    if any((earlier + forms).count(form) > 2 for form in forms):
        yield "a term is paid more than twice"


def _of_sum(form: Form, movers: dict[int, str]) -> Iterator[str]:
    """Two ways to earn with no eye on the map: gibberish, and repeating oneself."""
    surprise: Counter[Text] = Counter()
    for (target, given), count in form.items():
        if not mean.stories((target, ())):
            surprise[target] += count
        voices = {movers[step] for step in mean.moves((target, given))}
        alone = given and len(voices) == 1 and mean.moves((given, ()))
        if count < 0 and alone and not mean.stories((target, given)):
            yield "a player is paid for repeating itself"
    if any(count > 0 for count in surprise.values()):
        yield "gibberish is paid for"


def _of_demands(events: list[Event]) -> Iterator[str]:
    """A demand that some sum be large says nothing beside a reward of that very sum."""
    paid = [
        mean.sum_form(event.line.amount, event.registers)
        for event in events
        if isinstance(event.line, syn.Reward)
    ]
    for event in events:
        for condition in event.line.conditions if isinstance(event.line, syn.Ensure) else ():
            if isinstance(condition, syn.Comparison):
                form = mean.difference(condition, event.registers)
                sign = -1 if condition.comparator in ("<", "<=") else 1
                asked = Counter({k: sign * c for k, c in form.items() if k != mean.BITS})
                if asked in paid:
                    yield "a condition asks for what is paid anyway"


# -- the program as a whole ----------------------------------------------------------------------


def _of_map(events: list[Event]) -> Iterator[str]:
    """Rewards should tie every move to the map, and moves be made with the map in view."""
    drawn = _first_draws(events)
    keys = _move_keys(events)
    if not any(mean.stories(key) for key in keys):
        yield "no reward ties a move to the map"
    if keys and all(_late(key, drawn) for key in keys):
        yield "a move is scored on stories drawn later only"
    told = {step for key in (*keys, *_shown(events)) for step in mean.moves(key)}
    told |= _hindering(events)
    if any(isinstance(e.line, syn.Elicit) and e.step not in told for e in events):
        yield "a move that is neither rewarded nor shown"


def _late(key: tuple[Text, Text], drawn: dict[int, int]) -> bool:
    """Whether all stories of a cross-entropy are drawn after all its moves; never without one.

    Beside a story in view one drawn later is fine: the rival that nobody saw takes away what any
    text would earn.
    """
    told = [drawn[part[1]] for part in mean.stories(key) if part[0] == "story"]
    return bool(told) and min(told) > max(mean.moves(key))


def _move_keys(events: list[Event]) -> dict[tuple[Text, Text], None]:
    """The cross-entropies in rewards that depend on a move."""
    return {
        key: None
        for event in events
        if isinstance(event.line, syn.Reward)
        for key in mean.sum_form(event.line.amount, event.registers)
        if mean.moves(key)
    }


def _shown(events: list[Event]) -> Iterator[tuple[Text, Text]]:
    for event in events:
        if isinstance(event.line, syn.Reveal):
            yield from ((mean.text(value, event.registers), ()) for value in event.line.values)


def _hindering(events: list[Event]) -> set[int]:
    """Steps of the moves that bind another player's move through a condition."""
    movers: dict[int, str] = {}
    binding: set[int] = set()
    last = ""
    for event in events:
        if isinstance(event.line, syn.Elicit):
            movers[event.step] = last = event.line.player
        if isinstance(event.line, syn.Ensure):
            values = tuple(p for n in reads(event.line) for p in event.registers.get(n, ()))
            steps = mean.moves((values, ()))
            binding |= {step for step in steps if movers[step] != last}
    return binding


def _first_draws(events: list[Event]) -> dict[int, int]:
    drawn: dict[int, int] = {}
    for event in events:
        for value in event.registers.values():
            for part in mean.parts(value):
                if part[0] == "story":
                    drawn.setdefault(part[1], event.step - 1)
    return drawn


def _of_lines(program: syn.Program) -> Iterator[str]:
    lines = program.instructions
    placed = {line.flag for line in lines if isinstance(line, syn.Beacon)}
    used = {line.flag for line in lines if isinstance(line, syn.Replay)}
    if placed != used:
        yield NO_BEACON
    cast = {line.player for line in lines if isinstance(line, syn.Elicit)}
    yield from _of_cast(lines, cast)
    for position, line in enumerate(lines):
        match line:
            case syn.Replay(flag, times):
                yield from _of_loop(lines[:position], flag, times)
            case syn.Assign(targets):
                if len(dict(targets)) < len(targets):
                    yield "two values for one register"
                if any(isinstance(value, syn.Register) for _, value in targets):
                    yield "an assignment that only copies"
            case syn.Elicit(_, registers, _) if len(set(registers)) < len(registers):
                yield "two moves for one register"
            case syn.Reward(player, _) if player not in cast:
                yield "a reward to someone who makes no move"
            case syn.Reveal(player, _):
                yield from _of_reveal(player, lines[position:])


def _of_cast(lines: tuple[syn.Instruction, ...], cast: set[str]) -> Iterator[str]:
    """Players should have something to earn, and to know when they move."""
    earning = {line.player for line in lines if isinstance(line, syn.Reward)} | {"env"}
    pair = {"black", "white"}
    if cast - earning - (pair if earning & pair else set()):
        yield "a player who earns nothing"
    knowing = set(syn.OMNISCIENT)
    for line in lines:
        if any(name[0] in syn.PUBLIC_TYPES for name in writes(line)):
            knowing |= cast
        if isinstance(line, syn.Reveal):
            knowing.add(line.player)
        if isinstance(line, syn.Elicit) and line.player not in knowing:
            yield "a move by someone who knows nothing"


def _of_loop(before: tuple[syn.Instruction, ...], flag: str, times: int) -> Iterator[str]:
    start = max((i for i, x in enumerate(before) if x == syn.Beacon(flag)), default=0)
    if times == 0 or not any(isinstance(line, syn.Elicit) for line in before[start:]):
        yield "a loop without a move"


def _of_reveal(player: str, after: tuple[syn.Instruction, ...]) -> Iterator[str]:
    asked = any(isinstance(line, syn.Elicit) and line.player == player for line in after)
    if player in syn.OMNISCIENT or not asked:
        yield "a reveal that informs nobody"


def _dead_values(program: syn.Program) -> Iterator[str]:
    """Values that are stored and never read, whatever the iteration; distractors apart."""
    holder: dict[str, tuple[int, str]] = {}
    unread = {(i, n) for i, line in enumerate(program.instructions) for n in writes(line)}
    for position in path(program):
        line = program.instructions[position]
        unread -= {holder[name] for name in reads(line) if name in holder}
        holder |= {name: (position, name) for name in writes(line)}
    if unread - _distractors(program.instructions):
        yield "a stored value is never used"


def _distractors(lines: tuple[syn.Instruction, ...]) -> set[tuple[int, str]]:
    """Stories in view of a later move: unread, they are what the move must not be about."""
    moves = [(i, line.player) for i, line in enumerate(lines) if isinstance(line, syn.Elicit)]
    everything = max((i for i, player in moves if player in syn.OMNISCIENT), default=-1)
    public = max((i for i, _ in moves), default=-1)
    return {
        (position, name)
        for position, line in enumerate(lines)
        if isinstance(line, syn.Assign)
        for name, value in line.targets
        if isinstance(value, syn.Story)
        and position < (public if name[0] in syn.PUBLIC_TYPES else everything)
    }
