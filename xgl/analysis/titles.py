"""Short names of games, made from their programs: what a player is paid for, in a few words.

A name says which texts the moves should fit, which they should not, and under which conditions; it
is for people, who read it beside the game's id. :mod:`xgl.analysis.plain_english` has every rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from xgl.analysis.static_facts import analyse, paid_for
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.unparse import expression_text
from xgl.language.visitors import joined_parts

MOST_CHARACTERS = 100
"""Longest name, in characters; what is longer is cut at a word."""
MOST_PARTS = 3
"""Most texts, and most parts of a text, that a name lists."""
OTHER_WORDS = "in other words"
"""The condition that a move has no word of the stories."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_Atom = tuple[str, int | str]
"""("story", its number), ("move", its number), or ("text", a noun phrase)."""
_Text = tuple[_Atom, ...]
"""A text as the atoms that it was joined from."""


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
    writer = _Writer(game, role)
    parts = [writer.payment() or "nothing that a text decides"]
    parts += [" and ".join(dict.fromkeys(writer.conditions))] if writer.conditions else []
    text = ", ".join(parts)
    if len(text) <= MOST_CHARACTERS:
        return text
    return text[:MOST_CHARACTERS].rsplit(" ", 1)[0].rstrip(",") + " …"


def unique(names: Iterable[str]) -> list[str]:
    """The names in their order; what is there already gets a number."""
    counts: Counter[str] = Counter()
    different = []
    for name in names:
        counts[name] += 1
        different.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return different


class _Writer:
    """Follows the lines of a program once, and keeps what each register holds."""

    def __init__(self, game: Game, role: str) -> None:
        self.role, self.signs = role, paid_for(role)
        self.texts: dict[str, _Text] = {}
        self.facts = analyse(game.program, game.metadata, role)
        self.stories, self.seen, self.moves = 0, set[int](), list[str]()
        self.terms: Counter[tuple[str, _Text, _Text]] = Counter()
        """What the role is paid: kind ("xed", "xent"), target and prefix, with signed counts."""
        self.conditions: list[str] = []
        self.sees = {
            (facts.line, facts.register): facts.sees
            for facts in self.facts.elicits
            if facts.player == role
        }
        for number, line in enumerate(game.program.instructions, start=1):
            self._follow(line, number)
        self.mentioned: set[_Atom] = set()

    def _follow(self, line: syn.Instruction, number: int) -> None:
        match line:
            case syn.Assign(targets):
                values = [(name, self._text(value)) for name, value in targets]
                self.texts.update(values)
            case syn.Elicit(player, registers):
                for name in registers:
                    self._see(self.sees.get((number, name), ()))
                    self.texts[name] = (("move", len(self.moves)),)
                    self.moves.append(player)
            case syn.Reveal(player, values) if player == self.role:
                for value in values:
                    self.seen |= {int(n) for kind, n in self._text(value) if kind == "story"}
            case syn.Ensure(conditions):
                self.conditions += map(self._condition, conditions)
            case syn.Reward(player, amount) if player in self.signs:
                self._pay(amount, self.signs[player])

    def _see(self, registers: Sequence[str]) -> None:
        for name in registers:
            self.seen |= {int(n) for kind, n in self.texts.get(name, ()) if kind == "story"}

    def _pay(self, amount: syn.Sum, share: int) -> None:
        for sign, term in amount.terms:
            if not isinstance(term, syn.Xent):
                continue
            kind = "xed" if term.kind in ("xed", "dex") else "xent"
            turned = term.kind in ("nex", "dex")
            prefix = () if term.prefix is None else self._text(term.prefix)
            self.terms[kind, self._text(term.target), prefix] += share * (-sign if turned else sign)

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
                part = "the start of" if side == "before" else "the end of"
                whole = self._text(text)
                return (("text", f"{part} {self._short(whole)}"),) if whole else ()
            case syn.Cat() | syn.Chain():
                return tuple(atom for part in joined_parts(node) for atom in self._text(part))
            case _:
                return (("text", expression_text(node)),)

    def _short(self, text: _Text) -> str:
        """A text inside another's name, where nothing is mentioned for the first time."""
        words = {"story": "a story", "move": "a move"}
        return " and ".join(dict.fromkeys(words.get(kind, str(n)) for kind, n in text))

    # -- nouns ---------------------------------------------------------------------------------

    def _noun(self, text: _Text) -> str:
        if len(text) > MOST_PARTS:
            return f"a text of {_count(len(text))} parts"
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
        return f"the {place.strip()}" + ("" if others else f" of {_count(len(alike))} stories")

    # -- sentences -----------------------------------------------------------------------------

    def payment(self) -> str:
        """What the role is paid for; empty for nothing that depends on a text."""
        wanted = [term for term, count in self.terms.items() if count > 0]
        unwanted = [term for term, count in self.terms.items() if count < 0]
        # A surprise that is paid is wanted; one that costs asks for the contrary.
        plain = [term for term in unwanted if term[0] == "xent"]
        unwanted = [term for term in unwanted if term[0] == "xed"]
        parts = [" and ".join(self._phrases(wanted, "surprising"))] if wanted else []
        if unwanted:
            parts.append("not " + " or ".join(self._phrases(unwanted, "")))
        if plain:
            parts.append(" and ".join(self._phrases(plain, "plain")))
        return ", ".join(filter(None, parts))

    def _phrases(self, terms: Sequence[tuple[str, _Text, _Text]], manner: str) -> list[str]:
        """Stories that moves make likely are named together."""
        alone = {
            target[0][1]: term
            for term in terms
            if len(target := term[1]) == 1 and target[0][0] == "story" and self._names(term)
        }
        together = self._together([int(n) for n in alone]) if len(alone) > 1 else ""
        covered = {target for _, target, _ in alone.values()} if together else set()
        others = [term for term in terms if not (term[1] in covered and self._names(term))]
        phrases = [self._phrase(*term, manner) for term in others]
        different = list(dict.fromkeys([together, *phrases] if together else phrases))
        more = len(different) - MOST_PARTS
        return different if more <= 0 else [*different[:MOST_PARTS], f"{_count(more)} more"]

    def _together(self, stories: Sequence[int]) -> str:
        """Several stories in one phrase; empty if the player sees some of them only."""
        seen = [n for n in range(self.stories) if n in self.seen]
        if not set(stories) <= set(seen):
            return ""
        self.mentioned |= {("story", n) for n in stories}
        if len(stories) == len(seen):
            return "both stories" if len(seen) == 2 else f"all {_count(len(seen))} stories"
        places = [_ordinal(seen.index(n), len(seen)).strip() for n in sorted(stories)]
        return f"the {' and '.join(places)} of {_count(len(seen))} stories"

    def _names(self, term: tuple[str, _Text, _Text]) -> bool:
        """Whether a term is named by its target alone."""
        kind, target, prefix = term
        own = all(atom[0] == "move" and self.moves[int(atom[1])] == self.role for atom in prefix)
        return kind == "xed" and own and not self._has_move(target)

    def _phrase(self, kind: str, target: _Text, prefix: _Text, manner: str) -> str:
        """A text that a move makes likely is named alone; what makes a move likely calls for it."""
        if kind == "xent":
            after = f" after {self._noun(prefix)}" if prefix else ""
            return f"{manner} words in {self._noun(target)}{after}"
        if self._is_moves(target) and prefix and not self._has_move(prefix):
            return f"what {self._noun(prefix)} call{self._s(prefix)} for"
        if self._names((kind, target, prefix)) or not prefix:
            return self._noun(target)
        return f"{self._noun(target)} after {self._noun(prefix)}"

    def _condition(self, condition: syn.Condition) -> str:
        match condition:
            case syn.Comparison(
                syn.Sum(((1, syn.Function("len", (syn.Function("common_word_set"),))),)),
                "==",
                syn.Sum(((1, syn.Number(0)),)),
            ):
                return OTHER_WORDS
            case syn.Truth(statement, (), True) if _asks_for_other_words(statement):
                return OTHER_WORDS
            case _:
                return f"if {expression_text(condition)}"

    def _is_moves(self, text: _Text) -> bool:
        return bool(text) and all(kind == "move" for kind, _ in text)

    def _has_move(self, text: _Text) -> bool:
        return any(kind == "move" for kind, _ in text)

    def _s(self, text: _Text) -> str:
        return "" if len(set(text)) > 1 else "s"


def _asks_for_other_words(statement: object) -> bool:
    first = next(iter(joined_parts(statement)))
    return isinstance(first, syn.Literal) and first.value.casefold().startswith("no common words")


def _ordinal(place: int, count: int) -> str:
    if count == 1:
        return ""
    return f"{_ORDINALS[place]} " if place < len(_ORDINALS) else f"{place + 1}th "


def _count(number: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else str(number)
