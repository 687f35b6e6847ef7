"""The plays that a race's questions need, and the gains computed from those in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

from archive import Purpose
from archive.plays import Plays
from archive.schema import BASE_POLICY, SCRIPT_POLICY, Definition, GainKind
from archive.statistics.intervals import Scores, gains, replicated_gains
from archive.statistics.race import Bounds, CandidateBounds, Question
from archive.statistics.rule import Answer, Evidence, Looks, OwnGain, Thresholds, is_learned
from archive.statistics.scripts import (
    Headroom,
    ScriptComparison,
    compare,
    contenders,
    headroom,
    script_confidence,
)
from evo.config.schema import BLOCK
from evo.growth.algorithm import Place
from evo.growth.forecast import Forecast, expected_coverage, expected_help
from evo.jobs.evaluation import Task
from evo.record.collector import Collector
from evo.record.requests import PlayRequest, SeedSet
from xgl.players.scripts import SCRIPTS
from xgl.random_streams import seed as named_seed

CLEAR = 0.4
"""A gain is clear if its lower bound is above this share of it. Transfer values are shares of
gains: while a gain is uncertain, they cannot be decided."""


@dataclass(frozen=True)
class Stage:
    """One stage of testing, selection or acceptance: the purpose and the first play seed of its
    plays, its looks and its thresholds. ``scan``: games of the scope in the first chunk."""

    collector: Collector
    purpose: Purpose
    looks: Looks
    thresholds: Thresholds
    scan: int
    first_play: int = 0

    def seeds(self, plays: int) -> SeedSet:
        """The first ``plays`` pairs of seeds of this stage."""
        return self.collector.seeds(self.purpose, plays, self.first_play)

    def no_evidence(self, parent: Task, scope: Sequence[Task]) -> Evidence:
        """Evidence before the first play."""
        ids = self.collector.attempt_ids([parent, *scope])
        return Evidence(self.purpose, self.looks, self.first_play, ids)

    def of_list(self, place: Place[Task]) -> Self:
        """This stage with play seeds of its own for a list, so that one unlucky set of maps does
        not cause errors in several lists."""
        facts = (place.parent_generation, *place.parent.id, place.round)
        return replace(self, first_play=named_seed(self.purpose, *facts, bits=40))

    def plays(
        self, candidate: Task, parent: Task, scope: Sequence[Task], question: Question
    ) -> list[PlayRequest]:
        """The plays that a question is answered from."""
        collector = self.collector
        at = (self.purpose, self.seeds(question.plays))
        sources = [task for task in scope if task.id in question.scope_games]
        requests: list[PlayRequest] = []
        if question.own or sources:
            requests += collector.own_plays(candidate, *at)
        if question.helps:
            requests += collector.own_plays(parent, *at)
            requests += collector.cross_requests([candidate], parent, *at)
        requests += collector.cross_requests(sources, candidate, *at)
        others = [parent] if question.parent_cross_ratio else []
        for other in [*others, *(task for task in scope if task.id in question.cross_ratio_games)]:
            requests += collector.own_plays(candidate, *at) + collector.own_plays(other, *at)
            requests += collector.cross_requests([candidate], other, *at)
            requests += collector.cross_requests([other], candidate, *at)
        if question.helps and self.purpose is Purpose.SELECTION:  # its own gain is established
            requests += self.script_requests(candidate, self.script_plays)
        if self.thresholds.definition == Definition.DEF37:
            for task in sources:
                for rank in range(self.attempts(task)):
                    requests += collector.own_plays(task, *at, rank)
        return requests

    def blocks(self, requests: Iterable[PlayRequest]) -> list[PlayRequest]:
        """Requests of this stage cut at its looks, so that the same plays are always requested in
        the same blocks, and after every ``BLOCK`` plays, so that workers share a game whose plays
        are long."""
        transfer, is_selection = self.collector.config.transfer, self.purpose is Purpose.SELECTION
        looks = {*transfer.selection_plays, self.screening_plays}
        looks = looks if is_selection else {*transfer.acceptance_plays}
        blocks: list[PlayRequest] = []
        for request in requests:
            count = len(request.seeds)
            doublings = {max(looks) * 2**k for k in range(count.bit_length())}
            inner = looks | doublings | {*range(BLOCK, count, BLOCK)}
            edges = sorted({0, count, *(edge for edge in inner if edge < count)})
            blocks += [replace(request, seeds=request.seeds[a:b]) for a, b in pairwise(edges)]
        return blocks

    @property
    def script_plays(self) -> int:
        """Number of first plays that scripts make too; few, if no decision depends on them."""
        first = self.collector.config.transfer.acceptance_plays[0]
        return first if self.purpose is Purpose.ACCEPTANCE else self.screening_plays

    @property
    def screening_plays(self) -> int:
        """Number of first plays of selection that all scripts make, before a fine-tune."""
        transfer = self.collector.config.transfer
        return min(transfer.script_plays, transfer.selection_plays[0])

    def script_requests(self, task: Task, plays: int) -> list[PlayRequest]:
        """Every scripted player on the first seeds on which the game's own fine-tune plays."""
        at = task, self.purpose, self.seeds(plays)
        return [PlayRequest(f"{SCRIPT_POLICY}{name}", *at) for name in SCRIPTS]

    def contender_requests(self, task: Task, plays: int) -> list[PlayRequest]:
        """The same for the scripts that may be the best by the first plays of selection
        (:func:`contenders`), which all must have made; for all scripts at these plays."""
        requests, first = self.script_requests(task, plays), self.screening_plays
        if self.purpose is Purpose.SELECTION and plays <= first:
            return requests
        before = replace(self, purpose=Purpose.SELECTION, first_play=0)
        names = contenders(self._samples(before.script_requests(task, first)))
        return [each for each in requests if each.policy_id in names]

    def scope_script_requests(
        self, task: Task, scope: Sequence[Task], plays: int
    ) -> Iterator[list[PlayRequest]]:
        """For each game of the scope the scripts that may be the best on it, or on ``task``."""
        names = {each.policy_id for each in self.contender_requests(task, plays)}
        for game in scope:
            may_be_best = names | {each.policy_id for each in self.contender_requests(game, plays)}
            scripts = self.script_requests(game, plays)
            yield [each for each in scripts if each.policy_id in may_be_best]

    def headroom(self, task: Task) -> Headroom:
        """Gain of scripted players from looking at the map; they must have played."""
        return headroom([*self._samples(self.script_requests(task, self.script_plays)).values()])

    def _samples(self, requests: Sequence[PlayRequest]) -> dict[str, Plays]:
        """Plays that have been made, by policy."""
        ledger = self.collector.ledger
        return {each.policy_id: ledger.sample(each.key, each.seeds) for each in requests}

    def forecast(
        self, task: Task, scope: Sequence[Task], players: Sequence[Task], plays: int
    ) -> Forecast:
        """Forecast of a game from the first ``plays`` plays of scripts on it and on games of the
        scope, and from those of the fine-tunes of ``players`` on it; all must have been made."""
        kind, requests = self.thresholds.gain, self.contender_requests(task, plays)
        scope_gains = [float(self.gains(each, task, plays, kind).mean()) for each in players]
        on_scope = self.scope_script_requests(task, scope, plays)
        targets = [self._script_leads(each, GainKind.TOTAL) for each in on_scope]
        return Forecast(
            expected_help(self._script_leads(requests, GainKind.TOTAL), targets),
            expected_coverage(self._script_leads(requests, kind).values(), scope_gains),
            complete=len(players) == len(scope),
        )

    def _script_leads(self, requests: Sequence[PlayRequest], kind: GainKind) -> dict[str, float]:
        """Mean gain over the base player, bits a play, of each script of ``requests``."""
        [base] = self._samples([replace(requests[0], policy_id=BASE_POLICY)]).values()
        samples = self._samples(requests).items()
        return {name: float(gains(sample, base, kind).mean()) for name, sample in samples}

    def against_scripts(self, task: Task) -> ScriptComparison | None:
        """Comparison of the game's fine-tunes with scripts, at the last look at which scripts have
        played: all of them on plays of selection, on acceptance plays those that may be the best.
        None if they have not."""
        collector, is_selection = self.collector, self.purpose is Purpose.SELECTION
        choose = self.script_requests if is_selection else self.contender_requests
        for plays in sorted({self.script_plays, *self.looks.plays}, reverse=True):
            scripts, at = choose(task, plays), (task, self.purpose, self.seeds(plays))
            if all(each.known(collector.ledger) for each in scripts):
                terms = collector.sample(BASE_POLICY, *at), script_confidence(self.looks, plays)
                return compare(collector.samples(task, *at), self._samples(scripts), *terms)
        return None

    def bounds(
        self, candidate: Task, parent: Task, scope: Sequence[Task], question: Question
    ) -> Bounds:
        """Bounds that answer a question; its plays must have been made."""
        games, on = {task.id: task for task in scope}, (self, self.looks, self.thresholds)
        return CandidateBounds(*on, candidate, parent, games).bounds(question)

    def own(self, task: Task, plays: int, rank: int = 0) -> OwnGain:
        """Gain from fine-tuning on the game, on the game itself."""
        return CandidateBounds(self, self.looks, self.thresholds, task, task, {}).own(plays, rank)

    def has_clear_gain(self, task: Task) -> bool:
        """Whether a game's best fine-tune learned it so clearly that shares of its gain can be
        estimated. Its own plays of the last look must have been made."""
        own = self.own(task, self.looks.plays[-1])
        clear = own.gain.low > CLEAR * max(own.gain.value or 0.0, 0.0)
        return clear and self.is_learned(own)

    def is_learned(self, own: OwnGain) -> bool:
        """Whether a fine-tune with this gain on its own game learned it."""
        return is_learned(own, self.thresholds.rule) is Answer.YES

    def prefer_best(self, task: Task) -> None:
        """Keep the attempts in force that learned the game, the best first."""
        plays, ranks = self.looks.plays[-1], range(self.attempts(task))
        own = [self.own(task, plays, rank) for rank in ranks]
        usable = [rank for rank in ranks if self.is_learned(own[rank])]
        best_first = sorted(usable, key=lambda rank: -(own[rank].gain.value or 0.0))
        attempts = self.collector.attempts
        attempts.in_force[task.id] = tuple(attempts.of(task.id)[rank] for rank in best_first or [0])

    def scan_order(self, parent: Task, scope: Sequence[Task]) -> list[Task]:
        """The scope in the order in which its games may be expected to cover a relative of
        ``parent``: the parent; then the others by their gain on the parent at the latest look whose
        plays are archived; last the games without one."""

        def promise(task: Task) -> tuple[int, float]:
            if task == parent:
                return 0, 0.0
            for plays in reversed(self.looks.plays):
                with suppress(KeyError):  # a play that was not made
                    return 1, -float(self.gains(task, parent, plays, self.thresholds.gain).mean())
            return 2, 0.0

        return sorted(scope, key=promise)

    # -- archive.statistics.race.GainSource ----------------------------------

    def gains(
        self, source: Task, target: Task, plays: int, kind: GainKind, rank: int = 0
    ) -> Scores:
        """Per-play gains in bits of the source's fine-tunes on the target: (n,), or (R, n)."""
        at = (target, self.purpose, self.seeds(plays))
        base = self.collector.sample(BASE_POLICY, *at)
        return replicated_gains(self.collector.samples(source, *at, rank), base, kind)

    def attempts(self, source: Task) -> int:
        """Number of attempts in force at a game."""
        return len(self.collector.attempts.of(source.id))
