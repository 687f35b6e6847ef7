"""Calibrations, fine-tunes and plays that a run needs, each committed before it is used.

What the archive holds is not computed again, so a run can be resumed. Map seeds depend only on
purpose and run seed, so every policy plays a game on the same maps.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Self

from archive import Purpose
from archive.plays import Plays, floor_of
from archive.schema import BASE_POLICY, SCRIPT_POLICY, PlaysKey, TaskId
from archive.statistics.rounds import WellPosed
from archive.statistics.rule import Decision, Limits, refusal
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task, evaluation_seeds
from evo.jobs.job import Executor, Result, StoredAdapter
from evo.record import playability
from evo.record.display import FINE_TUNING, Display
from evo.record.ledger import Ledger, Row
from evo.record.requests import (
    PlayRequest,
    Request,
    RoundsRequest,
    SeedSet,
    TrainingRequest,
    UnlikelyRequest,
    jobs_of,
)
from evo.record.steps import Steps, run, together
from xgl.analysis.static_facts import surprise_writers
from xgl.models.references import is_corpus
from xgl.random_streams import seed as named_seed
from xgl.runtime.requests import Seeds
from xgl.settings import science


class Attempts:
    """The attempts ``in_force`` of the games of a run, the best first. An attempt is a number from
    0; equal numbers have equal training seeds, for all games. ``renewed``: games with several."""

    def __init__(self, run_seed: int) -> None:
        self.run_seed = run_seed
        self.in_force: dict[TaskId, tuple[int, ...]] = {}
        self._last: dict[TaskId, int] = {}
        self.renewed: set[TaskId] = set()

    def of(self, task_id: TaskId) -> tuple[int, ...]:
        """Attempts in force at a game, the best first."""
        return self.in_force.get(task_id, (0,))

    def follow(self, task_id: TaskId, parent: TaskId) -> None:
        """Let a new game be fine-tuned under the training seeds of its parent's best attempt."""
        if task_id not in self.in_force:
            self.in_force[task_id] = self.of(parent)[:1]
            self._last[task_id] = self.of(parent)[0]

    def training_seed(self, repetition: int) -> int:
        """The training seed itself, one for all games that are at this repetition."""
        return named_seed("training", self.run_seed, *([repetition] if repetition else []))

    def fresh(self, task_id: TaskId) -> int:
        """The number of a fresh attempt, which is not in force yet."""
        self._last[task_id] = self._last.get(task_id, 0) + 1
        self.renewed.add(task_id)
        return self._last[task_id]


@dataclass(eq=False)
class Collector:
    """Requests from the executor what the ledger does not hold yet. ``unshuffled`` are the games
    that are trained on their true rewards even under ``finetune.shuffle``; ``share``: of their
    budget, the rung of all fine-tunes that it names: what it compares has equal budgets."""

    config: RunConfig
    ledger: Ledger
    executor: Executor
    listener: Display
    unshuffled: frozenset[TaskId] = frozenset()
    share: float = 1.0

    def __post_init__(self) -> None:
        self._floors: dict[TaskId, float] = {}
        self._searched: dict[TaskId, int] = {}
        """Maps that each game was searched on: the archive may hold more, since a game's two roles
        share them, and of a resumed run it holds all at once."""
        self.play_tokens: dict[TaskId, float] = {}
        """Mean tokens of the base player's plays of each calibrated game."""
        self.attempts = Attempts(self.config.seed)

    def at(self, share: float) -> Self:
        """The same collector, of the fine-tunes at another rung."""
        other = copy(self)
        other.share = share
        return other

    def seeds(self, purpose: Purpose, count: int, first: int = 0) -> SeedSet:
        """``count`` pairs of seeds of a purpose from ``first`` on, for all games and policies."""
        return tuple(evaluation_seeds(purpose, self.config.seed, count, first))

    def _policy_id(self, task: Task, repetition: int) -> str:
        """Id of a fine-tune on a game: a hash of all that its adapter depends on."""
        facts = (*task.id, self.attempts.training_seed(repetition), self.settings_json)
        rung = () if self.share == 1 else (f"{self.share:g}",)
        return f"{named_seed('finetune', *facts, *rung, bits=64):016x}"

    def policy_ids(self, task: Task, rank: int = 0) -> list[str]:
        """Ids of the ``finetune.replicates`` fine-tunes of an attempt; ``rank``: its rank among
        those in force, 0 for the best."""
        number = self.attempts.of(task.id)[rank]
        return [self._policy_id(task, each) for each in self._repetitions(number)]

    def _repetitions(self, number: int) -> range:
        """Numbers of the training seeds of an attempt's fine-tunes."""
        replicates = self.config.finetune.replicates
        return range(number * replicates, (number + 1) * replicates)

    def policy_ids_in_force(self, task: Task) -> list[str]:
        """Ids of the fine-tunes of all attempts in force, the best first."""
        numbers = self.attempts.of(task.id)
        return [self._policy_id(task, each) for n in numbers for each in self._repetitions(n)]

    def attempt_ids(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Ids of the first fine-tunes of attempts in force, the best first, of renewed games."""
        by_id = {task.id: task for task in tasks if task.id in self.attempts.renewed}
        ids = map(self.policy_ids_in_force, by_id.values())
        return tuple(chain(*(each[:: self.config.finetune.replicates] for each in ids)))

    @cached_property
    def settings_json(self) -> str:
        """Settings that a fine-tune depends on, besides game and seed, as JSON."""
        config = self.config
        facts: dict[str, Any] = {
            "finetune": science(config.finetune),
            "player": science(config.player),
            "judge": science(config.judge),
            "calibration_plays": config.transfer.calibration_plays,
        }
        del facts["finetune"]["replicates"], facts["player"]["policies_per_pass"]
        return json.dumps(facts, sort_keys=True)

    def restart(self, tasks: Sequence[Task]) -> None:
        """Change the training seeds of these games for all later fine-tunes. Their adapters are
        dropped, as those of refused candidates are."""
        for task in tasks:
            self.drop_adapters(task)
            self.attempts.in_force[task.id] = (self.attempts.fresh(task.id),)

    # -- stages ------------------------------------------------------------------------------

    def calibration(self, task: Task) -> Steps[Request, Decision | None]:
        """Base plays of a game, which fix its floor before any fine-tuning, and repeated play if
        the configuration asks for it and no cheaper filter refuses the game. Returns the refusal of
        a game that is not worth a fine-tune; None if it is."""
        few = self.config.playability
        seeds = self.seeds(Purpose.CALIBRATION, self.config.transfer.calibration_plays)
        yield [PlayRequest(BASE_POLICY, task, Purpose.CALIBRATION, seeds)]
        self._fix_floor(task)
        self._searched[task.id] = 0
        if few.best_kept and not self._cheap_refusal(task):
            yield self._unlikely_requests(task)
            self._searched[task.id] = first = playability.SEARCHED_MAPS
            keeps_few = any(each.share <= few.best_kept for each in self.well_posed(task)[1:])
            if keeps_few and not self._cheap_refusal(task):
                yield self._unlikely_requests(task, first)
                self._searched[task.id] = 2 * first
        if few.few_shot_rounds and not self._cheap_refusal(task):
            seeds = self.seeds(Purpose.CALIBRATION, few.few_shot_maps)
            yield [RoundsRequest(BASE_POLICY, task, seeds, few.few_shot_rounds)]
        return self._cheap_refusal(task) or playability.not_few_shot(self.few_shot(task), few)

    def calibrate(self, tasks: Sequence[Task]) -> list[Decision | None]:
        """Calibrate games; returns their refusals."""
        self.ledger.commit(games=self.ledger.game_rows(tasks))  # all or none, whenever it is killed
        return run(together([self.calibration(task) for task in tasks]), self.do)

    def _fix_floor(self, task: Task) -> None:
        """The floor of a game whose calibration plays are in the archive."""
        rows = self._base_plays(task)
        plays = [(row["outcome"], row["score"]) for row in rows]
        self._floors[task.id] = floor_of(plays, task.game, task.role)
        self.play_tokens[task.id] = sum(row["tokens"] for row in rows) / len(rows)

    def _base_plays(self, task: Task) -> list[Row]:
        return [*self.ledger.scores[PlaysKey(BASE_POLICY, task.id, Purpose.CALIBRATION)].values()]

    def _unlikely_requests(self, task: Task, first: int = 0) -> list[Request]:
        """Random moves on calibration maps from the ``first`` on: of the role and of its zero-sum
        partner, whose strategies answer each other, where surprising words of their own may pay."""
        seeds = self.seeds(Purpose.CALIBRATION, self.config.transfer.calibration_plays)
        return [
            UnlikelyRequest(
                SCRIPT_POLICY + name,
                replace(task, role=player),
                Purpose.CALIBRATION,
                seeds[first : first + playability.SEARCHED_MAPS],
                floor=self._floors[task.id] if player == task.role else 0.0,
            )
            for player in surprise_writers(task.game.program, task.role)
            for name in playability.UNLIKELY
        ]

    def well_posed(self, task: Task) -> list[WellPosed]:
        """Whether ε-clipping changes the best calibration plays, and whether the best moves found
        by each search rest on it, on the maps that the game was searched on."""
        seeds = self.seeds(Purpose.CALIBRATION, self.config.transfer.calibration_plays)
        seeds = seeds[: self._searched.get(task.id, 0)]
        base = self._base_plays(task)
        found = [playability.well_posed(base)]
        for player in surprise_writers(task.game.program, task.role):
            of_game = TaskId(task.game_id, player), Purpose.CALIBRATION
            keys = [PlaysKey(SCRIPT_POLICY + name, *of_game) for name in playability.UNLIKELY]
            plays = (self.ledger.scores.get(key, {}) for key in keys)
            best, median = ([rows[each] for each in seeds if each in rows] for rows in plays)
            found.append(playability.likely_best(best, median, base if player == task.role else ()))
        return [each for each in found if each is not None]

    def few_shot(self, task: Task) -> playability.FewShot | None:
        """Result of repeated play; None if the configuration asks for none."""
        config, key = self.config, PlaysKey(BASE_POLICY, task.id, Purpose.CALIBRATION)
        rows = self.ledger.rounds.get(key, [])
        return playability.few_shot(rows, config.playability, config.transfer.confidence)

    def _cheap_refusal(self, task: Task) -> Decision | None:
        """The refusal of a calibrated game that the base player cannot play, or not well enough."""
        settings, transfer = self.config.finetune, self.config.transfer
        rows = self._base_plays(task)
        seeds = self.seeds(Purpose.CALIBRATION, transfer.calibration_plays)
        sample = self.sample(BASE_POLICY, task, Purpose.CALIBRATION, seeds)
        plays, warm = settings.maps * settings.rollouts, settings.warm_start
        bounds = transfer.max_forfeit_rate, settings.tokens, plays, transfer.min_steps
        limits = Limits(*bounds, warm.maps * warm.rollouts)
        return refusal(rows, sample, limits) or playability.ill_posed(
            self.well_posed(task), self.config.playability, transfer.confidence
        )

    def training_requests(self, task: Task) -> list[TrainingRequest]:
        """The fine-tunes of the attempts in force at a game."""
        numbers = self.attempts.of(task.id)
        return [each for number in numbers for each in self.attempt_requests(task, number)]

    def attempt_requests(self, task: Task, number: int) -> list[TrainingRequest]:
        """The fine-tunes of an attempt, in force or not, as many as there are replicates. They go
        on from the first rung if the game was trained up to there."""
        first_rung, requests = self.at(self.config.growth.first_rung), list[TrainingRequest]()
        for repetition in self._repetitions(number):
            first, own = (each._policy_id(task, repetition) for each in (first_rung, self))
            request = TrainingRequest(
                own,
                task,
                repetition,
                self.attempts.training_seed(repetition),
                self.settings_json,
                task.id in self.unshuffled,
                self.share,
                first if first in self.ledger.finetunes and first != own else None,
            )
            requests.append(request)
        return requests

    def do(self, requests: Iterable[Request]) -> None:
        """Make sure that the results of all these requests are in the archive, one commit for each
        job; other workers make plays while fine-tunes are trained."""
        groups = self.groups(self._missing(requests))
        self.announce(groups)
        jobs = [group[0].job(self, group) for group in groups]
        for group, result in zip(groups, self.executor.do(jobs), strict=True):
            self.store(group, result)

    def groups(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        """The requests grouped as jobs do them."""
        alike = not is_corpus(self.config.judge.stories)
        return jobs_of(requests, self.config.player.policies_per_pass, alike)

    def _missing(self, requests: Iterable[Request]) -> list[Request]:
        """The requests that the archive lacks, without plays that one before them makes."""
        missing, planned = dict[Any, Request](), defaultdict[PlaysKey, set[Seeds]](set)
        for each in requests:
            if not isinstance(each, PlayRequest):
                missing |= {} if each.known(self.ledger) else {each: each}
                continue
            known = self.ledger.scores.get(each.key, {}).keys() | planned[each.key]
            if new := tuple(seeds for seeds in dict.fromkeys(each.seeds) if seeds not in known):
                planned[each.key].update(new)
                missing[each.key, new[0]] = replace(each, seeds=new)
        return list(missing.values())

    def store(self, group: Sequence[Request], result: Result[Any]) -> None:
        first, tables = group[0], group[0].tables(self, group, result)
        self.ledger.commit(**tables)
        tokens = sum(row["tokens"] for name in tables if name != "maps" for row in tables[name])
        for each, note in zip(group, first.notes(result), strict=False):
            self.listener.job(first.stage, each.task, tokens, note)
            tokens = 0  # those of all, reported once

    def announce(self, groups: Sequence[Sequence[Request]]) -> None:
        """Report to the listener what begins, stage by stage; fine-tunes, which take longest, last:
        a display that shows one stage shows them."""
        by_stage: dict[str, list[Task]] = defaultdict(list)
        for group in groups:
            counted = group if group[0].trains else group[:1]
            by_stage[group[0].stage] += [each.task for each in counted]
        for name, tasks in sorted(by_stage.items(), key=lambda stage: stage[0] == FINE_TUNING):
            self.listener.stage(name, tasks)

    def map_rows(self, result: Result[Any], purpose: Purpose) -> list[Row]:
        """Rows for the texts of a job's maps that are not in the archive yet."""
        return self.ledger.map_rows(result.map_texts, purpose, self.config.judge.stories)

    def task_with_floor(self, task: Task) -> Task:
        """The task with its floor. Raises KeyError for a game that is not calibrated."""
        return replace(task, floor=self._floors[task.id])

    def adapter(self, policy_id: str) -> StoredAdapter | None:
        """The adapter of a policy; None for the base player."""
        if policy_id == BASE_POLICY:
            return None
        row = self.ledger.finetunes.get(policy_id) or self.ledger.curricula[policy_id]
        return StoredAdapter(row["adapter_hash"], self.ledger.archive)

    def drop_adapters(self, task: Task, but_whole: bool = False) -> None:
        """Remove the adapters in force, and the states, of a game that was refused or is fine-tuned
        from the start again; ``but_whole``: of one that was accepted, those of a pause. None is
        removed that another fine-tune has too (for example with 𝒯 = 0)."""
        in_force = set(chain.from_iterable(map(self._repetitions, self.attempts.of(task.id))))
        dropped, kept = set[str | None](), set[str | None]([None])
        for row in self.ledger.finetunes.values():
            its = TaskId.of(row) == task.id and row["replicate"] in in_force
            files = dropped if its and not (but_whole and row["share"] == 1) else kept
            files |= {row["adapter_hash"], row["state_hash"]}
        for digest in filter(None, dropped - kept):
            self.ledger.archive.drop_adapter(digest)

    # -- which plays a question needs ----------------------------------------------------------

    def own_plays(
        self, task: Task, purpose: Purpose, seeds: SeedSet, rank: int = 0
    ) -> list[PlayRequest]:
        """The base player and the game's own adapters, of the attempt of this rank, on the game."""
        policies = (BASE_POLICY, *self.policy_ids(task, rank))
        return [PlayRequest(policy, task, purpose, seeds) for policy in policies]

    def cross_requests(
        self, sources: Sequence[Task], target: Task, purpose: Purpose, seeds: SeedSet
    ) -> list[PlayRequest]:
        """The sources' adapters on the target, of all attempts in force."""
        policies = chain.from_iterable(map(self.policy_ids_in_force, sources))
        return [PlayRequest(policy_id, target, purpose, seeds) for policy_id in policies]

    def sample(self, policy_id: str, task: Task, purpose: Purpose, seeds: SeedSet) -> Plays:
        """Scores that are in the archive; raises ``KeyError`` if one is not."""
        return self.ledger.sample(PlaysKey(policy_id, task.id, purpose), seeds)

    def samples(
        self, source: Task, target: Task, purpose: Purpose, seeds: SeedSet, rank: int = 0
    ) -> list[Plays]:
        """Scores of all fine-tunes of one attempt at ``source``, on ``target``."""
        policies = self.policy_ids(source, rank)
        return [self.sample(policy, target, purpose, seeds) for policy in policies]
