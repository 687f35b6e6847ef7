"""A program's rules in plain English, a sentence for each instruction, in their order.

For readers who do not know XGL; the program itself is binding. Sentences hold texts of the program
unescaped: code that shows a sentence must escape it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xgl.analysis.static_facts import analyse
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.model_names import split_name
from xgl.language.unparse import expression_text
from xgl.language.visitors import find, joined_parts

_COMPARATOR_WORDS = {
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
    """One sentence for each instruction; ``role`` is called the player if it is the only one.

    >>> import xgl
    >>> source = "assign(s=story())\\nelicit(t, 8)\\nreward(xed(s | t))"
    >>> for sentence in in_words(xgl.game(xgl.parse(source, "xent"))):
    ...     print(sentence)
    A story s is drawn.
    The player, who sees s, writes t, at most 8 tokens.
    The player is paid the bits that t saves on s.
    """
    movers = {line.player for line in find(game.program, syn.Elicit)}
    names = {role: "the player"} if movers <= {role} else {}
    return tuple(_Writer(game, names).sentences())


class _Writer:
    def __init__(self, game: Game, names: dict[str, str]) -> None:
        self.game, self.names = game, names
        self.mover = names.get(syn.MAIN_PLAYER, syn.MAIN_PLAYER)
        self.elicits = {facts.line: facts for facts in reversed(analyse(game.program).elicits)}

    def sentences(self) -> Iterator[str]:
        for number, line in enumerate(self.game.program.instructions, start=1):
            clause = self._clause(line, number)
            yield f"{clause[:1].upper()}{clause[1:]}."

    def _player(self, name: str) -> str:
        return self.names.get(name, name)

    def _seeing(self, number: int) -> str:
        """A clause with the registers that the player sees when the line first asks it."""
        facts = self.elicits.get(number)
        return f", who sees {_list_text(facts.sees)}," if facts and facts.sees else ""

    def _again(self) -> str:
        """Where failures are counted: at a line, or in the whole game."""
        by_line = DIALECTS[self.game.program.dialect].failures_per_line
        return "at this line" if by_line else "in the whole game"

    def _clause(self, line: syn.Instruction, number: int) -> str:
        match line:
            case syn.Assign(targets):
                return _assignment(targets)
            case syn.Elicit(player, registers, limit):
                self.mover = self._player(player)
                tokens = self.game.metadata.max_len if limit is None else limit
                suffix = " each" if len(registers) > 1 else ""
                room = f"at most {_count(tokens, 'token')}{suffix}"
                return f"{self.mover}{self._seeing(number)} writes {_list_text(registers)}, {room}"
            case syn.Ensure(conditions):
                rules = _list_text([condition_in_words(condition) for condition in conditions])
                often = f"{self._again()} {_count(self.game.metadata.max_failures, 'time')} at most"
                return f"it must hold that {rules}; or {self.mover} has to try again, {often}"
            case syn.Reward(player, amount):
                return f"{self._player(player)} is paid {sum_in_words(amount)}"
            case syn.Reveal(player, values):
                texts = _list_text([_noun_phrase(value) for value in values])
                return f"{self._player(player)} is shown {texts}"
            case syn.Beacon(flag):
                return f"this place is called {flag}"
            case syn.Replay(flag, times):
                return f"the game goes back to {flag}, {_count(times, 'time')} in all"


def _assignment(targets: Sequence[tuple[str, object]]) -> str:
    """A clause for an assign: its stories together, everything else one by one."""
    stories = [name for name, value in targets if value == syn.Story()]
    parts = []
    if len(stories) == 1:
        parts.append(f"a story {stories[0]} is drawn")
    elif stories:
        parts.append(f"{_number(len(stories))} stories, {_list_text(stories)}, are drawn")
    for name, value in targets:
        if value != syn.Story():
            parts.append(f"let {name} be {_noun_phrase(value)}")
    return "; ".join(parts)


def sum_in_words(amount: syn.Sum) -> str:
    """A signed sum of xents, as an amount of bits; nex is xent with its sign turned."""
    text = ""
    for index, (sign, term) in enumerate(amount.terms):
        effective_sign = -sign if isinstance(term, syn.Xent) and term.kind == "nex" else sign
        joint = ("minus " if effective_sign < 0 else "") if index == 0 else _JOINTS[effective_sign]
        text += joint + _term(term)
    return text


def _term(term: syn.Term) -> str:
    match term:
        case syn.Xent():
            return _xent(term)
        case syn.Number(value):
            return f"{value:g}"
        case _:
            return _noun_phrase(term)


def _xent(xent: syn.Xent) -> str:
    text = _noun_phrase(xent.target)
    model, outer = split_name(xent.outer)
    before = "" if outer is None else f" (all read after {_noun_phrase(outer)})"
    before = f" for the model {model}{before}" if model else before
    prefix = "" if xent.prefix is None else _noun_phrase(xent.prefix)
    if xent.kind in ("xed", "dex"):
        does = "saves" if xent.kind == "xed" else "costs"
        return f"the bits that {prefix or 'its own prefix'} {does} on {text}{before}"
    after = f" after {prefix}" if prefix else ""
    return f"the surprise of {text}{after}{before}"


def condition_in_words(condition: syn.Condition) -> str:
    """A condition as a clause."""
    match condition:
        case syn.Comparison(
            syn.Sum(((1, syn.Function("len", (syn.Function("common_word_set", (one, other)),))),)),
            "==",
            syn.Sum(((1, syn.Number(0)),)),
        ):
            return f"{_noun_phrase(one)} and {_noun_phrase(other)} have no word in common"
        case syn.Comparison(left, comparator, right):
            sides = sum_in_words(left), sum_in_words(right)
            return f"{sides[0]} {_are(left)} {_COMPARATOR_WORDS[comparator]} {sides[1]}"
        case syn.Test(left, comparator, right):
            return f"{_noun_phrase(left)} is {_COMPARATOR_WORDS[comparator]} {_noun_phrase(right)}"
        case syn.Truth(statement, params, expected):
            verdict = "true" if expected else "false"
            params_text = f" (with {_list_text(list(map(_noun_phrase, params)))})" if params else ""
            return f"the judge finds “{_statement(statement)}”{params_text} {verdict}"
        case syn.Logic("not", (only,)):
            return f"it is not so that {condition_in_words(only)}"
        case syn.Logic(word, conditions):
            return f" {word} ".join(condition_in_words(part) for part in conditions)
        case _:
            return f"{_noun_phrase(condition)} holds"


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
            return _noun_phrase(node)


def _noun_phrase(node: object) -> str:
    """A string, a list or a call as a noun phrase."""
    match node:
        case syn.Literal(value):
            return f"“{value}”" if value else "the empty text"
        case syn.Register(name):
            return name
        case syn.Cat() | syn.Chain():
            return f"the join of {_list_text([_noun_phrase(part) for part in joined_parts(node)])}"
        case syn.Cut(text, mark, side):
            part = "before" if side == "before" else "after"
            return f"what stands in {_noun_phrase(text)} {part} {_noun_phrase(mark)}"
        case syn.Story(tokens, prompt):
            length = f" of {_count(tokens, 'token')}" if tokens else ""
            return f"a story{length}" + (f" that goes on from “{prompt}”" if prompt else "")
        case syn.Given(text, prefix):
            return f"{_noun_phrase(text)}, read after {_noun_phrase(prefix)}"
        case syn.ListOf(items):
            return (
                f"the list of {_list_text(list(map(_noun_phrase, items)))}"
                if items
                else "an empty list"
            )
        case _:
            return expression_text(node)


def _list_text(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _number(count: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[count] if count < len(words) else str(count)
