"""Calibrations, fine-tunes and plays that a run needs, each committed before it is used.

What the archive holds is not computed again, so a run can be resumed. Map seeds depend only on
purpose and run seed, so every policy plays a game on the same maps.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from archive import Purpose
from archive.schema import BASE_POLICY, SCRIPT_POLICY, PlaysKey, TaskId
from archive.statistics.decisions.calibration import Calibration, Limits, refusal, shows_headroom
from archive.statistics.decisions.decision_rule import Decision
from archive.statistics.measures.repeated_play import WellPosed
from archive.statistics.values.plays import Plays
from evo.config.schema import RunConfig
from evo.jobs.evaluation import ScoredPlay, Task, evaluation_seeds, floor_of, with_floor
from evo.jobs.job import (
    Evaluation,
    Executor,
    Finetune,
    Job,
    Repetition,
    Result,
    ScriptedEvaluation,
    Training,
)
from evo.jobs.repeated_play import RoundScore, round_rows
from evo.record.attempts import Attempts
from evo.record.cost import Cost
from evo.record.durations import duration
from evo.record.ledger import Ledger, Row, finetune_row, score_rows
from evo.record.playability import FewShot, few_shot, ill_posed, not_few_shot, well_posed
from evo.record.progress import FINE_TUNING, Listener, training_note
from evo.record.requests import (
    Pass,
    PlayRequest,
    Request,
    RoundsRequest,
    SeedSet,
    TrainingRequest,
    passes_of,
)
from evo.record.steps import Steps, run, together
from xgl.players.scripts import SCRIPTS
from xgl.random_streams import seed as named_seed


class Collector:
    """Requests from the executor what the ledger does not hold yet. ``unshuffled`` are the games
    that are trained on their true rewards even under ``finetune.shuffle``."""

    def __init__(
        self,
        config: RunConfig,
        ledger: Ledger,
        executor: Executor,
        listener: Listener,
        unshuffled: frozenset[TaskId] = frozenset(),
    ) -> None:
        self.config, self.ledger, self.unshuffled = config, ledger, unshuffled
        self.executor, self.listener = executor, listener
        self._floors: dict[TaskId, float] = {}
        self._play_tokens: dict[TaskId, float] = {}
        """Mean tokens of the base player's plays of each calibrated game."""
        self.attempts = Attempts(config.seed, config.finetune.replicates)

    def seeds(self, purpose: Purpose, count: int, first: int = 0) -> SeedSet:
        """``count`` pairs of seeds of a purpose, from the play seed ``first`` on: the same ones for
        all games and policies."""
        return tuple(evaluation_seeds(purpose, self.config.seed, count, first))

    def policy_id(self, task: Task, replicate: int = 0, rank: int = 0) -> str:
        """Id of a fine-tune on a game: a hash of all that its adapter depends on. ``rank``: its
        attempt's rank among those in force, 0 for the best."""
        return self._policy_id(task, self.attempts.repetition(task.id, rank, replicate))

    def _policy_id(self, task: Task, repetition: int) -> str:
        facts = (*task.id, self.attempts.training_seed(repetition), self.settings_json)
        return f"{named_seed('finetune', *facts, bits=64):016x}"

    def policy_ids(self, task: Task, rank: int = 0) -> list[str]:
        """Ids of the ``finetune.replicates`` fine-tunes of the attempt of this rank."""
        replicates = range(self.config.finetune.replicates)
        return [self.policy_id(task, index, rank) for index in replicates]

    def all_policy_ids(self, task: Task) -> list[str]:
        """Ids of all fine-tunes on a game in this run, in force or not."""
        rows = self.ledger.finetunes.items()
        return [policy_id for policy_id, row in rows if TaskId.of(row) == task.id]

    def policy_ids_in_force(self, task: Task) -> list[str]:
        """Ids of the fine-tunes of all attempts in force, the best first."""
        ranks = range(len(self.attempts.of(task.id)))
        return [policy_id for rank in ranks for policy_id in self.policy_ids(task, rank)]

    def attempt_ids(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """The attempts in force, the best first, of each game that had several: the ids of their
        first fine-tunes."""
        by_id = {task.id: task for task in tasks}
        several = [task for task_id, task in by_id.items() if self.attempts.count(task_id) > 1]
        return tuple(
            self.policy_id(task, rank=rank)
            for task in several
            for rank in range(len(self.attempts.of(task.id)))
        )

    @cached_property
    def settings_json(self) -> str:
        """Settings that a fine-tune depends on, besides game and seed, as JSON."""
        config = self.config
        facts = {
            "finetune": _without(asdict(config.finetune), "replicates"),
            "player": _without(asdict(config.player), "policies_per_pass"),
            "judge": _without(asdict(config.judge), "second"),
            "calibration_plays": config.transfer.calibration_plays,
        }
        return json.dumps(facts, sort_keys=True)

    def restart(self, tasks: Sequence[Task]) -> None:
        """Change the training seeds of these games for all later fine-tunes. Their adapters are
        dropped, as those of refused candidates are."""
        for task in tasks:
            self.drop_adapter(task)
            self.attempts.replace(task.id)

    # -- stages ------------------------------------------------------------------------------

    def calibration(self, task: Task) -> Steps[Request, Decision | None]:
        """Base plays of a game, which fix its floor before any fine-tuning, and repeated play if
        the configuration asks for it and no cheaper filter refuses the game. Returns the refusal of
        a game that is not worth a fine-tune; None if it is."""
        self.ledger.commit(games=self.ledger.game_rows([task]))
        yield [self.calibration_plays(task)]
        self._fix_floor(task)
        if self.config.playability.few_shot_rounds and not self._cheap_refusal(task):
            yield [RoundsRequest(task.id, task)]
        few = self.config.playability
        return self._cheap_refusal(task) or not_few_shot(self.few_shot(task), few)

    def calibrate(self, tasks: Sequence[Task]) -> list[Decision | None]:
        """Calibrate games; returns their refusals."""
        return run(together([self.calibration(task) for task in tasks]), self.do)

    def calibration_plays(self, task: Task) -> PlayRequest:
        """The base plays of a game's calibration."""
        seeds = self.seeds(Purpose.CALIBRATION, self.config.transfer.calibration_plays)
        return PlayRequest(BASE_POLICY, task, Purpose.CALIBRATION, seeds)

    def _fix_floor(self, task: Task) -> None:
        """The floor of a game whose calibration plays are in the archive."""
        floor = floor_of(self._calibration_scores(task), task)
        self._floors[task.id] = 0.0 if floor is None else floor
        rows = self._calibration_rows(task)
        self._play_tokens[task.id] = sum(row["tokens"] for row in rows) / len(rows)

    def _keep_rounds(self, task: Task, result: Result[list[RoundScore]]) -> None:
        rows = round_rows(BASE_POLICY, task, Purpose.CALIBRATION, result.outcome)
        self.ledger.commit(rounds=rows, maps=self._map_rows(result, Purpose.CALIBRATION))
        tokens = sum(score.tokens for score in result.outcome)
        self.listener.job("few-shot", task, tokens, result.scoring)

    def _rounds(self, task: Task) -> list[Row]:
        return self.ledger.rounds.get(PlaysKey(BASE_POLICY, task.id, Purpose.CALIBRATION), [])

    def _calibration_rows(self, task: Task) -> list[Row]:
        return list(
            self.ledger.scores[PlaysKey(BASE_POLICY, task.id, Purpose.CALIBRATION)].values()
        )

    def well_posed(self, task: Task) -> WellPosed | None:
        """Whether ε-clipping changes the best calibration plays; None without clipped scores."""
        return well_posed(self._calibration_rows(task))

    def few_shot(self, task: Task) -> FewShot | None:
        """Result of repeated play; None if the configuration asks for none."""
        config = self.config
        return few_shot(self._rounds(task), config.playability, config.transfer.confidence)

    def _calibration_scores(self, task: Task) -> list[tuple[str, float]]:
        return [(row["outcome"], row["score"]) for row in self._calibration_rows(task)]

    def _cheap_refusal(self, task: Task) -> Decision | None:
        """The refusal of a calibrated game that the base player cannot play, or not well enough."""
        config, calibration = self.config, self._calibration(task)
        settings, transfer = config.finetune, config.transfer
        plays = settings.maps * settings.rollouts
        warm = settings.warm_start
        limits = (transfer.max_forfeit_rate, settings.tokens, plays, transfer.min_steps)
        first = warm.rounds * (warm.maps * warm.rollouts + warm.demonstrations)
        return refusal(calibration, Limits(*limits, first)) or ill_posed(
            self.well_posed(task), config.playability, transfer.confidence
        )

    def shows_headroom(self, task: Task) -> bool:
        """Whether a calibrated game seems to hold something to learn."""
        return shows_headroom(self._calibration(task))

    def _calibration(self, task: Task) -> Calibration:
        rows = self._calibration_rows(task)
        seeds = self.seeds(Purpose.CALIBRATION, self.config.transfer.calibration_plays)
        sample = self.sample(BASE_POLICY, task, Purpose.CALIBRATION, seeds)
        return Calibration(
            outcomes=tuple(row["outcome"] for row in rows),
            tokens=tuple(row["tokens"] for row in rows),
            own=sample.own,
            permuted_scores=sample.permuted_scores,
        )

    def finetune(self, tasks: Sequence[Task]) -> None:
        """Fine-tune on each game that has no adapter yet."""
        self.do(each for task in tasks for each in self.training_requests(task))

    def training_requests(self, task: Task) -> list[TrainingRequest]:
        """The fine-tunes of the attempts in force at a game."""
        numbers = self.attempts.of(task.id)
        return [each for number in numbers for each in self.attempt_requests(task, number)]

    def attempt_requests(self, task: Task, number: int) -> list[TrainingRequest]:
        """The fine-tunes of an attempt, in force or not, as many as there are replicates."""
        replicates = self.config.finetune.replicates
        repetitions = range(number * replicates, (number + 1) * replicates)
        return [TrainingRequest(self._policy_id(task, each), task, each) for each in repetitions]

    def _keep(self, request: TrainingRequest, result: Result[Finetune]) -> None:
        finetune, task = result.outcome, request.task
        digest = self.ledger.archive.put_adapter(finetune.adapter)
        seed = self.attempts.training_seed(request.repetition)
        identity = (request.policy_id, seed, self.settings_json, digest)
        row = finetune_row(task, finetune, *identity)
        row["replicate"] = request.repetition
        self.ledger.commit(finetunes=[row], maps=self._map_rows(result, Purpose.TRAINING))
        note = training_note(finetune.curve)
        self.listener.job(FINE_TUNING, task, finetune.tokens, result.scoring, note)

    def _map_rows(self, result: Result[Any], purpose: Purpose) -> list[Row]:
        return self.ledger.map_rows(result.map_texts, purpose, self.config.judge.stories)

    def do(self, requests: Iterable[Request]) -> None:
        """Make sure that the results of all these requests are in the archive, one commit for each
        pass; other workers make plays while fine-tunes are trained."""
        wanted = list(requests)
        plays = [each for each in wanted if isinstance(each, PlayRequest)]
        others = [e for e in wanted if not isinstance(e, PlayRequest) and not self.knows(e)]
        passes = self.passes([*others, *self._missing(plays)])
        self.announce(passes)
        for one, result in zip(passes, self.executor.do([*map(self.job, passes)]), strict=True):
            self.store(one, result)

    def _missing(self, requests: Iterable[PlayRequest]) -> list[PlayRequest]:
        """The plays that the archive lacks, one request for each policy, game and purpose."""
        missing: dict[tuple[Any, ...], PlayRequest] = {}
        for plays in requests:
            scores = self.ledger.scores.get(plays.key, {})
            before = missing[plays.key].seeds if plays.key in missing else ()
            new = tuple(s for s in dict.fromkeys(before + plays.seeds) if s not in scores)
            if new:
                missing[plays.key] = replace(plays, seeds=new)
        return list(missing.values())

    # -- requests ------------------------------------------------------------------------------

    def knows(self, request: Request) -> bool:
        """Whether the ledger holds all results of a request."""
        match request:
            case PlayRequest():
                return self.ledger.has_scores(request.key, request.seeds)
            case TrainingRequest():
                return request.policy_id in self.ledger.finetunes
            case RoundsRequest():
                return bool(self._rounds(request.task))

    def cost(self, request: Request) -> Cost:
        """Cost of a request whose results the ledger holds."""
        match request:
            case PlayRequest():
                rows = [self.ledger.scores[request.key][each] for each in request.seeds]
            case TrainingRequest():
                rows = [self.ledger.finetunes[request.policy_id]]
            case RoundsRequest():
                rows = self._rounds(request.task)
        return sum(map(Cost.of, rows), Cost())

    def expected_duration(self, request: Request) -> float:
        """Expected duration of a request, in tokens (``evo.record.durations``)."""
        return duration(request, self._play_tokens.get(request.task.id), self.config)

    def passes(self, requests: Sequence[Request]) -> list[Pass]:
        """The requests grouped into jobs: plays of several policies on the same game and seeds
        together (``player.policies_per_pass``), all others one by one."""
        most = self.config.player.policies_per_pass
        plays = [each for each in requests if isinstance(each, PlayRequest)]
        others = [each for each in requests if not isinstance(each, PlayRequest)]
        return [*((each,) for each in others), *map(tuple, passes_of(plays, most))]

    def job(self, one: Pass) -> Job[Any]:
        """The job that a pass is."""
        match one[0]:
            case TrainingRequest(_, task, repetition):
                seed = self.attempts.training_seed(repetition)
                return Training(self.task_with_floor(task), seed, task.id in self.unshuffled)
            case RoundsRequest(_, task):
                few = self.config.playability
                seeds = self.seeds(Purpose.CALIBRATION, few.few_shot_maps)
                return Repetition(self.task_with_floor(task), None, seeds, few.few_shot_rounds)
        return self._evaluation([each for each in one if isinstance(each, PlayRequest)])

    def store(self, one: Pass, result: Result[Any]) -> None:
        """Commit the result of a pass's job."""
        match one[0]:
            case TrainingRequest() as request:
                self._keep(request, result)
            case RoundsRequest(_, task):
                self._keep_rounds(task, result)
            case _:
                self._keep_plays([x for x in one if isinstance(x, PlayRequest)], result)

    def announce(self, passes: Sequence[Pass]) -> None:
        """Report to the listener what begins, stage by stage; fine-tunes, which take longest, last:
        a display that shows one stage shows them."""
        by_stage: dict[str, list[Task]] = defaultdict(list)
        for first, *_ in passes:
            by_stage[first.stage].append(first.task)
        for name, tasks in sorted(by_stage.items(), key=lambda stage: stage[0] == FINE_TUNING):
            self.listener.stage(name, tasks, len(tasks))

    def _keep_plays(
        self, one: Sequence[PlayRequest], result: Result[list[list[ScoredPlay]]]
    ) -> None:
        """Commit all plays of a pass at once: its batches depend on the number of its policies."""
        rows, purpose, tokens = [], one[0].purpose, 0
        for plays, outcome in zip(one, result.outcome, strict=True):
            scores = _finite(plays, outcome)
            rows += score_rows(plays.policy_id, plays.task, purpose, scores)
            tokens += sum(score.tokens for score in scores)
        self.ledger.commit(scores=rows, maps=self._map_rows(result, purpose))
        self.listener.job(one[0].stage, one[0].task, tokens, result.scoring)

    def _evaluation(self, plays: Sequence[PlayRequest]) -> Evaluation | ScriptedEvaluation:
        first = plays[0]
        if first.scripted:
            scripts = tuple(each.policy_id.removeprefix(SCRIPT_POLICY) for each in plays)
            return ScriptedEvaluation(self.task_with_floor(first.task), scripts, first.seeds)
        adapters = tuple(self._adapter(each.policy_id) for each in plays)
        calibrating = first.purpose is Purpose.CALIBRATION  # which is what fixes the floor
        task = first.task if calibrating else self.task_with_floor(first.task)
        return Evaluation(task, adapters, first.seeds)

    def task_with_floor(self, task: Task) -> Task:
        """The task with its floor. Raises ValueError for a game that is not calibrated."""
        if task.id not in self._floors:
            raise ValueError(
                f"game {task.game_id} ({task.role}): found no calibration, expected `calibrate` "
                "before it is fine-tuned on or played"
            )
        return replace(task, floor=self._floors[task.id])

    def _adapter(self, policy_id: str) -> bytes | None:
        if policy_id == BASE_POLICY:
            return None
        row = self.ledger.finetunes.get(policy_id) or self.ledger.curricula[policy_id]
        return self.ledger.archive.get_adapter(row["adapter_hash"])

    def drop_adapter(self, task: Task) -> None:
        """Remove the adapters of a game that was refused or is fine-tuned from the start again,
        unless ``archive.keep`` is ``all`` or another fine-tune has the same bytes (for example with
        𝒯 = 0)."""
        if self.config.archive.keep == "all":
            return
        for policy_id in self.policy_ids_in_force(task):
            row = self.ledger.finetunes.get(policy_id)
            rows = self.ledger.finetunes.values()
            if row and sum(one["adapter_hash"] == row["adapter_hash"] for one in rows) == 1:
                self.ledger.archive.drop_adapter(row["adapter_hash"])

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
        policies = [
            policy_id for source in sources for policy_id in self.policy_ids_in_force(source)
        ]
        return [PlayRequest(policy_id, target, purpose, seeds) for policy_id in policies]

    def script_requests(self, task: Task, purpose: Purpose, seeds: SeedSet) -> list[PlayRequest]:
        """Every scripted player on the game."""
        return [PlayRequest(f"{SCRIPT_POLICY}{name}", task, purpose, seeds) for name in SCRIPTS]

    def sample(self, policy_id: str, task: Task, purpose: Purpose, seeds: SeedSet) -> Plays:
        """Scores that are in the archive; raises ``KeyError`` if one is not."""
        return self.ledger.sample(PlaysKey(policy_id, task.id, purpose), seeds)

    def samples(
        self, source: Task, target: Task, purpose: Purpose, seeds: SeedSet, rank: int = 0
    ) -> list[Plays]:
        """Scores of all fine-tunes of one attempt at ``source``, on ``target``."""
        policies = self.policy_ids(source, rank)
        return [self.sample(policy, target, purpose, seeds) for policy in policies]


def _without(facts: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name != key}


def _finite(plays: PlayRequest, outcome: Sequence[ScoredPlay]) -> list[ScoredPlay]:
    """Scores with the floor of a game that is being calibrated put in."""
    scores: list[ScoredPlay] = list(outcome)
    if plays.purpose is not Purpose.CALIBRATION:
        return scores
    floor = floor_of([(s.outcome, s.score) for s in scores], plays.task)
    return [with_floor(score, 0.0 if floor is None else floor) for score in scores]
