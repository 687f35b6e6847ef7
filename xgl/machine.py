"""One game instance as a generator (paper §2.2.6, §2.4.1).

The machine executes one line after another and *yields* what it needs, a tuple of requests
at a time: scores, truths, stories, moves. It never touches a model; ``xgl.batch`` answers.
A move arrives already cut to its limit. An :class:`~xgl.errors.OversizeError` thrown in at a
request ends the game as ``oversize``.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator
from typing import Any, cast

from xgl import syntax as syn
from xgl.canonical import Game
from xgl.dialects import DIALECTS
from xgl.errors import OversizeError
from xgl.flow import Flow
from xgl.presentation import visible
from xgl.requests import (
    Answer,
    Assigned,
    Ensured,
    Event,
    Move,
    Moved,
    MoveRequest,
    Play,
    Request,
    Revealed,
    Rewarded,
    ScoreRequest,
    StoryRequest,
    TokenScores,
    TruthRequest,
    View,
)
from xgl.text import expression_text
from xgl.truth import predicate
from xgl.walk import descendants

Asking = Generator[tuple[Request, ...], tuple[Answer, ...], Any]

_COMPARE: dict[syn.Comparator, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class _ForfeitError(Exception):
    def __init__(self, player: str) -> None:
        self.player = player


class Machine:
    """State of one instance: registers, position, counters, scores, event log."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.dialect = DIALECTS[game.dialect]
        self.flow = Flow(game.program)
        self.registers = dict.fromkeys(syn.REGISTERS, "") | game.metadata.constants
        self.scores: defaultdict[str, float] = defaultdict(float)
        self.events: list[Event] = []
        self.failures: Counter[str | int] = Counter()
        self.steps = self.turns = 0
        self.last_elicit: tuple[int, str] | None = None
        self.sites = _story_sites(game.program)
        self.cast = {i.player for i in game.program.instructions if isinstance(i, syn.Elicit)}

    def play(self) -> Generator[tuple[Request, ...], tuple[Answer, ...], Play]:
        """Run to the end; yields requests, takes their answers, returns the :class:`Play`."""
        outcome, forfeiter = "finished", ""
        try:
            while not self.flow.done:
                yield from self._step()
        except _ForfeitError as forfeit:
            outcome, forfeiter = "forfeit", forfeit.player
        except OversizeError:
            outcome = "oversize"
        scores = {player: self.scores[player] for player in sorted(self.cast)}
        registers = {name: text for name, text in self.registers.items() if text}
        return Play(outcome, scores, registers, tuple(self.events), self.steps, forfeiter)

    def _step(self) -> Asking:
        self.steps += 1
        instruction = self.game.program.instructions[self.flow.position]
        match instruction:
            case syn.Assign():
                yield from self._assign(instruction)
            case syn.Elicit():
                yield from self._elicit(instruction)
            case syn.Ensure():
                if not (yield from self._ensure(instruction)):
                    return
            case syn.Reward():
                yield from self._reward(instruction)
            case syn.Reveal():
                self._reveal(instruction)
        self.flow.advance()

    # -- instructions ----------------------------------------------------------------------

    def _assign(self, assign: syn.Assign) -> Asking:
        stories = yield from self._stories(assign)
        stored = []
        values: Iterator[str] | None = None
        if self.dialect.parallel_assign:
            values = iter([self._text(value, stories) for _, value in assign.targets])
        for name, value in assign.targets:
            text = next(values) if values else self._text(value, stories)
            self.registers[name] = text
            stored.append((name, text))
        self.events.append(Assigned(tuple(stored)))

    def _stories(self, assign: syn.Assign) -> Generator[Any, Any, Iterator[str]]:
        site = self.sites[self.flow.position]
        requests = tuple(
            self._story_request(site + offset, node)
            for offset, node in enumerate(
                n for n in descendants(assign) if isinstance(n, syn.Story)
            )
        )
        return iter((yield requests) if requests else ())

    def _story_request(self, site: int, story: syn.Story) -> StoryRequest:
        if not self.dialect.story_arguments:
            return StoryRequest(site, self.game.metadata.story_tokens)
        return StoryRequest(site, story.tokens or self.game.metadata.story_tokens, story.prompt)

    def _elicit(self, elicit: syn.Elicit) -> Asking:
        self.last_elicit = (self.flow.position, elicit.player)
        max_len = elicit.max_len or self.game.metadata.max_len
        for name in elicit.registers:
            items = self._constants(elicit.player) + visible(self.events, elicit.player)
            view = View(elicit.player, self.game.code, items, name)
            (answer,) = yield (MoveRequest(view, max_len, self.turns),)
            move = cast(Move, answer)
            self.turns += 1
            self.registers[name] = self._capped(move.text)
            self.events.append(Moved(elicit.player, name, move, self.flow.position))

    def _constants(self, player: str) -> tuple[Any, ...]:
        shown = sorted(self.game.metadata.constants.items())
        return visible([Assigned(tuple(shown))], player) if shown else ()

    def _ensure(self, ensure: syn.Ensure) -> Generator[Any, Any, bool]:
        holds = yield from self._conditions(ensure.conditions)
        position, player = self.last_elicit or (None, syn.MAIN_PLAYER)
        key = self.flow.position if self.dialect.failures_per_line else player
        if holds:
            if self.dialect.failures_per_line:
                self.failures[key] = 0
            self.events.append(Ensured(player, True, self.failures[key]))
            return True
        self.failures[key] += 1
        self.events.append(Ensured(player, False, self.failures[key]))
        if position is None or self.failures[key] > self.game.metadata.max_failures:
            raise _ForfeitError(player)
        self.flow.position = position
        return False

    def _conditions(self, conditions: tuple[syn.Condition, ...]) -> Generator[Any, Any, bool]:
        truths = [self._truth_request(c) for c in conditions if isinstance(c, syn.Truth)]
        decided = iter((yield tuple(truths)) if truths else ())
        results = []
        for condition in conditions:
            if isinstance(condition, syn.Truth):
                results.append(bool(next(decided)) == condition.expected)
                continue
            left, _ = yield from self._amount(condition.left)
            right, _ = yield from self._amount(condition.right)
            results.append(_COMPARE[condition.comparator](left, right))
        return all(results)

    def _truth_request(self, truth: syn.Truth) -> TruthRequest:
        parts = [self._text(part, iter(())) for part in (truth.statement, *truth.params)]
        return TruthRequest(" ".join(parts), predicate(truth, self._plain_text))

    def _reward(self, reward: syn.Reward) -> Asking:
        bits, terms = yield from self._amount(reward.amount)
        self._pay(reward.player, 1, bits, terms)
        partner = {"black": "white", "white": "black"}.get(reward.player)
        if partner in self.cast:
            self._pay(partner, -1, bits, terms)

    def _pay(self, player: str, sign: int, bits: float, terms: tuple[Any, ...]) -> None:
        if player == "env" and not self.dialect.env_rewarded:
            return
        self.scores[player] += sign * bits
        signed = tuple((sign * s, kind, scores) for s, kind, scores in terms)
        self.events.append(Rewarded(player, sign * bits, signed))

    def _reveal(self, reveal: syn.Reveal) -> None:
        values = [(expression_text(v), self._text(v, iter(()))) for v in reveal.values]
        self.events.append(Revealed(reveal.player, tuple(values)))

    # -- expressions -----------------------------------------------------------------------

    def _amount(self, amount: syn.Sum) -> Generator[Any, Any, tuple[float, tuple[Any, ...]]]:
        """A signed sum in bits, with sign, kind and per-token bits of each xent term."""
        asked = [
            self._score_requests(t) if isinstance(t, syn.Xent) else () for _, t in amount.terms
        ]
        requests = tuple(request for pair in asked for request in pair)
        answers = iter((yield requests) if requests else ())
        bits, terms = 0.0, []
        for (sign, term), pair in zip(amount.terms, asked, strict=True):
            if isinstance(term, syn.Number):
                bits += sign * term.value
                continue
            scores = _combine(term.kind, [cast(TokenScores, next(answers)) for _ in pair])
            bits += sign * scores.total
            terms.append((sign, term.kind, scores))
        return bits, tuple(terms)

    def _score_requests(self, term: syn.Xent) -> tuple[ScoreRequest, ...]:
        """The conditional score, and for differences the one without the prefix before it."""
        text = self._plain_text(term.target)
        prefix = self._plain_text(term.prefix) if term.prefix else ""
        outer = self._plain_text(term.outer) if term.outer else ""
        scoring = self.dialect.scoring
        given = ScoreRequest(text, self._context(outer, prefix), scoring)
        if term.kind in ("xent", "nex"):
            return (given,)
        return (ScoreRequest(text, self._context(outer, ""), scoring), given)

    def _context(self, outer: str, prefix: str) -> tuple[str, ...]:
        parts = (outer, prefix) if self.dialect.scoring.bos else (outer + prefix,)
        return tuple(part for part in parts if part)

    def _plain_text(self, expression: syn.StringExpr) -> str:
        return self._text(expression, iter(()))

    def _text(self, expression: syn.StringExpr, stories: Iterator[str]) -> str:
        match expression:
            case syn.Literal(value):
                text = value
            case syn.Register(name):
                text = self.registers[name]
            case syn.Cat(left, right):
                space = " " if self.dialect.cat_space else ""
                text = self._text(left, stories) + space + self._text(right, stories)
            case syn.Cut(whole, mark, side):
                text = cut(self._text(whole, stories), self._text(mark, stories), side)
            case syn.Story():
                text = next(stories)
        return self._capped(text)

    def _capped(self, text: str) -> str:
        limit = self.game.metadata.max_characters
        if len(text) > limit:
            raise OversizeError(f"a string of {len(text)} characters, at most {limit} may stand")
        return text


def cut(text: str, mark: str, side: str) -> str:
    """``text // mark`` (before its first occurrence) or ``text % mark`` (after it)."""
    if not mark or mark not in text:
        return text if side == "before" else ""
    before, _, after = text.partition(mark)
    return before if side == "before" else after


def _combine(kind: syn.XentKind, scores: list[TokenScores]) -> TokenScores:
    """xed(s|t,o) = xent(s,o) − xent(s|t,o); dex = −xed; nex = −xent (SPEC §1)."""
    value = scores[0] - scores[1] if len(scores) == 2 else scores[0]
    return -value if kind in ("nex", "dex") else value


def _story_sites(program: syn.Program) -> list[int]:
    """For each line the number of ``story()`` calls before it."""
    sites, count = [], 0
    for instruction in program.instructions:
        sites.append(count)
        count += sum(isinstance(node, syn.Story) for node in descendants(instruction))
    return sites
