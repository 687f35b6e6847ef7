"""A program's rules in plain English, a sentence for each instruction, in their order.

For readers who do not know XGL; the program itself is binding. Sentences hold texts of the program
unescaped: code that shows a sentence must escape it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from xgl.analysis.static_facts import analyse, paid_for
from xgl.language import syntax as syn
from xgl.language.canonical import Game, split_name
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import find, joined_parts, reads, stores, transform

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
    sentences = []
    last = "whoever moved last" if len(movers) != 1 else names.get(*movers, *movers)
    flags = {line.flag for line in find(game.program, syn.Replay)}
    mover = last if flags else ""  # without loops nobody has moved at first
    elicits = {
        facts.line: facts for facts in reversed(analyse(game.program, game.metadata).elicits)
    }
    dialect = DIALECTS[game.dialect]
    for number, line in enumerate(game.program.instructions, start=1):
        if not dialect.story_arguments:
            line = transform(line, lambda e: syn.Story() if isinstance(e, syn.Story) else e)
        player = getattr(line, "player", "")
        player = names.get(player, player)
        if isinstance(line, syn.Beacon) and line.flag in flags:
            mover = last
        if isinstance(line, syn.Elicit):
            mover, facts = player, elicits.get(number)
            seeing = f", who sees {_list_text(facts.sees)}," if facts and facts.sees else ""
            limit = _count(line.max_len or game.metadata.max_len, "token")
            each = " each" if len(line.registers) > 1 else ""
            clause = f"{mover}{seeing} writes {_list_text(line.registers)}, at most {limit}{each}"
        else:
            clause = _clause(line, player, mover, game)
        if isinstance(line, syn.Reward) and (partner := syn.PARTNERS.get(line.player)) in movers:
            clause += f"; {names.get(partner, partner)} is paid the negative"
        if isinstance(line, syn.Reward) and line.player == "env" and not dialect.env_rewarded:
            clause += ", which count for nothing"
        sentences.append(f"{clause[:1].upper()}{clause[1:]}.")
    return tuple(sentences)


def _clause(line: syn.Instruction, player: str, mover: str, game: Game) -> str:
    match line:
        case syn.Assign(targets):
            return _assignment(targets, DIALECTS[game.dialect].parallel_assign)
        case syn.Ensure(conditions):
            words = condition_in_words if len(conditions) == 1 else _part_in_words
            rules = _list_text(list(map(words, conditions)))
            if not mover:
                return f"it must hold that {rules}; or the game ends"
            by_line = DIALECTS[game.dialect].failures_per_line  # where failures are counted
            often = "at this line" if by_line else "in the whole game"
            often += f" {_count(game.metadata.max_failures, 'time')} at most"
            return f"it must hold that {rules}; or {mover} has to try again, {often}"
        case syn.Reward(_, amount):
            return f"{player} is paid {sum_in_words(amount)}"
        case syn.Reveal(_, values):
            return f"{player} is shown {_list_text([_noun_phrase(value) for value in values])}"
        case syn.Replay(flag, times):
            return f"the game goes back to {flag}, {_count(times, 'time')} before it goes on"
    return f"this place is called {getattr(line, 'flag', '')}"


def _assignment(targets: Sequence[tuple[str, object]], parallel: bool) -> str:
    """A clause for an assign: its stories together, everything else one by one."""
    stories = [name for name, value in targets if value == syn.Story()]
    parts = []
    if len(stories) == 1:
        parts.append(f"a story {stories[0]} is drawn")
    elif stories:
        parts.append(f"{_number(len(stories))} stories, {_list_text(stories)}, are drawn")
    targets = [*dict(targets).items()] if parallel else targets  # the last value of each
    for at, (name, value) in enumerate(targets):
        if value != syn.Story():
            # Registers by themselves, in a list too, are those that the line has set.
            own: Iterable[object] = value.items if isinstance(value, syn.ListOf) else (value,)
            copied = [each for each in own if parallel and not isinstance(each, syn.Register)]
            old = {each for each, _ in targets[:at]}.intersection(chain(*map(reads, copied)))
            before = f", with {_list_text(sorted(old))} as before" if old else ""
            parts.append(f"let {name} be {_noun_phrase(value)}{before}")
    return "; ".join(parts)


def sum_in_words(amount: syn.Sum) -> str:
    """A signed sum of xents, as an amount of bits; nex is xent with its sign turned."""
    text = ""
    for sign, term in amount.terms:
        minus = (sign < 0) != (isinstance(term, syn.Xent) and term.kind == "nex")
        joint = (", minus " if minus else ", plus ") if text else "minus " * minus
        text += joint + _term(term)
    return text


def _term(term: syn.Term) -> str:
    if not isinstance(term, syn.Xent):
        return f"{term.value:g}" if isinstance(term, syn.Number) else _noun_phrase(term)
    text = _noun_phrase(term.target)
    model, outer = split_name(term.outer)
    before = "" if outer is None else f" (all read after {_noun_phrase(outer)})"
    before = f" for the model {model}{before}" if model else before
    prefix = "" if term.prefix is None else _noun_phrase(term.prefix)
    if term.kind in ("xed", "dex"):
        does = "saves" if term.kind == "xed" else "costs"
        return f"the bits that {prefix or 'its own prefix'} {does} on {text}{before}"
    after = f" after {prefix}" if prefix else ""
    return f"the surprise of {text}{after}{before}"


def condition_in_words(condition: syn.Condition) -> str:
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
        case syn.Test(left, comparator, right) if comparator[0] not in "<>":
            return f"{_noun_phrase(left)} is {_COMPARATOR_WORDS[comparator]} {_noun_phrase(right)}"
        case syn.Truth(statement, params, expected):
            model, said = split_name(statement)
            judged = f"{'true' if expected else 'false'}{f' for the model {model}' * bool(model)}"
            params_text = f" (with {_list_text(list(map(_noun_phrase, params)))})" if params else ""
            return f"“{_statement(said or syn.Literal(''))}”{params_text} is {judged}"
        case syn.Logic("not", (only,)):
            return f"it is not so that {_part_in_words(only)}"
        case syn.Logic(word, conditions):
            return f" {word} ".join(map(_part_in_words, conditions))
        case _:
            return f"{_noun_phrase(condition)} holds"


def _part_in_words(condition: syn.Condition) -> str:
    """A condition among others."""
    text = condition_in_words(condition)
    return f"({text})" if isinstance(condition, syn.Logic) else text


def _are(amount: syn.Sum) -> str:
    if len(amount.terms) > 1:
        return "come to"
    [(_, term)] = amount.terms
    return "are" if isinstance(term, syn.Xent) and term.kind in ("xed", "dex") else "is"


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
        case syn.ListOf(()):
            return "an empty list"
        case syn.ListOf(items):
            return f"the list of {_list_text(list(map(_noun_phrase, items)))}"
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


MOST_CHARACTERS = 100
"""Longest name, in characters; what is longer is cut at a word."""
MOST_PARTS = 3
"""Most texts, and most parts of a text, that a name lists."""
FILLED = "a text ("
"""How a constant that a prompt fills is called, before its name."""
OTHER_WORDS = "in other words"
"""The condition that a move has no word of the stories."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_Atom = tuple[str, int | str]
"""("story", its number), ("move", its number), or ("text", a noun phrase)."""
_Text = tuple[_Atom, ...]
"""A text as the atoms that it was joined from."""
_Term = tuple[str, _Text, _Text]
"""Kind ("xed", "xent"), target and prefix."""


def title(game: Game, role: str = syn.MAIN_PLAYER) -> str:
    """A name for a game, as ``role`` plays it.

    >>> import xgl
    >>> rival = "assign(s=story())\\nelicit(x, 10)\\nassign(t=story())\\nreward(xed(s|x)-xed(t|x))"
    >>> title(xgl.game(xgl.parse(rival, "xent")))
    'the story, not an unseen one'
    >>> echo = "assign(s=story(), t=story())\\nelicit(x, 3)\\nreward(xed(x | t) - xed(x | s))"
    >>> title(xgl.game(xgl.parse(echo, "xent")))
    'what the second of two stories calls for, not what the first calls for'
    """
    writer = _TitleWriter(game, role)
    # Lines are followed once: where loops repeat them, payments may differ that cancel here.
    is_paid = any(each.player in writer.signs for each in find(game.program, syn.Reward))
    is_loop = is_paid and find(game.program, syn.Replay)
    alike = "what differs between turns" if is_loop else ""
    parts = [writer.payment() or alike or "nothing that a text decides"]
    parts += [" and ".join(dict.fromkeys(writer.conditions))] if writer.conditions else []
    text = ", ".join(parts)
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[:MOST_CHARACTERS].rsplit(" ", 1)[0].rstrip(",") + " …"


def objective(game: Game, role: str = syn.MAIN_PLAYER) -> frozenset[tuple[object, ...]]:
    """What ``role`` is paid for: sign, kind, target and prefix of each term that a move of its own,
    a part or a function of a text enters, without weights and unseen stories. Where this is equal,
    much the same moves pay."""
    writer = _TitleWriter(game, role)
    seen = sorted(writer.seen)

    def place(atom: _Atom) -> tuple[object, ...]:
        kind, value = atom
        if kind == "story":
            return (kind, seen.index(int(value)), len(seen)) if value in seen else ()
        return (kind, writer.moves[int(value)] == role if kind == "move" else value)

    def is_open(shown: tuple[object, ...]) -> bool:
        is_text = shown[:1] == ("text",) and not str(shown[1]).startswith(("“", FILLED))
        return is_text or shown == ("move", True)

    terms = set[tuple[object, ...]]()
    for (kind, target, prefix), count in writer.terms.items():
        targets, prefixes = tuple(map(place, target)), frozenset(map(place, prefix)) - {()}
        if count and () not in targets and any(map(is_open, (*targets, *prefixes))):
            terms.add((count > 0, kind, targets, prefixes))
    return frozenset(terms)


def unique(names: Iterable[str]) -> list[str]:
    """The names in their order; what is there already gets a number."""
    counts: Counter[str] = Counter()
    different = []
    for name in names:
        counts[name] += 1
        different.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return different


class _TitleWriter:
    """Follows the lines of a program once, and keeps what each register holds."""

    def __init__(self, game: Game, role: str) -> None:
        self.role, self.signs = role, paid_for(role)
        fixed, filled = game.metadata.constants, game.metadata.prompts
        self.texts: dict[str, _Text] = {n: (("text", f"“{v}”"),) for n, v in fixed.items() if v}
        self.texts |= {name: (("text", f"{FILLED}{name})"),) for name in filled}
        self.stories, self.seen, self.moves = 0, set[int](), list[str]()
        self.terms: Counter[_Term] = Counter()
        """What the role is paid, with signed counts."""
        self.conditions: list[str] = []
        self.dialect = game.dialect
        self.sees = {
            (facts.line, facts.register): facts.sees
            for facts in analyse(game.program, game.metadata, role).elicits
            if facts.player == role
        }
        for number, line in enumerate(game.program.instructions, start=1):
            self._follow(line, number)
        self.mentioned: set[_Atom] = set()

    def _follow(self, line: syn.Instruction, number: int) -> None:
        match line:
            case syn.Assign():
                for name, texts in stores(line, self.dialect, self._text):
                    self.texts[name] = texts[-1]
            case syn.Elicit(player, registers):
                for name in registers:
                    for each in self.sees.get((number, name), ()):
                        self._see(self.texts.get(each, ()))
                    self.texts[name] = (("move", len(self.moves)),)
                    self.moves.append(player)
            case syn.Reveal(player, values) if player == self.role:
                for value in values:
                    self._see(self._text(value))
            case syn.Ensure(conditions):
                self.conditions += map(_condition, conditions)
            case syn.Reward(player, amount) if share := self.signs.get(player):
                for sign, term in amount.terms:
                    # A term of the empty text is 0.
                    if isinstance(term, syn.Xent) and (target := self._text(term.target)):
                        kind = "xed" if term.kind in ("xed", "dex") else "xent"
                        turned = -1 if term.kind in ("nex", "dex") else 1
                        before = [split_name(term.outer)[1], term.prefix]
                        prefix = tuple(chain.from_iterable(map(self._text, filter(None, before))))
                        self.terms[kind, target, prefix] += share * sign * turned

    def _see(self, text: _Text) -> None:
        self.seen |= {int(n) for kind, n in text if kind == "story"}

    def _text(self, node: object) -> _Text:
        match node:
            case syn.Story():
                self.stories += 1
                return (("story", self.stories - 1),)
            case syn.Register(name):
                return self.texts.get(name, ())
            case syn.Literal(value):
                return (("text", f"“{value}”"),) if value else ()
            case syn.Cut(text, _, side):
                whole, words = self._text(text), {"story": "a story", "move": "a move"}
                names = [words.get(kind, str(noun)) for kind, noun in whole]
                part = "the start of" if side == "before" else "the end of"
                shown = f"{part} {' and '.join(dict.fromkeys(names))}"
                return (("text", shown),) if whole else ()
            case syn.Cat() | syn.Chain():
                return tuple(atom for part in joined_parts(node) for atom in self._text(part))
            case _:
                return (("text", expression_text(node)),)

    # -- nouns ---------------------------------------------------------------------------------

    def _noun(self, text: _Text) -> str:
        if len(text) > MOST_PARTS:
            return f"a text of {_number(len(text))} parts"
        names = list(dict.fromkeys(map(self._atom, text)))
        self.mentioned.update(text)
        return " and ".join(names)

    def _atom(self, atom: _Atom) -> str:
        kind, value = atom
        if kind == "text":
            return str(value)
        number = int(value)
        if kind == "move":
            player = self.moves[number]
            same = [n for n, each in enumerate(self.moves) if each == player]
            owner = "the" if player == self.role else f"{player}'s"
            return f"{owner} {_ordinal(same.index(number), len(same))}move"
        shown = number in self.seen
        alike = [n for n in range(self.stories) if (n in self.seen) == shown]
        place = _ordinal(alike.index(number), len(alike))
        stories_mentioned = any(kind == "story" for kind, _ in self.mentioned)
        if not shown:
            noun = "one" if stories_mentioned else "story"
            return f"the {place}unseen {noun}" if place else f"an unseen {noun}"
        if not place:
            return "the story"
        others = {("story", n) for n in alike} & self.mentioned
        return f"the {place.strip()}" + ("" if others else f" of {_number(len(alike))} stories")

    # -- sentences -----------------------------------------------------------------------------

    def payment(self) -> str:
        """What the role is paid for, by each of its moves; empty if nothing depends on a text."""
        own = [n for n, player in enumerate(self.moves) if player == self.role]
        by_move: dict[int, list[_Term]] = {n: [] for n in own or [0]}
        for term in self.terms:
            used = [n for n in own if ("move", n) in term[1] + term[2]]
            by_move[max(used, default=min(by_move))].append(term)
        return ", then ".join(filter(None, map(self._payment_by_move, by_move.values())))

    def _payment_by_move(self, terms: Sequence[_Term]) -> str:
        wanted = [term for term in terms if self.terms[term] > 0]
        unwanted = [term for term in terms if self.terms[term] < 0]
        # A surprise that is paid is wanted; one that costs asks for the contrary.
        plain = [term for term in unwanted if term[0] == "xent"]
        spurned = [term for term in unwanted if term[0] == "xed"]
        parts = [" and ".join(self._phrases(wanted, "surprising"))]
        parts += ["not " + " or ".join(self._phrases(spurned, ""))] if spurned else []
        parts += [" and ".join(self._phrases(plain, "plain"))]
        return ", ".join(filter(None, parts))

    def _phrases(self, terms: Sequence[_Term], manner: str) -> list[str]:
        """Stories that moves make likely are named together."""
        named = [term for term in terms if self._names(term)]
        alone = dict.fromkeys(t for _, t, _ in named if [kind for kind, _ in t] == ["story"])
        together = self._together([int(t[0][1]) for t in alone]) if len(alone) > 1 else ""
        covered = [term for term in named if together and term[1] in alone]
        phrases = [self._phrase(*term, manner) for term in terms if term not in covered]
        different = list(dict.fromkeys([together, *phrases] if together else phrases))
        more = len(different) - MOST_PARTS
        return different if more <= 0 else [*different[:MOST_PARTS], f"{_number(more)} more"]

    def _together(self, stories: Sequence[int]) -> str:
        """Several stories in one phrase; empty if the player sees some of them only."""
        seen = [n for n in range(self.stories) if n in self.seen]
        if not set(stories) <= set(seen):
            return ""
        self.mentioned |= {("story", n) for n in stories}
        if len(stories) == len(seen):
            return "both stories" if len(seen) == 2 else f"all {_number(len(seen))} stories"
        places = [_ordinal(seen.index(n), len(seen)).strip() for n in sorted(stories)]
        return f"the {' and '.join(places)} of {_number(len(seen))} stories"

    def _names(self, term: _Term) -> bool:
        """Whether a term is named by its target alone."""
        kind, target, prefix = term
        own = all(atom[0] == "move" and self.moves[int(atom[1])] == self.role for atom in prefix)
        return kind == "xed" and own and not _has_move(target)

    def _phrase(self, kind: str, target: _Text, prefix: _Text, manner: str) -> str:
        """A text that a move makes likely is named alone; what makes a move likely calls for it."""
        if kind == "xent":
            after = f" after {self._noun(prefix)}" if prefix else ""
            return f"{manner} words in {self._noun(target)}{after}"
        is_moves = bool(target) and all(kind == "move" for kind, _ in target)
        if is_moves and prefix and not _has_move(prefix):
            return f"what {self._noun(prefix)} call{'' if len(set(prefix)) > 1 else 's'} for"
        if self._names((kind, target, prefix)) or not prefix:
            return self._noun(target)
        return f"{self._noun(target)} after {self._noun(prefix)}"


def _condition(condition: syn.Condition) -> str:
    text = expression_text(condition)
    forbids = re.match(r'"no common words|len\(common_word_set\([^<>=]*\)\) == 0$', text, re.I)
    return OTHER_WORDS if forbids else f"if {text}"


def _has_move(text: _Text) -> bool:
    return any(kind == "move" for kind, _ in text)


def _ordinal(place: int, count: int) -> str:
    if count == 1:
        return ""
    if place < len(_ORDINALS):
        return f"{_ORDINALS[place]} "
    tens, ones = divmod(place + 1, 10)
    return f"{place + 1}{'th' if tens == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(ones, 'th')} "
