"""The open-ended schedule of scope growth, over small protocols (docs/specification.md, "The
open-ended schedule").

It differs from Algorithm 1 in three ways: parents are drawn from the whole scope by their yield,
candidates that seem to help and to be new stay in a pool, and the run continues while its yield is
high enough. Independent of language models. Every order and choice is a function of the seed and
the oracle's answers, in virtual order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic

from scipy import stats

from archive import Verdict
from evo.config.schema import GrowthConfig
from evo.search.findings import (
    LEAST_POWER,
    Finding,
    FindingT,
    GameT,
    OpenOracle,
    Prospect,
    Trial,
)
from evo.search.foresight import Foresight
from evo.search.growth import Candidate, Place, Sampler, ScopeMember
from evo.search.parents import ParentTally, draw_by_mass, draw_parent
from evo.search.virtual_order import PassRunner, Steps, Urgency, VirtualOrder, WorkT

HOUR = 3600.0
REGRET_LISTS = 2
"""Number of latest lists of new games over which the largest regret is taken."""

DULL_LISTS = 2
"""Number of lists in a row without a promising candidate of which one is examined all the same."""


class End(Enum):
    """Why the schedule ended."""

    ACCEPTED = "accepted"
    CANDIDATES = "candidates"
    YIELD = "yield"
    REGRET = "regret"
    PROPOSALS = "proposals"


@dataclass
class _List(Generic[GameT]):
    """A list of candidates of one parent, and the number of acceptance tests that its error still
    allows; ``forecasts``: the candidates that may be examined, each with its forecast."""

    number: int
    parent: GameT
    tests: int
    size: int
    screening: int
    forecasts: list[tuple[Candidate[GameT], Foresight]] = field(default_factory=list)
    examined_indices: set[int] = field(default_factory=set)
    """Indices of the candidates whose examination has begun."""

    def begin_examinations(self, share: float) -> list[Candidate[GameT]]:
        """Candidates to examine from now on: those that proved promising, up to ``share`` of the
        list, at least one. They do not wait for the others' screening, which a game that joins
        meanwhile makes better informed."""
        left = max(1, round(share * self.size)) - len(self.examined_indices)
        promising = [each for each, foresight in self.unexamined() if foresight.promising]
        return self._begin(promising[:left])

    def begin_closest(self) -> list[Candidate[GameT]]:
        """The candidate that comes closest to a promising one, if the list has any."""
        return self._begin([each for each, _ in self.unexamined()[:1]])

    def _begin(self, candidates: list[Candidate[GameT]]) -> list[Candidate[GameT]]:
        self.examined_indices |= {each.index for each in candidates}
        return candidates

    def unexamined(self) -> list[tuple[Candidate[GameT], Foresight]]:
        """The screened candidates whose examination has not begun, the most promising first."""
        ranking = sorted(self.forecasts, key=lambda each: (each[1].order, each[0].index))
        return [each for each in ranking if each[0].index not in self.examined_indices]


@dataclass(eq=False)
class _Contender(Generic[FindingT]):
    """A candidate in the pool; its γ is over the first ``compared_count`` games of the scope."""

    finding: FindingT
    origin: _List[Any]
    compared_count: int
    order: Urgency
    comparing: bool = False
    trials: list[Trial] = field(default_factory=list)


class OpenEnded(Generic[GameT, FindingT, WorkT]):
    """One run of the schedule; ``tests`` acceptance tests share the error of one list."""

    def __init__(
        self,
        initial: Sequence[GameT],
        oracle: OpenOracle[GameT, FindingT, WorkT],
        sampler: Sampler[GameT],
        runner: PassRunner[WorkT],
        settings: GrowthConfig,
        tests: int,
        seed: int = 0,
    ) -> None:
        self.oracle, self.sampler, self.settings = oracle, sampler, settings
        self.tests, self.seed = tests, seed
        self.members = [ScopeMember(game, 0) for game in initial]
        self.order = VirtualOrder[WorkT](runner, settings.virtual_workers)
        self.end: End | None = None
        self._candidate_count = 0
        self._in_progress = 0
        self._lists: Counter[GameT] = Counter()
        self._tallies: dict[GameT, ParentTally] = {}
        self._barren: set[GameT] = set()
        """Parents whose last list was empty, since the scope grew."""
        self._pool: list[_Contender[FindingT]] = []
        self._orphans: list[tuple[FindingT, _List[GameT], Urgency]] = []
        self._testing = False
        self._masses: Mapping[GameT, float] = {}
        self._regrets: list[float] = []
        """Regrets of new games, in the order in which they were examined."""
        self._newest_list: _List[GameT] | None = None
        self._dull_lists = 0
        """Number of latest lists without a promising candidate, since one of them was examined."""
        self._rated_size = 0
        """Number of games in the scope when it was last rated."""
        self._accepted_at: list[float] = []
        """Seconds of work at each acceptance."""
        self._outputs: list[list[ScopeMember[GameT]]] = [list(self.members)]

    def scopes(self) -> Iterator[list[ScopeMember[GameT]]]:
        """The scope at the start and after each acceptance; then ``end`` says why it ended."""
        initial_count = len(self.members)
        for scope in self.order.run(self._manage):
            yield scope
            if len(scope) - initial_count == self.settings.max_accepted:
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
        if self.settings.rates_scope and self._rated_size < len(self.members):
            self._rated_size = len(self.members)
            self.order.start(self._rating(), (1, -1, self._rated_size))
        acting = True
        while acting:
            acting = self._test_next() or self._adopt_all() or self._open_next()

    def _test_next(self) -> bool:
        """Begin an acceptance test, one at a time, when the whole pool is compared with the whole
        scope."""
        if self._testing or any(each.comparing for each in self._pool):
            return False
        for each in [each for each in self._pool if not self._has_future(each)]:
            self._leave(each, accepted=False)
            self.oracle.dismiss(each.finding, each.trials[-1] if each.trials else None)
        ready = [each for each in self._pool if self._pays(each)]
        if not ready:
            return False
        by_regret = self.settings.by_regret
        contender = min(
            ready, key=lambda each: acceptance_order(each.finding, by_regret, each.order)
        )
        self._testing = True
        contender.origin.tests -= 1
        self.order.start(self._test(contender), (0,))
        return True

    def _adopt_all(self) -> bool:
        """Look for parents of orphans, when no test may soon add a game to choose from."""
        if self._testing or any(each.comparing for each in self._pool) or not self._orphans:
            return False
        orphans, self._orphans = self._orphans, []
        for finding, origin, order in orphans:
            self.order.start(self._adoption(finding, origin, order), (2, *order))
        return True

    def _has_future(self, contender: _Contender[FindingT]) -> bool:
        """Whether its list has a test left and its chance of acceptance is at least
        ``LEAST_POWER``."""
        latest = contender.trials[-1] if contender.trials else contender.finding
        return latest.power >= LEAST_POWER and contender.origin.tests > 0

    def _pays(self, contender: _Contender[FindingT]) -> bool:
        """Whether the next test of a candidate is worth its plays. The first test always is. A
        repetition is, if its chance of acceptance per token is at least the run's accepted games
        per token, or if no further list will be opened."""
        if not contender.trials or self._is_closed():
            return True
        rate = (len(self._accepted_at) + 0.5) / max(1, self.order.total_cost.tokens)
        trial = contender.trials[-1]
        return trial.power / trial.tokens >= rate

    def _open_next(self) -> bool:
        """Open another list while few candidates are being screened or examined."""
        if self._in_progress > self.settings.lookahead or self._is_closed():
            return False
        parents = [game for game in self.games if game not in self._barren]
        number = self._lists.total()
        parent = self._parent(parents, number)
        depth = next(member.generation for member in self.members if member.game == parent)
        place = Place(depth, parent, self._lists[parent])
        games = self.sampler.propose(place, self.games, self._list_size)
        self._lists[parent] += 1
        if not games:
            self._barren.add(parent)
        count = len(games)
        origin = _List(number, parent, self.tests, count, count)
        self._newest_list = origin if games else self._newest_list
        self._candidate_count += count
        self._in_progress += count
        for index, game in enumerate(games):
            process = self._screening(Candidate(game, place, index), origin)
            self.order.start(process, (2, number, 1, index))
        return True

    def _parent(self, parents: Sequence[GameT], number: int) -> GameT:
        """Parent of the list of this number."""
        weight, key = self.settings.mass_weight, (self.seed, number)
        heavy = draw_by_mass(parents, self._masses, weight, *key) if weight else None
        return draw_parent(parents, self._tallies, *key) if heavy is None else heavy

    @property
    def _list_size(self) -> int:
        """Size of the next list; 0 if the budget of candidates is used up."""
        size, most = self.settings.list_size, self.settings.max_candidates
        return size if most is None else min(size, most - self._candidate_count)

    def _is_closed(self) -> bool:
        """Whether no further list can be opened now; sets ``end`` if none will be opened later
        either."""
        if self.end is None:
            if self._list_size <= 0:
                self.end = End.CANDIDATES
            elif self.yield_bound < self.settings.least_yield:
                self.end = End.YIELD
            elif self.largest_regret < self.settings.least_regret:
                self.end = End.REGRET
        return self.end is not None or self._barren.issuperset(self.games)

    @property
    def yield_bound(self) -> float:
        """Upper 95 % bound on accepted games a core-hour (:func:`yield_bound`)."""
        least, now = self.settings.least_yield, self.order.total_cost.seconds / HOUR
        return yield_bound([at / HOUR for at in self._accepted_at], now, least)

    @property
    def largest_regret(self) -> float:
        """Largest regret of the new games of the last ``REGRET_LISTS`` lists; infinite before the
        regrets of that many games are known."""
        window = REGRET_LISTS * self.settings.list_size
        return max(self._regrets[-window:]) if len(self._regrets) >= window else float("inf")

    # -- processes -----------------------------------------------------------------------------

    def _rating(self) -> Steps[WorkT, None]:
        """Rate the scope as it is now."""
        self._masses = yield from self.oracle.rate_scope(self.games)

    def _screening(self, candidate: Candidate[GameT], origin: _List[GameT]) -> Steps[WorkT, None]:
        """Screen one candidate, then examine it if it is promising."""
        foresight = yield from self.oracle.screen(candidate, self.games)
        self._in_progress -= 1
        origin.screening -= 1
        if foresight is None:
            self._tally(origin.parent, accepted=False)
        else:
            origin.forecasts.append((candidate, foresight))
        self._examine(origin)

    def _examine(self, origin: _List[GameT]) -> None:
        """Examine the promising candidates of a list. Foresight may be wrong, so of every second
        list in a row without any, and of the last list, examine the one that comes closest."""
        self._begin_all(origin.begin_examinations(self.settings.examined_share), origin)
        if origin.screening:
            return
        self._dull_lists = 0 if origin.examined_indices else self._dull_lists + 1
        is_last = origin is self._newest_list and self._list_size <= 0
        if self._dull_lists == DULL_LISTS or (self._dull_lists and is_last):
            self._begin_all(origin.begin_closest(), origin)
            self._dull_lists = 0
        for candidate, foresight in origin.unexamined():
            self.oracle.pass_over(candidate, self.games, foresight)
            self._tally(origin.parent, accepted=False)

    def _begin_all(self, candidates: Sequence[Candidate[GameT]], origin: _List[GameT]) -> None:
        first = len(origin.examined_indices) - len(candidates)
        for rank, candidate in enumerate(candidates, first):
            self._in_progress += 1
            order = (origin.number, 0, rank)
            self.order.start(self._examination(candidate, origin, order), (2, *order))

    def _examination(
        self, candidate: Candidate[GameT], origin: _List[GameT], order: Urgency
    ) -> Steps[WorkT, None]:
        """Examine a screened candidate, until it is in the pool or decided."""
        scope = self.games
        finding = yield from self.oracle.examine(candidate, scope)
        self._in_progress -= 1
        if finding.prospect is Prospect.ORPHAN:
            self._orphans.append((finding, origin, order))
        else:
            self._conclude(finding, origin, order, len(scope))

    def _adoption(
        self, orphan: FindingT, origin: _List[GameT], order: Urgency
    ) -> Steps[WorkT, None]:
        """Take an orphan to the pool if it helps another game than its parent."""
        scope = self.games
        finding = yield from self.oracle.adopt(orphan, scope)
        self._conclude(finding, origin, order, len(scope))

    def _conclude(
        self, finding: FindingT, origin: _List[GameT], order: Urgency, scope_size: int
    ) -> None:
        if finding.regret is not None:
            self._regrets.append(finding.regret)
        if finding.prospect is not Prospect.NEW:
            self._tally(origin.parent, accepted=False)
            return
        contender = _Contender(finding, origin, scope_size, order)
        self._pool.append(contender)
        self._compare(contender)

    def _compare(self, contender: _Contender[FindingT]) -> None:
        """Measure a contender against the games that joined the scope since, if any did."""
        if contender.compared_count < len(self.members) and not contender.comparing:
            contender.comparing = True
            self.order.start(self._comparison(contender), (1, *contender.order))

    def _comparison(self, contender: _Contender[FindingT]) -> Steps[WorkT, None]:
        while contender.compared_count < len(self.members):
            newer = self.games[contender.compared_count :]
            contender.compared_count += len(newer)
            contender.finding = yield from self.oracle.compare(contender.finding, newer)
            if contender.finding.prospect is not Prospect.NEW:
                self._leave(contender, accepted=False)
                return
        contender.comparing = False

    def _test(self, contender: _Contender[FindingT]) -> Steps[WorkT, None]:
        """An acceptance test. It is the only one at a time, so the scope cannot change
        meanwhile."""
        repeat = len(contender.trials)
        trial = yield from self.oracle.test(contender.finding, self.games, repeat)
        self._testing = False
        contender.trials.append(trial)
        if trial.verdict is Verdict.ACCEPTED:
            self._accept(contender, trial)
        elif trial.verdict is not Verdict.UNDECIDED:
            self._leave(contender, accepted=False)

    def _accept(self, contender: _Contender[FindingT], trial: Trial) -> None:
        finding = contender.finding
        parent = next(member for member in self.members if member.game == finding.parent)
        game, depth = finding.candidate.game, parent.generation + 1
        self.members.append(ScopeMember(game, depth, trial.gamma, parent.game))
        self._accepted_at.append(self.order.total_cost.seconds)
        self._outputs.append(list(self.members))
        self._barren.clear()
        self._leave(contender, accepted=True)
        for other in list(self._pool):
            self._compare(other)

    def _leave(self, contender: _Contender[FindingT], accepted: bool) -> None:
        self._pool.remove(contender)
        self._tally(contender.origin.parent, accepted)

    def _tally(self, parent: GameT, accepted: bool) -> None:
        self._tallies[parent] = self._tallies.get(parent, ParentTally()) + ParentTally(
            int(accepted), 1
        )


def acceptance_order(
    finding: Finding[Any], by_regret: bool, order: Urgency
) -> tuple[float, float, float, Urgency]:
    """Sort key of a candidate in the pool; the smallest key is tested first. In this order: largest
    regret (only if ``by_regret``), largest power, smallest γ, earliest proposal."""
    regret = (finding.regret or 0.0) if by_regret else 0.0
    return (-regret, -finding.power, finding.gamma or 0.0, order)


def yield_bound(accepted_at: Sequence[float], now: float, least: float) -> float:
    """Upper 95 % bound (Garwood 1936, Fiducial limits for the Poisson distribution) on accepted
    games per core-hour, computed over a window of the latest core-hours. The window is so long that
    two accepted games in it give a bound of exactly ``least``.

    ``accepted_at`` and ``now`` in core-hours; infinite at the start.
    """
    if now <= 0 or least <= 0:
        return float("inf")
    window = min(now, float(stats.gamma.ppf(0.95, 3)) / least)
    recent = sum(at > now - window for at in accepted_at)
    return float(stats.gamma.ppf(0.95, recent + 1)) / window
