"""A program's rules in plain English, a sentence for each instruction, in their order.

For readers who do not know XGL; the program itself is what counts. Texts are the program's own:
whoever shows a sentence escapes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xgl.analysis.static_facts import analyse
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text

_COMPARED = {
    "<": "less than",
    "<=": "at most",
    ">": "more than",
    ">=": "at least",
    "==": "equal to",
    "!=": "other than",
    "in": "found in",
    "not in": "not found in",
}

_JOINTS = {1: ", plus ", -1: ", minus "}


def in_words(game: Game, role: str = syn.MAIN_PLAYER) -> tuple[str, ...]:
    """One sentence for each instruction; ``role`` is called the player where it plays alone.

    >>> import xgl
    >>> source = "assign(s=story())\\nelicit(t, 8)\\nreward(xed(s | t))"
    >>> for said in in_words(xgl.game(xgl.parse(source, "xent"))):
    ...     print(said)
    A story s is drawn.
    The player, who sees s, writes t, at most 8 tokens.
    The player is paid the bits that t saves on s.
    """
    asked = {line.player for line in game.program.instructions if isinstance(line, syn.Elicit)}
    names = {role: "the player"} if asked <= {role} else {}
    return tuple(_Writer(game, names).sentences())


class _Writer:
    def __init__(self, game: Game, names: dict[str, str]) -> None:
        self.game, self.names = game, names
        self.mover = names.get(syn.MAIN_PLAYER, syn.MAIN_PLAYER)
        self.elicits = {each.line: each for each in reversed(analyse(game.program).elicits)}

    def sentences(self) -> Iterator[str]:
        for place, line in enumerate(self.game.program.instructions, start=1):
            said = self._clause(line, place)
            yield f"{said[:1].upper()}{said[1:]}."

    def _player(self, name: str) -> str:
        return self.names.get(name, name)

    def _seeing(self, place: int) -> str:
        """What the player has been shown when the line asks it first."""
        known = self.elicits.get(place)
        return f", who sees {_listed(known.sees)}," if known and known.sees else ""

    def _again(self) -> str:
        """Failures count for a line, or for the whole game."""
        by_line = DIALECTS[self.game.program.dialect].failures_per_line
        return "at this line" if by_line else "in the whole game"

    def _clause(self, line: syn.Instruction, place: int) -> str:
        match line:
            case syn.Assign(targets):
                return _assigned(targets)
            case syn.Elicit(player, registers, limit):
                self.mover = self._player(player)
                tokens = self.game.metadata.max_len if limit is None else limit
                each = " each" if len(registers) > 1 else ""
                room = f"at most {_count(tokens, 'token')}{each}"
                return f"{self.mover}{self._seeing(place)} writes {_listed(registers)}, {room}"
            case syn.Ensure(conditions):
                rules = _listed([condition_in_words(condition) for condition in conditions])
                often = f"{self._again()} {_count(self.game.metadata.max_failures, 'time')} at most"
                return f"it must hold that {rules}; or {self.mover} has to try again, {often}"
            case syn.Reward(player, amount):
                return f"{self._player(player)} is paid {sum_in_words(amount)}"
            case syn.Reveal(player, values):
                return f"{self._player(player)} is shown {_listed(list(map(_named, values)))}"
            case syn.Beacon(flag):
                return f"this place is called {flag}"
            case syn.Replay(flag, times):
                return f"the game goes back to {flag}, {_count(times, 'time')} in all"


def _assigned(targets: Sequence[tuple[str, object]]) -> str:
    """Stories of one line together, everything else one by one."""
    drawn = [name for name, value in targets if value == syn.Story()]
    parts = []
    if len(drawn) == 1:
        parts.append(f"a story {drawn[0]} is drawn")
    elif drawn:
        parts.append(f"{_number(len(drawn))} stories, {_listed(drawn)}, are drawn")
    for name, value in targets:
        if value != syn.Story():
            parts.append(f"let {name} be {_named(value)}")
    return "; ".join(parts)


def sum_in_words(amount: syn.Sum) -> str:
    """A signed sum of xents, as an amount of bits; nex is xent with its sign turned."""
    said = ""
    for place, (sign, term) in enumerate(amount.terms):
        turned = -sign if isinstance(term, syn.Xent) and term.kind == "nex" else sign
        joint = ("minus " if turned < 0 else "") if place == 0 else _JOINTS[turned]
        said += joint + _term(term)
    return said


def _term(term: syn.Term) -> str:
    match term:
        case syn.Xent():
            return _xent(term)
        case syn.Number(value):
            return f"{value:g}"
        case _:
            return _named(term)


def _xent(xent: syn.Xent) -> str:
    text = _named(xent.target)
    before = "" if xent.outer is None else f" (all read after {_named(xent.outer)})"
    given = "" if xent.prefix is None else _named(xent.prefix)
    if xent.kind in ("xed", "dex"):
        does = "saves" if xent.kind == "xed" else "costs"
        return f"the bits that {given or 'its own prefix'} {does} on {text}{before}"
    after = f" after {given}" if given else ""
    return f"the surprise of {text}{after}{before}"


def condition_in_words(condition: syn.Condition) -> str:
    """A condition as a clause."""
    match condition:
        case syn.Comparison(
            syn.Sum(((1, syn.Function("len", (syn.Function("common_word_set", (one, other)),))),)),
            "==",
            syn.Sum(((1, syn.Number(0)),)),
        ):
            return f"{_named(one)} and {_named(other)} have no word in common"
        case syn.Comparison(left, comparator, right):
            sides = sum_in_words(left), sum_in_words(right)
            return f"{sides[0]} {_are(left)} {_COMPARED[comparator]} {sides[1]}"
        case syn.Test(left, comparator, right):
            return f"{_named(left)} is {_COMPARED[comparator]} {_named(right)}"
        case syn.Truth(statement, params, expected):
            judged = "true" if expected else "false"
            given = f" (with {_listed(list(map(_named, params)))})" if params else ""
            return f"the judge finds “{_statement(statement)}”{given} {judged}"
        case syn.Logic("not", (only,)):
            return f"it is not so that {condition_in_words(only)}"
        case syn.Logic(word, conditions):
            return f" {word} ".join(condition_in_words(each) for each in conditions)
        case _:
            return f"{_named(condition)} holds"


def _are(amount: syn.Sum) -> str:
    _, first = amount.terms[0]
    plural = isinstance(first, syn.Xent) and first.kind in ("xed", "dex")
    if len(amount.terms) > 1:
        return "come to"
    return "are" if plural else "is"


def _statement(node: object) -> str:
    """A statement with its registers where they stand."""
    match node:
        case syn.Literal(value):
            return " ".join(value.split())
        case syn.Cat(left, right):
            return f"{_statement(left)} {_statement(right)}"
        case _:
            return _named(node)


def _named(node: object) -> str:
    """A string, a list or a call, as one would call it."""
    match node:
        case syn.Literal(value):
            return f"“{value}”" if value else "the empty text"
        case syn.Register(name):
            return name
        case syn.Cat() | syn.Chain():
            return f"the join of {_listed([_named(part) for part in _joined(node)])}"
        case syn.Cut(text, mark, side):
            part = "before" if side == "before" else "after"
            return f"what stands in {_named(text)} {part} {_named(mark)}"
        case syn.Story(tokens, prompt):
            length = f" of {_count(tokens, 'token')}" if tokens else ""
            return f"a story{length}" + (f" that goes on from “{prompt}”" if prompt else "")
        case syn.Given(text, prefix):
            return f"{_named(text)}, read after {_named(prefix)}"
        case syn.ListOf(items):
            return f"the list of {_listed(list(map(_named, items)))}" if items else "an empty list"
        case _:
            return expression_text(node)


def _joined(node: object) -> Iterator[object]:
    """The parts of a concatenation, from left to right."""
    if isinstance(node, syn.Cat | syn.Chain):
        yield from _joined(node.left)
        yield from _joined(node.right)
    else:
        yield node


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _number(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[count] if count < len(words) else str(count)
