"""The open-ended schedule of scope growth, over small protocols (docs/specification.md, "The
open-ended schedule").

Parents are drawn from the whole scope by their yield, candidates are fine-tuned on if a forecast
promises something, those that passed selection stay in a pool, and the run continues while its
yield is high enough. Independent of language models. Every order and choice is a function of the
seed and the oracle's answers, in virtual order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Protocol

from scipy import stats

from archive import Reason, Verdict
from evo.config.schema import GrowthConfig
from evo.growth.algorithm import (
    AcceptanceResult,
    AssessmentT,
    Candidate,
    GameT,
    Oracle,
    Place,
    Sampler,
    ScopeMember,
    Selection,
    list_size,
)
from evo.growth.forecast import Forecast
from evo.growth.virtual_order import Runner, Urgency, VirtualOrder
from evo.record.steps import RequestT, RequestT_co, Steps
from xgl.random_streams import stream

HOUR = 3600.0
LEAST_POWER = 0.05
"""Chance of acceptance below which a candidate is not tested, nor an undecided test continued."""
DULL_LISTS = 2
"""Number of lists in a row without a promising candidate of which one is examined all the same."""


# -- which game of the scope gets the next list: a bandit ------------------------------------------
# Thompson sampling (Thompson 1933, On the likelihood that one unknown probability exceeds another,
# Biometrika 25; for verdicts that come late Chapelle and Li 2011, An empirical evaluation of
# Thompson sampling, NeurIPS): a parent's chance that a candidate of its lists joins the scope has a
# Beta posterior, one draw is taken for each parent, and the largest draw gets the list. Games that
# had none come before, the newest first.

STRENGTH = 10.0
"""Weight of the prior, in candidates at the common rate: about one list."""
FIRST_GUESS = 0.1
"""The common rate before anything was judged, with the weight of ``STRENGTH`` candidates."""


def draw_parent(
    parents: Sequence[GameT],
    accepted: Mapping[GameT, int],
    decided: Mapping[GameT, int],
    *key: int | str,
) -> GameT:
    """The parent with the largest draw; ``key`` names the draw. ``accepted``, ``decided``: numbers
    of candidates of each parent's lists so far; the prior mean of its rate is the run's.
    ``parents`` must not be empty."""
    own = [(accepted.get(each, 0), decided.get(each, 0)) for each in parents]
    prior = STRENGTH * FIRST_GUESS
    rate = (sum(accepted.values()) + prior) / (sum(decided.values()) + STRENGTH)
    chance = stream("parent", *key)
    draws = [chance.beta(STRENGTH * rate + a, STRENGTH * (1 - rate) + n - a) for a, n in own]
    return parents[max(range(len(parents)), key=draws.__getitem__)]


# -- the schedule ----------------------------------------------------------------------------------


class End(Enum):
    """Why the schedule ended."""

    ACCEPTED = "accepted"
    CANDIDATES = "candidates"
    YIELD = "yield"
    PROPOSALS = "proposals"


class OpenOracle(Oracle[GameT, AssessmentT, RequestT_co], Protocol):
    """Judges candidates stage by stage, each in a process of its own."""

    def learn(self, initial: Sequence[GameT]) -> Steps[RequestT_co, list[GameT]]:
        """Fine-tune on the initial games; returns those that fine-tuning improves."""

    def screen(
        self, candidate: Candidate[GameT], scope: Sequence[GameT]
    ) -> Steps[RequestT_co, bool]:
        """Whether a candidate can be played and teaches anything; else its refusal is recorded."""

    def forecast(
        self, candidate: Candidate[GameT], scope: Sequence[GameT]
    ) -> Steps[RequestT_co, Forecast]:
        """Cheap forecast of a screened candidate's outcome."""

    def pass_over(
        self, candidate: Candidate[GameT], scope: Sequence[GameT], forecast: Forecast
    ) -> None:
        """Record that it is not examined."""

    def examine(
        self, candidate: Candidate[GameT], scope: Sequence[GameT]
    ) -> Steps[RequestT_co, AssessmentT]:
        """Learning, and selection with the parent that the candidate was proposed for."""

    def try_other_parents(
        self, assessment: AssessmentT, scope: Sequence[GameT]
    ) -> Steps[RequestT_co, AssessmentT]:
        """Selection of an unhelpful candidate with another parent of the scope, which it helps."""

    def compare(
        self, assessment: AssessmentT, newer: Sequence[GameT]
    ) -> Steps[RequestT_co, AssessmentT]:
        """The candidate, measured also against the games that have joined the scope since."""


@dataclass(eq=False)
class _List(Generic[GameT]):
    """A list of candidates of one parent, opened when ``joined`` games had joined the scope, and
    the number of acceptance ``tests`` that its error still allows; then its candidates by number:
    all, and where they are. It is empty if the sampler had nothing new."""

    number: int
    parent: GameT
    joined: int
    tests: int
    size: int
    screening: int
    forecasts: list[tuple[Candidate[GameT], Forecast]] = field(default_factory=list)
    """The screened ones whose examination has not begun, the most promising first."""
    examined: int = 0
    """Those whose examination has begun; ``examining`` ones are still in it."""
    examining: int = 0
    decided: int = 0
    accepted: int = 0


@dataclass(eq=False)
class _PoolEntry(Generic[AssessmentT]):
    """An examined candidate, of the pool if it passed; its γ is over the first ``compared_count``
    games of the scope. ``busy``: it is being compared or tested."""

    assessment: AssessmentT
    origin: _List[Any]
    order: Urgency
    compared_count: int
    busy: bool = False
    results: list[AcceptanceResult] = field(default_factory=list)

    @property
    def latest(self) -> AssessmentT | AcceptanceResult:
        """Of the last test, or of the selection."""
        return self.results[-1] if self.results else self.assessment


@dataclass(eq=False)
class OpenEnded(Generic[GameT, AssessmentT, RequestT]):
    """One run of the schedule; ``tests`` acceptance tests share the error of one list. An initial
    game that is not learned ends the run or, with ``growth.unplayable_initial=keep``, is left out
    of the scope; only in the first case are lists screened while the games are learned."""

    initial: Sequence[GameT]
    oracle: OpenOracle[GameT, AssessmentT, RequestT]
    sampler: Sampler[GameT]
    runner: Runner[RequestT]
    settings: GrowthConfig
    tests: int
    seed: int = 0

    def __post_init__(self) -> None:
        self.members = [ScopeMember(game, 0) for game in self.initial]
        self.order = VirtualOrder[RequestT](self.runner, self.settings.virtual_workers)
        self.end: End | None = None
        self.last_bound = math.inf
        """Upper bound on accepted games a core-hour at which no further list was opened."""
        self._lists: list[_List[GameT]] = []
        """All so far, from which the schedule's numbers are counted."""
        self._pool: list[_PoolEntry[AssessmentT]] = []
        self._unhelpful: list[_PoolEntry[AssessmentT]] = []
        self._dull_lists = 0
        """Number of latest lists without a promising candidate, since one of them was examined."""
        self._accepted_at: list[float] = []
        """Seconds of work at each acceptance."""
        self._outputs: list[list[ScopeMember[GameT]]] = []
        self._is_learned = False
        """Whether the initial games are; until then what was screened waits for its forecast."""
        self._screened: list[tuple[Candidate[GameT], _List[GameT]]] = []

    def scopes(self) -> Iterator[list[ScopeMember[GameT]]]:
        """The scope at the start and after each acceptance; then ``end`` says why it ended."""
        self.order.start(self._learning(), (0,))
        for scope in self.order.run(self._manage):
            yield scope
            if len(self._accepted_at) == self.settings.max_accepted:
                self.end = End.ACCEPTED
                return
        self.end = self.end or End.PROPOSALS

    @property
    def games(self) -> tuple[GameT, ...]:
        """The scope, in the order of acceptance."""
        return tuple(member.game for member in self.members)

    # -- what to do next -----------------------------------------------------------------------

    def _manage(self) -> Iterator[list[ScopeMember[GameT]]]:
        """Yield the scopes that formed, then start every process that can start."""
        yield from self._outputs
        self._outputs.clear()
        acting = True
        while acting:
            # No test that may enlarge the scope, and the whole pool is compared with all of it.
            is_settled = not any(each.busy for each in self._pool)
            acting = is_settled and (self._test_next() or self._try_other_parents())
            acting = acting or self._open_next()

    def _test_next(self) -> bool:
        """Begin an acceptance test, one at a time, once all is settled."""
        # A candidate has a future while its list has a test left and it may well pass.
        lost = (e for e in self._pool if e.latest.power < LEAST_POWER or not e.origin.tests)
        for each in [*lost]:
            self._leave(each, accepted=False)
            unlikely = each.assessment.power < LEAST_POWER
            reason = Reason.UNLIKELY if unlikely else Reason.RIVALS_TESTED
            last = each.results[-1] if each.results else None
            self.oracle.dismiss(each.assessment, last, reason)
        ready = [each for each in self._pool if self._pays(each)]
        if not ready:
            return False
        # The likeliest first, among equals the smallest γ, then the earliest proposal.
        entry = min(ready, key=lambda e: (-e.latest.power, e.assessment.gamma or 0.0, e.order))
        entry.busy = True
        entry.origin.tests -= 1
        self.order.start(self._test(entry), (0,))
        return True

    def _try_other_parents(self) -> bool:
        """Look for other parents of unhelpful candidates, when no test may soon add one."""
        unhelpful, self._unhelpful = self._unhelpful, []
        for entry in unhelpful:
            self.order.start(self._other_parents(entry), (2, *entry.order))
        return bool(unhelpful)

    def _pays(self, entry: _PoolEntry[AssessmentT]) -> bool:
        """Whether the next test of a candidate is worth its plays. The first test always is. A
        repetition is, if its chance of acceptance per token is at least the run's accepted games
        per token, or if no further list will be opened."""
        if not entry.results or self._is_closed():
            return True
        rate = (len(self._accepted_at) + 0.5) / max(1, self.order.total_cost.tokens)
        result = entry.results[-1]
        return result.power / result.tokens >= rate

    def _open_next(self) -> bool:
        """Open another list while few candidates are being screened or examined."""
        too_early = not self._is_learned and self.settings.unplayable_initial == "keep"
        in_progress = sum(each.screening + each.examining for each in self._lists)
        if too_early or in_progress > self.settings.lookahead or self._is_closed():
            return False
        number, parent = len(self._lists), self._next_parent()
        earlier = sum(each.parent == parent for each in self._lists)
        place = Place(self._member(parent).generation, parent, earlier)
        games = self.sampler.propose(place, self.games, self._list_size)
        count, joined = len(games), len(self._accepted_at)
        origin = _List(number, parent, joined, self.tests, size=count, screening=count)
        self._lists.append(origin)
        for index, game in enumerate(games):
            process = self._screening(Candidate(game, place, index), origin)
            self.order.start(process, (2, number, 1, index))
        return True

    def _next_parent(self) -> GameT:
        """The newest game without a list, else the one that the bandit draws; of no barren one."""
        accepted, decided = Counter[GameT](), Counter[GameT]()
        for each in self._lists:
            accepted[each.parent] += each.accepted
            decided[each.parent] += each.decided
        parents = [game for game in self.games if game not in self._barren]
        unexplored = [game for game in parents if game not in decided]  # a list counts 0 at least
        at = self.seed, len(self._lists)
        return draw_parent(unexplored[-1:] or parents, accepted, decided, *at)

    @property
    def _barren(self) -> set[GameT]:
        """Parents of an empty list since the scope grew."""
        joined = len(self._accepted_at)
        return {each.parent for each in self._lists if not each.size and each.joined == joined}

    @property
    def _list_size(self) -> int:
        """Size of the next list."""
        return list_size(self.settings, sum(each.size for each in self._lists))

    def _member(self, game: GameT) -> ScopeMember[GameT]:
        return next(member for member in self.members if member.game == game)

    def _is_closed(self) -> bool:
        """Whether no further list can be opened now; sets ``end`` if none will be opened later."""
        if self.end is None and self._list_size <= 0:
            self.end = End.CANDIDATES
        if self.end is None:
            least, now = self.settings.least_yield, self.order.total_cost.seconds / HOUR
            bound = yield_bound([at / HOUR for at in self._accepted_at], now, least)
            if bound < least:
                self.end, self.last_bound = End.YIELD, bound
        return self.end is not None or self._barren.issuperset(self.games)

    # -- processes -----------------------------------------------------------------------------

    def _learning(self) -> Steps[RequestT, None]:
        """Learn the initial games, then go on with what was screened meanwhile."""
        games = yield from self.oracle.learn(self.games)
        self.members = [member for member in self.members if member.game in games]
        self._outputs.append(list(self.members))
        self._is_learned = True
        for candidate, origin in self._screened:
            urgency = (2, origin.number, 1, candidate.index)
            self.order.start(self._forecasting(candidate, origin), urgency)

    def _screening(
        self, candidate: Candidate[GameT], origin: _List[GameT]
    ) -> Steps[RequestT, None]:
        """Screen one candidate; if it can be played, forecast its outcome."""
        is_playable = yield from self.oracle.screen(candidate, self.games)
        if not is_playable:
            origin.decided += 1
            self._examine(origin)
        elif self._is_learned:
            yield from self._forecasting(candidate, origin)
        else:
            self._screened.append((candidate, origin))

    def _forecasting(
        self, candidate: Candidate[GameT], origin: _List[GameT]
    ) -> Steps[RequestT, None]:
        """Forecast the outcome of a screened candidate, then examine it if it is promising."""
        forecast = Forecast()
        if self.settings.examined_share < 1:
            forecast = yield from self.oracle.forecast(candidate, self.games)
        origin.forecasts.append((candidate, forecast))
        origin.forecasts.sort(key=lambda each: (each[1].order, each[0].index))
        self._examine(origin)

    def _examine(self, origin: _List[GameT]) -> None:
        """After each candidate of a list that is screened: examine the promising ones, up to a
        share of the list, at least one. They do not wait for the others' screening, which a game
        that joins meanwhile makes better informed. Forecasts may be wrong, so of every second list
        in a row without any, and of the last list, examine the one that comes closest."""
        origin.screening -= 1
        left = max(1, round(self.settings.examined_share * origin.size))
        promising = [each for each in origin.forecasts if each[1].promising]
        for each in promising[: left - origin.examined]:
            self._begin(each, origin)
        if origin.screening:
            return
        self._dull_lists = 0 if origin.examined else self._dull_lists + 1
        is_newest = not any(each.size for each in self._lists[origin.number + 1 :])
        is_last = is_newest and (self._list_size <= 0 or self.end is not None)
        if self._dull_lists >= DULL_LISTS or (self._dull_lists and is_last):
            for each in origin.forecasts[:1]:
                self._begin(each, origin)
                self._dull_lists = 0
        for candidate, forecast in origin.forecasts:
            self.oracle.pass_over(candidate, self.games, forecast)
            origin.decided += 1

    def _begin(self, screened: tuple[Candidate[GameT], Forecast], origin: _List[GameT]) -> None:
        order = (origin.number, 0, origin.examined)
        origin.forecasts.remove(screened)
        origin.examined += 1
        origin.examining += 1
        self.order.start(self._examination(screened[0], origin, order), (2, *order))

    def _examination(
        self, candidate: Candidate[GameT], origin: _List[GameT], order: Urgency
    ) -> Steps[RequestT, None]:
        """Examine a screened candidate, until it is in the pool or decided."""
        scope = self.games
        assessment = yield from self.oracle.examine(candidate, scope)
        origin.examining -= 1
        entry = _PoolEntry(assessment, origin, order, len(scope))
        if assessment.selection is Selection.UNHELPFUL:
            self._unhelpful.append(entry)
        else:
            self._conclude(entry)

    def _other_parents(self, entry: _PoolEntry[AssessmentT]) -> Steps[RequestT, None]:
        """Take an unhelpful candidate to the pool if it helps another game than its parent."""
        scope = self.games
        entry.assessment = yield from self.oracle.try_other_parents(entry.assessment, scope)
        entry.compared_count = len(scope)
        self._conclude(entry)

    def _conclude(self, entry: _PoolEntry[AssessmentT]) -> None:
        if entry.assessment.selection is Selection.PASSED:
            self._pool.append(entry)
            self._compare(entry)
        else:
            entry.origin.decided += 1

    def _compare(self, entry: _PoolEntry[AssessmentT]) -> None:
        """Measure an entry against the games that joined the scope since, if any did."""
        if entry.compared_count < len(self.members) and not entry.busy:
            entry.busy = True
            self.order.start(self._comparison(entry), (1, *entry.order))

    def _comparison(self, entry: _PoolEntry[AssessmentT]) -> Steps[RequestT, None]:
        while entry.compared_count < len(self.members):
            newer = self.games[entry.compared_count :]
            entry.compared_count += len(newer)
            entry.assessment = yield from self.oracle.compare(entry.assessment, newer)
            if entry.assessment.selection is not Selection.PASSED:
                self._leave(entry, accepted=False)
                return
        entry.busy = False

    def _test(self, entry: _PoolEntry[AssessmentT]) -> Steps[RequestT, None]:
        """An acceptance test, the only one at a time, so that the scope cannot change meanwhile."""
        result = yield from self.oracle.test(entry.assessment, self.games, len(entry.results))
        entry.busy = False
        entry.results.append(result)
        if result.verdict is Verdict.ACCEPTED:
            self._accept(entry, result)
        elif result.verdict is not Verdict.UNDECIDED:
            self._leave(entry, accepted=False)

    def _accept(self, entry: _PoolEntry[AssessmentT], result: AcceptanceResult) -> None:
        game, parent = entry.assessment.candidate.game, self._member(entry.assessment.parent)
        depth = parent.generation + 1
        self.members.append(ScopeMember(game, depth, result.gamma, parent.game))
        self._accepted_at.append(self.order.total_cost.seconds)
        self._outputs.append(list(self.members))
        self._leave(entry, accepted=True)
        for other in list(self._pool):
            self._compare(other)

    def _leave(self, entry: _PoolEntry[AssessmentT], accepted: bool) -> None:
        self._pool.remove(entry)
        entry.origin.accepted += accepted
        entry.origin.decided += 1


def yield_bound(accepted_at: Sequence[float], now: float, least: float) -> float:
    """Upper 95 % bound (Garwood 1936, Fiducial limits for the Poisson distribution) on accepted
    games per core-hour, computed over a window of the latest core-hours. The window is so long that
    two accepted games in it give a bound of exactly ``least``.

    ``accepted_at`` and ``now`` in core-hours; infinite at the start.
    """
    if now <= 0 or least <= 0:
        return float("inf")
    of_two = float(stats.gamma.ppf(0.95, 3))
    window = min(now * least / of_two, 1.0)  # in units of the longest one, so that no rounding ends
    recent = sum(at > now - window * of_two / least for at in accepted_at)
    return least * float(stats.gamma.ppf(0.95, recent + 1) / of_two) / window
