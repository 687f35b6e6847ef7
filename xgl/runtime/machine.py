"""One game instance as a generator (paper §2.2.6, §2.4.1).

The machine executes one line after another and *yields* what it needs, a tuple of requests
at a time: scores, truths, stories, moves. It never touches a model; ``xgl.runtime.lockstep``
answers. A move arrives already cut to its limit. An :class:`~xgl.errors.OversizeError` thrown in
at a request ends the game as ``oversize``.

All instances of one game share its lines, prepared to run, and the texts that it asks for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, cast

from xgl.errors import FlowError, OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import RESERVED, Game, split_name
from xgl.language.control_flow import Flow
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import children, descendants, find, parts, transform
from xgl.runtime import meter, requests as req
from xgl.runtime.predicates import compare, named_texts, predicate, unnamed
from xgl.runtime.presentation import Sight
from xgl.runtime.values import REQUEST_FUNCTIONS, Text, Value, Values


@dataclass(frozen=True, slots=True)
class PreparedGame:
    """A game prepared to run, shared by all its instances."""

    lines: tuple[syn.Instruction, ...]
    """Equal to the program's; no line holds a node twice, so a call is known by its identity."""
    cast: frozenset[str]
    stories: tuple[tuple[tuple[syn.Story, req.StoryRequest], ...], ...]
    """The ``story()`` calls of each line, and the texts that they ask for."""
    constants: dict[str, req.StoryRequest]
    """The texts of the constants that the metadata fill by prompts, by register."""
    sizes: tuple[int, ...]
    """Parts of each line."""

    @classmethod
    def of(cls, game: Game) -> PreparedGame:
        facts, sites = game.metadata, count()
        usual, most = facts.story_tokens, facts.max_characters  # a longer text cannot be stored
        lines = tuple(map(_unshare, game.program.instructions))

        def request(tokens: int, prompt: str) -> req.StoryRequest:
            return req.StoryRequest(next(sites), tokens, prompt, facts.story_count)

        def asked(story: syn.Story) -> req.StoryRequest:
            if not DIALECTS[game.dialect].story_arguments:
                return request(usual, "")
            return request(min(story.tokens or usual, most), story.prompt)

        return cls(
            lines,
            frozenset(line.player for line in lines if isinstance(line, syn.Elicit)),
            tuple(tuple((each, asked(each)) for each in find(line, syn.Story)) for line in lines),
            {name: request(min(usual, most), text) for name, text in sorted(facts.prompts.items())},
            tuple(map(parts, lines)),
        )


def asked_stories(game: Game) -> tuple[req.StoryRequest, ...]:
    """The texts of a map of the game, in the order of their sites: its stories, then the constants
    that the metadata fill by prompts, in the order of their names."""
    prepared = PreparedGame.of(game)
    stories = [request for line in prepared.stories for _, request in line]
    return (*stories, *prepared.constants.values())


# The parser makes every node once, but a program built by edits may hold one call in two places,
# and each place needs its own answer.
def _unshare(line: syn.Instruction) -> syn.Instruction:
    nodes = descendants(line)
    has_answer = any(isinstance(node, syn.Story) or _makes_request(node) for node in nodes)
    return replace(transform(line, replace)) if has_answer else line


def _makes_request(node: Any) -> bool:
    return isinstance(node, syn.Function) and node.name in REQUEST_FUNCTIONS


def _request_calls(node: Any) -> Iterator[syn.Function]:
    """The calls in a node of a line that ask something, in the order of their evaluation."""
    for child in children(node):
        yield from _request_calls(child)
    if _makes_request(node):
        yield node


RequestGenerator = Generator[tuple[req.Request, ...], tuple[req.Answer, ...], Any]


class _ForfeitError(Exception):
    """A player has failed too often; its name is the message."""


Amount = tuple[
    float,
    tuple[tuple[int, syn.XentKind, req.TokenScores], ...],
    tuple[tuple[int, req.TokenScores], ...],
]
"""A sum in bits; sign, kind and per-token bits of each term; the signed cross-entropies."""


class Machine:
    """State of one instance: registers, position, counters, scores, event log."""

    def __init__(self, game: Game, plan: PreparedGame | None = None) -> None:
        self.game = game
        self.plan = plan or PreparedGame.of(game)
        self.dialect = DIALECTS[game.dialect]
        self.shown = game.shown
        self.flow = Flow(game.program)
        self.values = Values(self.dialect, game.metadata)
        self.meter = self.values.meter
        self.scores: defaultdict[str, float] = defaultdict(float)
        self.events: list[req.Event] = []
        self.lines: list[int] = []
        """The position of the line behind each event."""
        self.sights: dict[str, Sight] = {}
        self.failures: Counter[str | int] = Counter()
        self.steps = self.turns = 0
        self.visits: Counter[int] = Counter()
        self.last_elicit: tuple[int, str, Counter[int], int, int] | None = None
        """What a failed ensure returns to: the elicit, its player, the runs of each line and the
        moves before it, and how often it was returned to."""
        self.attempt = 0

    def play(self) -> Generator[tuple[req.Request, ...], tuple[req.Answer, ...], req.Play]:
        """Run to the end; yields requests, takes their answers, returns the :class:`Play`."""
        outcome, forfeiter, reason = "finished", "", ""
        try:
            yield from self._fill_constants()
            while not self.flow.done:
                yield from self._step()
        except _ForfeitError as forfeit:
            outcome, forfeiter = "forfeit", str(forfeit)
        except OversizeError as error:
            line = self.game.program.source_line(self.flow.position)
            outcome, reason = "oversize", f"line {line}: {error}"
        scores = {name: self.scores[name] for name in sorted({*self.plan.cast, *self.scores})}
        registers, events = self.values.non_empty(), tuple(self.events)
        return req.Play(outcome, scores, registers, events, self.steps, forfeiter, reason)

    def _fill_constants(self) -> RequestGenerator:
        """Fill the constants for which the metadata have prompts (§2.4.4)."""
        requests = self.plan.constants
        if not requests:
            return
        texts = yield from self._ask(tuple(requests.values()))
        for name, text in zip(requests, texts, strict=True):
            self.values.store(name, Text(self.values.within_limit(text)))
        self._log_registers(requests)

    def _step(self) -> RequestGenerator:
        self.steps += 1
        if self.steps > syn.MAX_EXECUTED:
            raise OversizeError(f"a play of more than {syn.MAX_EXECUTED} steps")
        instruction = self.plan.lines[self.flow.position]
        self.meter.spend(meter.STEP + meter.PART * self.plan.sizes[self.flow.position])
        self.values.begin(self.flow.position, self.visits[self.flow.position])
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
                yield from self._reveal(instruction)
        self.visits[self.flow.position] += 1
        self.flow.advance()

    def _log(self, event: req.Event, size: int, looks: float) -> None:
        """Append an event of ``size`` bytes; ``looks``: work for each player to read it."""
        self.meter.spend(looks * (1 + len(self.plan.cast)))
        self.meter.write(meter.EVENT + size)
        self.events.append(event)
        self.lines.append(self.flow.position)

    def _log_values(self, event: req.Assigned | req.Revealed) -> None:
        size = sum(meter.PAIR + meter.size(name) + meter.size(text) for name, text in event.values)
        self._log(event, size, meter.ITEM * len(event.values))

    def _log_registers(self, names: Iterable[str]) -> None:
        pairs = tuple((name, self.values.register_text(name)) for name in names)
        self._log_values(req.Assigned(pairs))

    def _ask(self, requests: tuple[req.Request, ...]) -> Generator[Any, Any, tuple[Any, ...]]:
        """Yield requests and return their answers; without requests, nothing is yielded."""
        self.meter.spend(meter.REQUEST * len(requests))
        return (yield requests) if requests else ()

    # -- instructions ----------------------------------------------------------------------

    def _assign(self, assign: syn.Assign) -> RequestGenerator:
        calls = self.plan.stories[self.flow.position]
        texts = yield from self._ask(tuple(request for _, request in calls))
        for (story, _), text in zip(calls, texts, strict=True):
            self.values.answers[id(story)] = Text(text)
        if self.dialect.parallel_assign:
            yield from self._assign_at_once(assign)
            return
        pairs = []
        for name, expression in assign.targets:
            self.values.store(name, (yield from self._value(expression)))
            pairs.append((name, self.values.register_text(name)))
        self._log_values(req.Assigned(tuple(pairs)))

    def _assign_at_once(self, assign: syn.Assign) -> RequestGenerator:
        """Evaluate all expressions, then store them; a register named twice keeps its first place
        and its last value. The text of a list changes with the registers that it holds."""
        values: dict[str, Value] = {}
        for name, expression in assign.targets:
            values[name] = yield from self._value(expression)
        for name, value in values.items():
            self.values.store(name, value)
        holders = self.values.holders(values)
        self._log_registers([*values, *(name for name in holders if name not in values)])

    def _elicit(self, elicit: syn.Elicit) -> RequestGenerator:
        attempt, self.attempt = self.attempt, 0
        before = self.visits.copy(), self.turns, attempt
        self.last_elicit = self.flow.position, elicit.player, *before
        metadata = self.game.metadata  # a longer text than the cap on characters cannot be stored
        max_len = min(elicit.max_len or metadata.max_len, metadata.max_characters)
        for place, name in enumerate(elicit.registers):
            view = req.View(elicit.player, self.shown, self._visible_items(elicit.player), name)
            self.meter.spend(meter.MOVE)
            request = req.MoveRequest(view, max_len, self.turns, self.flow.position, attempt)
            (answer,) = yield from self._ask((request,))
            move = cast(req.Move, answer)
            self.turns += 1
            self.values.store(name, Text(self.values.within_limit(move.text)))
            event = req.Moved(elicit.player, name, move, self.flow.position, place)
            self._log(event, meter.PAIR + meter.size(move.text), meter.ITEM)
            if holders := self.values.holders([name]):
                self._log_registers(holders)

    def _visible_items(self, player: str) -> tuple[req.Item, ...]:
        """What the player sees: the constants, then of the events."""
        values = tuple(sorted(self.game.metadata.constants.items()))
        constants = Sight(player).visible_items([req.Assigned(values)])
        if player not in self.sights:
            sight = self.sights[player] = Sight.for_game(self.game, player)
            sight.last_texts |= {item.label: item.text for item in constants}
        items = self.sights[player].visible_items(self.events)
        self.meter.spend(len(items))
        return constants + items

    def _ensure(self, ensure: syn.Ensure) -> Generator[Any, Any, bool]:
        if self.last_elicit is None and not self.dialect.early_ensure:
            line = self.game.program.source_line(self.flow.position)
            raise FlowError(f"line {line}: an ensure before any elicit")
        holds = yield from self._conditions(ensure.conditions)
        back = self.last_elicit
        player = back[1] if back else syn.MAIN_PLAYER
        key = self.flow.position if self.dialect.failures_per_line else player
        if not holds:
            self.failures[key] += 1
        elif self.dialect.failures_per_line:
            self.failures[key] = 0
        self._log(req.Ensured(player, holds, self.failures[key]), 0, meter.ITEM)
        if holds:
            return True
        if back is None or self.failures[key] > self.game.metadata.max_failures:
            raise _ForfeitError(player)
        # For random numbers nothing since the elicit happened, and only the retry's are new.
        self.flow.position, _, visits, self.turns, attempt = back
        self.visits, self.attempt = visits.copy(), attempt + 1
        return False

    def _conditions(self, conditions: tuple[syn.Condition, ...]) -> Generator[Any, Any, bool]:
        truths = list[req.Request]()
        for condition in conditions:
            if isinstance(condition, syn.Truth):
                truths.append((yield from self._truth_request(condition)))
        verdicts = iter((yield from self._ask(tuple(truths))))
        results = []
        for condition in conditions:
            if isinstance(condition, syn.Truth):
                results.append(bool(next(verdicts)) == condition.expected)
            else:
                results.append((yield from self._holds(condition)))
        return all(results)

    def _holds(self, condition: syn.Condition) -> Generator[Any, Any, bool]:
        match condition:
            case syn.Comparison(left, comparator, right):
                one, *_ = yield from self._amount(left)
                other, *_ = yield from self._amount(right)
                return compare(one, comparator, other)
            case syn.Test():
                yield from self._settle(condition)
                return self.values.holds(condition)
            case syn.Logic("not", (inner,)):
                return not (yield from self._holds(inner))
            case syn.Logic(word, parts):
                for part in parts:
                    if (yield from self._holds(part)) == (word == "or"):
                        return word == "or"
                return word == "and"
            case syn.Truth():
                return (yield from self._conditions((condition,)))
        yield from self._settle(condition)
        return bool(self.values.plain(condition))

    def _truth_request(self, truth: syn.Truth) -> Generator[Any, Any, req.Request]:
        yield from self._settle(truth)
        model, truth = unnamed(truth)
        texts = [self.values.text(part) for part in (truth.statement, *truth.params)]
        word = meter.RESPELLED if self.dialect.respelled_words else meter.WORD
        self.meter.spend((meter.SEND + word) * sum(map(len, texts)))
        rule = predicate(truth, self.values.text, self.dialect.respelled_words)
        named = named_texts(truth, self.values.text)
        return rule or req.TruthRequest(" ".join(texts), *named, self._model(model))

    def _model(self, name: str) -> str:
        """The model of a name in the program, empty if it has none: that of the metadata then."""
        name = name or self.game.metadata.judge
        return "" if name in RESERVED else name

    def _reward(self, reward: syn.Reward) -> RequestGenerator:
        amount = yield from self._amount(reward.amount)
        self._pay(reward.player, 1, amount)
        partner = syn.PARTNERS.get(reward.player)
        if partner in self.plan.cast:
            self._pay(partner, -1, amount)

    def _pay(self, player: str, sign: int, amount: Amount) -> None:
        if player == "env" and not self.dialect.env_rewarded:
            return
        total, all_terms, all_xents = amount
        bits = sign * total
        self.scores[player] += bits
        terms = tuple((sign * s, kind, scores) for s, kind, scores in all_terms)
        xents = tuple((sign * s, scores) for s, scores in all_xents)
        term_tokens, xent_tokens = (
            sum(len(part[-1].bits) for part in parts) for parts in (terms, xents)
        )
        size = meter.PAIR * (len(terms) + len(xents)) + meter.NUMBER * (term_tokens + xent_tokens)
        self._log(req.Rewarded(player, bits, terms, xents), size, meter.TOKEN * term_tokens)

    def _reveal(self, reveal: syn.Reveal) -> RequestGenerator:
        pairs = []
        for expression in reveal.values:
            value = yield from self._value(expression)
            pairs.append((expression_text(expression), self.values.as_text(value)))
        self._log_values(req.Revealed(reveal.player, tuple(pairs)))

    # -- expressions -----------------------------------------------------------------------

    def _settle(self, node: Any) -> RequestGenerator:
        """Request the answers of all calls in a node, each once, before the node is evaluated."""
        for call in _request_calls(node):
            request, argument = self.values.request(call)
            (answer,) = yield from self._ask((request,))
            self.values.settle(call, argument, answer)

    def _value(self, expression: syn.StringExpr | syn.ListExpr) -> Generator[Any, Any, Value]:
        yield from self._settle(expression)
        return self.values.value(expression)

    def _amount(self, amount: syn.Sum) -> Generator[Any, Any, Amount]:
        pairs = list[tuple[req.ScoreRequest, ...]]()
        for _, term in amount.terms:
            if isinstance(term, syn.Xent):
                pairs.append((yield from self._score_requests(term)))
            else:
                pairs.append(())
        answers = iter((yield from self._ask(tuple(chain(*pairs)))))
        bits, terms = 0.0, []
        xents: list[tuple[int, req.TokenScores]] = []
        for (sign, term), pair in zip(amount.terms, pairs, strict=True):
            if not isinstance(term, syn.Xent):
                bits += sign * (yield from self._number(term))
                continue
            xent = [cast(req.TokenScores, next(answers)) for _ in pair]
            self.meter.spend(meter.TOKEN * len(xent[0].bits))
            # xed(s|t,o) = xent(s,o) − xent(s|t,o); dex = −xed; nex = −xent (paper §2.4.3)
            scores = xent[0] - xent[1] if len(xent) == 2 else xent[0]
            scores = -scores if term.kind in ("nex", "dex") else scores
            bits += sign * scores.total
            terms.append((sign, term.kind, scores))
            # ε-clipping (Def. 30) caps each cross-entropy, not their difference, so the event keeps
            # the plain ones with the signs that they count with.
            first = -sign if term.kind in ("nex", "dex") else sign
            xents += zip((first, -first), xent, strict=False)
        return bits, tuple(terms), tuple(xents)

    def _number(self, term: syn.Number | syn.Function) -> Generator[Any, Any, float]:
        if isinstance(term, syn.Number):
            return term.value
        yield from self._settle(term)
        return float(self.values.plain(term))

    def _score_requests(self, term: syn.Xent) -> Generator[Any, Any, tuple[req.ScoreRequest, ...]]:
        """The request for the conditional score, after the unconditional one for differences."""
        yield from self._settle(term)
        name, before = split_name(term.outer)
        target = self.values.string(term.target)  # it may carry a prefix, where none is named
        prefix = self.values.text(term.prefix) if term.prefix else target.prefix
        outer = self.values.text(before) if before else ""
        self.meter.spend(meter.SEND * (len(target.text) + len(prefix) + len(outer)))
        scoring, model = self.dialect.scoring, self._model(name)
        contexts: list[tuple[str, ...]] = [(outer,), (outer, prefix)]
        if term.kind in ("xent", "nex"):
            del contexts[0]
        if not scoring.bos:
            contexts = [("".join(parts),) for parts in contexts]
        return tuple(
            req.ScoreRequest(target.text, tuple(filter(None, parts)), scoring, model)
            for parts in contexts
        )
