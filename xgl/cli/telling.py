"""A game's events, told to one player as the rules let it know them
(docs/specification.md, "What a player sees").

An event holds what happened; the teller knows the line that made it, and so the text behind a
number and whether this player may see that text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xgl.cli.texts import UnknownTextError, value_of
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import descendants, reads
from xgl.runtime.predicates import predicate, words
from xgl.runtime.presentation import Sight
from xgl.runtime.requests import (
    Assigned,
    Ensured,
    Event,
    Item,
    Moved,
    Predicate,
    Revealed,
    Rewarded,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A string that the player may see."""

    item: Item
    mover: str = ""
    """Who wrote it; empty for what is no move."""


@dataclass(frozen=True, slots=True)
class Term:
    """One xent of a reward: its bits for each token, signed as they count for the player."""

    said: str
    bits: tuple[float, ...]
    text: str | None
    """The scored text; None where the player may not see it, or a helper function made it."""


@dataclass(frozen=True, slots=True)
class Paid:
    """A reward; its terms where it is the player's own."""

    player: str
    bits: float
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A failed ensure of the player's own."""

    line: int
    said: tuple[str, ...]
    failures: int
    left: int
    """Failures that are still allowed."""


Told = Shown | Paid | Refused


class Teller:
    """Tells one game to ``player``; feed it the events in their order, each once."""

    def __init__(self, game: Game, player: str) -> None:
        self.game = game
        self.player = player
        self.sees_all = player in syn.OMNISCIENT
        self.registers = dict.fromkeys(syn.REGISTERS, "") | game.metadata.constants
        self.seen = {name for name in syn.REGISTERS if name[0] in syn.PUBLIC_TYPES}
        self.live = DIALECTS[game.dialect].live_reveal
        self.watched: set[str] = set()
        self.history: list[Event] = []
        self.sight = Sight(player, self.live)
        self.shown = self.line = 0

    def tell(self, log: Iterable[tuple[int, Event]]) -> Iterator[Told]:
        """What the player learns from these events, each with the position of its line."""
        for self.line, event in log:
            if not isinstance(event, Rewarded | Ensured):
                self.history.append(event)
            yield from self._told(event)

    @property
    def _line(self) -> syn.Instruction:
        return self.game.program.instructions[self.line]

    def _told(self, event: Event) -> Iterator[Told]:
        match event:
            case Assigned(values):
                for name, text in values:
                    self._set(name, text, self.sees_all)
                yield from self._shown()
            case Moved(mover, register, move):
                self._set(register, move.text, self.sees_all or mover == self.player)
                yield from self._shown(mover)
            case Revealed(to):
                if to == self.player:
                    names = {v.name for v in self._revealed() if isinstance(v, syn.Register)}
                    self.seen |= names
                    self.watched |= names if self.live else set()
                yield from self._shown()
            case Rewarded(to, bits) if self.sees_all or to == self.player:
                own = to == self.player
                yield Paid(to, bits, tuple(self._terms(event)) if own else ())
            case Ensured(by, passed) if not passed and by == self.player:
                yield self._refused(event)

    def _shown(self, mover: str = "") -> Iterator[Shown]:
        """What of the last event the player may see."""
        self.sight.look(self.history)
        yield from (Shown(item, mover) for item in self.sight.items[self.shown :])
        self.shown = len(self.sight.items)

    def _set(self, name: str, text: str, seen: bool) -> None:
        self.registers[name] = text
        if seen or name[0] in syn.PUBLIC_TYPES or name in self.watched:
            self.seen.add(name)
        else:
            self.seen.discard(name)

    def _revealed(self) -> tuple[object, ...]:
        line = self._line
        return line.values if isinstance(line, syn.Reveal) else ()

    def _terms(self, event: Rewarded) -> Iterator[Term]:
        """The line's xents with their bits; numbers for a text that is hidden, never the text."""
        line = self._line
        assert isinstance(line, syn.Reward)
        xents = [xent for _, xent in line.amount.terms if isinstance(xent, syn.Xent)]
        for xent, (sign, _, scores) in zip(xents, event.terms, strict=True):
            said = ("" if sign > 0 else "−") + expression_text(xent)
            yield Term(said, tuple(sign * bit for bit in scores.bits), self._scored(xent))

    def _scored(self, xent: syn.Xent) -> str | None:
        """The text behind a number, where the player may see it and the registers tell it."""
        if not self.seen.issuperset(reads(xent.target)):
            return None
        try:
            return self._text(xent.target)
        except UnknownTextError:
            return None

    def _refused(self, event: Ensured) -> Refused:
        line = self._line
        assert isinstance(line, syn.Ensure)
        sides = _sides(line.conditions, event)
        said = tuple(
            self._explained(condition) + told
            for condition, told in zip(line.conditions, sides, strict=True)
        )
        if len(said) == 1 and said[0] == expression_text(line.conditions[0]):
            said = (f"{said[0]}: {_judged(line.conditions[0])}",)
        left = self.game.metadata.max_failures - event.failures
        return Refused(self.line + 1, said, event.failures, left)

    def _explained(self, condition: syn.Condition) -> str:
        """A condition in the words of the program, and why where a plain function decided it."""
        said = expression_text(condition)
        if counted := self._counted(condition):
            return f"{said}: {counted}"
        if not isinstance(condition, syn.Truth) or not self.seen.issuperset(reads(condition)):
            return said
        try:
            found = predicate(condition, self._text)
        except UnknownTextError:
            return said
        reason = _reason(found) if found is not None and condition.expected else ""
        return f"{said}: {reason}" if reason else said

    def _text(self, node: object) -> str:
        return str(value_of(node, self.registers, self.game))

    def _counted(self, condition: syn.Condition) -> str:
        """What the helper functions of a condition give."""
        calls = [node for node in descendants(condition) if isinstance(node, syn.Function)]
        looked = [call for call in calls if call.name in _TELLING]
        if not looked or not self.seen.issuperset(reads(condition)):
            return ""
        try:
            found = [(call, value_of(call, self.registers, self.game)) for call in looked]
        except UnknownTextError:
            return ""
        return "; ".join(f"{expression_text(call)} is {_value(value)}" for call, value in found)


def _sides(conditions: tuple[syn.Condition, ...], event: Ensured) -> list[str]:
    """What the sums of each plain comparison of xents came to; empty for other conditions."""
    plain = [isinstance(condition, syn.Comparison) for condition in conditions]
    if sum(plain) != len(event.sides):
        return [""] * len(conditions)
    sides = iter(event.sides)
    told = [": {:.1f} against {:.1f} bits".format(*next(sides)) if found else "" for found in plain]
    return [
        said if any(isinstance(node, syn.Xent) for node in descendants(condition)) else ""
        for said, condition in zip(told, conditions, strict=True)
    ]


_TELLING = ("common_word_set", "num_words", "only_uses_words", "only_uses_chars")
"""Helper functions whose value tells why a condition fails."""


def _value(value: object) -> str:
    if isinstance(value, set | frozenset):
        return _listed(sorted(value)) or "empty"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reason(found: Predicate) -> str:
    """What breaks a rule that is counted in words; empty where it holds or tokens decide."""
    match found:
        case Predicate("no_common_words", (left, right)):
            common = sorted(words(left) & words(right))
            return f"both have {_listed(common)}" if common else ""
        case Predicate("only_uses_words", (allowed, text)):
            foreign = sorted(words(text) - words(allowed))
            return f"{_listed(foreign)} may not stand there" if foreign else ""
        case _:
            return ""


def _judged(condition: syn.Condition) -> str:
    """Why the only condition of an ensure fails where no counted word tells it."""
    if isinstance(condition, syn.Truth):
        return f"it was judged {'false' if condition.expected else 'true'}"
    return "by the judge's numbers it is not so"


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:8]) + (" and more" if len(names) > 8 else "")
